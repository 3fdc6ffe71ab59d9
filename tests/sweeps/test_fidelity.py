"""Fidelity: a reduced model takes the ops of the complete one, or a rule or the table says why not."""

from typing import Any

import pytest
import torch

from sweeps import architectures, configs, fidelity, meta
from sweeps.architectures import Architecture
from sweeps.fidelity import Fidelity
from sweeps.inputs.filling import normal, tensors, values
from sweeps.reduce.roles import Role
from sweeps.running import quiet


def compared(model_type: str) -> Fidelity:
    """The comparison for the bare class of a type at its class defaults."""
    with quiet():
        name = architectures.classes_of(model_type)[0]
        return fidelity.compare(Architecture(model_type=model_type, name=name), configs.of_defaults(model_type))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_type", "op"),
    [
        ("bert", "aten.native_layer_norm.default"), ("llama", "aten.silu.default"), ("t5", "aten.relu.default"),
        ("mixtral", "aten._grouped_mm.default"), ("deepseek_v3", "aten._grouped_mm.default"),
        ("bamba", "aten.softplus.default"), ("vit", "aten.convolution.default"),
        ("swin", "aten.roll.default"), ("llava", "aten.masked_scatter.default"),
        ("whisper", "aten.convolution.default"), ("lfm2_moe", "aten._grouped_mm.default"),
    ],
)  # fmt: skip
def test_a_reduced_model_takes_the_ops_of_the_complete_one(model_type: str, op: str) -> None:
    name = architectures.classes_of(model_type)[0]
    with quiet():
        small = configs.completed(model_type, fidelity.reduce(configs.of_defaults(model_type), fidelity.LADDER[0]))
        assert op in fidelity.taken(Architecture(model_type=model_type, name=name), small).ops
    found = compared(model_type)
    assert (found.word, found.level, found.lost, found.added) == ("same", "tiny", (), ())
    assert found.common > 10


@pytest.mark.slow
def test_a_window_that_only_the_reduced_text_passes_is_explained_by_its_rule() -> None:
    found = compared("gemma3_text")
    assert (found.word, found.rule, found.lost) == ("rule", "window", ())
    assert "aten.bitwise_and.Tensor" in found.added


def test_a_difference_that_nothing_explains_is_called_so() -> None:
    found = Fidelity(model_type="nosuch", architecture="NoSuch", lost=("aten.roll.default",))
    assert found.word == "unexplained"
    assert Fidelity(model_type="nosuch", architecture="NoSuch").word == "same"
    assert Fidelity(model_type="nosuch", architecture="NoSuch", why_not="no").word == "not-compared"


def test_only_sizes_of_the_roles_are_taken_from_the_reduced_configuration() -> None:
    full = {"hidden_size": 4096, "sliding_window": 4096, "vision_config": {"image_size": 896, "hidden_size": 1152}}
    small = {"hidden_size": 64, "sliding_window": 8, "vision_config": {"image_size": 56, "hidden_size": 32}}
    assert fidelity.merged(full, small, frozenset({Role.WINDOW})) == {**full, "sliding_window": 8}
    assert fidelity.merged(full, small, frozenset({Role.IMAGE}))["vision_config"] == {
        "image_size": 56, "hidden_size": 1152,
    }  # fmt: skip


class Asking(torch.nn.Module):
    """Asks for values of its inputs, of tensors made from them, and of what weights decide."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(50_000, 70_000)

    def forward(self, x: torch.Tensor, sizes: torch.Tensor) -> dict[str, Any]:
        found = self.layer(x)
        kept = torch.zeros(4, dtype=torch.int64, device=x.device)
        kept[1:3] = sizes
        mask = kept > 2
        return {
            "sizes": sizes.tolist(), "sum": int((sizes * 2).sum()), "kept": kept.cpu().tolist(),
            "places": torch.nonzero(mask).flatten().tolist(), "rows": tuple(found[:, :4][:, mask].shape),
            "decided": bool(found.argmax() > 0), "made": torch.tensor([sizes[0], 7], device=x.device).tolist(),
        }  # fmt: skip


def test_values_stay_known_on_the_meta_device_and_weights_take_no_memory() -> None:
    with meta.entered() as mode, torch.no_grad():
        with torch.device("meta"):
            model = Asking()
        mode.ops.clear()
        got = model(**meta.given(tensors({"x": normal(2, 50_000), "sizes": values([3, 5])})))
    assert got == {
        "sizes": [3, 5], "sum": 16, "kept": [0, 3, 5, 0], "places": [1, 2], "rows": (2, 2), "decided": True,
        "made": [3, 7],
    }  # fmt: skip
    assert {"aten.addmm.default", "aten.nonzero.default", "aten.index.Tensor"} <= mode.ops


def test_what_unknown_numbers_overwrite_is_unknown_too() -> None:
    with meta.entered() as mode:
        known = torch.zeros(4, device="meta")
        view = known[1:]
        view.copy_(torch.empty(3, device="meta"))
        assert mode.value(known) is None
        view.fill_(2.0)
        assert known.sum().item() != 0
