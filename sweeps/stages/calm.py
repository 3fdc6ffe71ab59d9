"""Training without chance: what a configuration of zeros does not reach drops nothing either."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_FUNCTIONAL: Final = (
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
)  # fmt: skip
"""Functions that models call with a probability of their own, whatever the configuration says."""

_MODULES: Final = ("p", "drop_prob", "layerdrop")
"""Where modules keep the probability with which something is left out."""


@contextmanager
def calm(seed: int) -> Iterator[None]:
    """Drop nothing, and draw the same numbers each time: some models mask their inputs by NumPy's or Python's."""
    state, drawn = random.getstate(), np.random.get_state()
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    try:
        with ExitStack() as stack:
            for name in _FUNCTIONAL:
                stack.enter_context(patch.object(functional, name, _kept))
            stack.enter_context(patch.object(torch, "dropout", _kept))
            yield
    finally:
        random.setstate(state)
        np.random.set_state(drawn)


def _kept(input: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return input


def still(model: Any) -> Any:
    """The model in training, its modules' own probabilities of leaving something out at zero."""
    for module in model.train().modules():
        for name in _MODULES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model
