"""Results that are right up to a choice: taken to what does not depend on the choice."""

from typing import Any

import torch


def without_signs(result: Any) -> Any:
    """A QR factorisation (q, r) with the phase of each column of q chosen so that the diagonal of r is not negative."""
    q, r = result
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    size = diagonal.abs()
    phase = torch.where(size > 0, diagonal / size.clamp_min(torch.finfo(size.dtype).tiny), torch.ones_like(diagonal))
    count = phase.shape[-1]
    turned = r.clone()
    turned[..., :count, :] *= phase.conj().unsqueeze(-1)
    if q.numel() == 0:
        return q, turned
    columns = q.clone()
    columns[..., :count] *= phase.unsqueeze(-2)
    return columns, turned
