"""What the device gave beside the dense answer: a single wrong row is seen, rounding is not."""

import torch

from sweeps.flex.comparing import Difference, compared


def one(got: torch.Tensor, want: torch.Tensor, allowed: float = 1e-3, name: str = "output") -> Difference:
    (found,) = compared({name: got}, {name: want.double()}, torch.float32, allowed)
    return found


def test_one_wrong_row_of_a_thousand_is_wrong_though_the_whole_is_hardly_off() -> None:
    want = torch.randn(1, 1, 1000, 16, generator=torch.Generator().manual_seed(0))
    got = want.clone()
    got[0, 0, 417] *= 1.01
    found = one(got, want)
    assert found.wrong == "a row is 0.01 off"
    assert found.place == (0, 0, 417)
    assert found.relative < 1e-3
    assert not one(want * (1 + 1e-4), want).wrong


def test_a_row_that_is_nearly_zero_is_measured_by_the_usual_row() -> None:
    want = torch.ones(1, 1, 4, 8)
    want[0, 0, 2] = 0.0
    got = want.clone()
    got[0, 0, 2] = 1e-6
    assert not one(got, want).wrong
    got[0, 0, 2] = 0.1
    assert one(got, want).wrong == "a row is 0.115 off"


def test_what_is_not_a_number_has_another_shape_or_another_dtype_is_wrong() -> None:
    want = torch.ones(1, 1, 4, 8)
    broken = want.clone()
    broken[0, 0, 1, 1] = torch.nan
    assert one(broken, want).wrong == "a row is inf off"
    assert "shape [1, 1, 4, 4] instead of" in one(want[..., :4], want).wrong
    assert one(want.half(), want).wrong.startswith("torch.float16 of shape")
    assert not one(want[..., 0], want[..., 0], name="logsumexp").wrong


def test_the_wrong_comes_first_and_then_the_worst() -> None:
    want = {name: torch.ones(2, 4).double() for name in ("a", "b", "c")}
    got = {"a": torch.ones(2, 4), "b": torch.ones(2, 4) * 1.0005, "c": torch.ones(2, 4) * 1.5}
    assert [each.name for each in compared(got, want, torch.float32, 1e-3)] == ["c", "b", "a"]
