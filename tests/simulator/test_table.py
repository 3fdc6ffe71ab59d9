"""The support table decides what happens to an op, and a broken one is refused in one sentence."""

from pathlib import Path

import pytest
import torch

from conformance.errors import UsageError
from conformance.simulator import faults, table
from conformance.simulator.activate import DISABLE_FALLBACK, ONLY_UNIMPLEMENTED
from tests.simulator.conftest import HEAD, Start


def entry(mode: str, *, ops: str = '["sin"]', dtypes: str = "[]") -> str:
    return f'[[entry]]\nops = {ops}\ndtypes = {dtypes}\nmode = "{mode}"\nreason = "because [NCC_EVRF013] of a test"\n'


def sin(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(3, dtype=dtype).to("neuron").sin()


def test_an_op_without_a_kernel_runs_on_the_cpu_with_a_warning_and_is_tracked(start: Start) -> None:
    device = start(entry("fallback"))
    for call in (lambda x: x.sin(), lambda x: x.sin_(), lambda x: torch.sin(x, out=torch.empty(3, device="neuron"))):
        x = torch.ones(3, device="neuron")
        device.clear()
        with pytest.warns(UserWarning, match="ran on the CPU: because"):
            answer = call(x)
        assert answer.device.type == "neuron"
        torch.testing.assert_close(answer.cpu(), torch.ones(3).sin())
        assert device.fallback_ops() in ({"aten::sin"}, {"aten::sin_"})
        assert not device.executed_ops()


def test_a_limit_of_dtypes_holds_for_those_dtypes_only(start: Start) -> None:
    device = start(entry("fallback", dtypes='["bfloat16"]'))
    sin()
    assert device.executed_ops() == {"aten::sin"}
    with pytest.warns(UserWarning, match="ran on the CPU"):
        sin(torch.bfloat16)
    assert device.fallback_ops() == {"aten::sin"}


def test_an_entry_for_the_op_comes_before_one_for_every_op(start: Start) -> None:
    device = start(entry("refused", ops="[]", dtypes='["float64"]') + entry("native"))
    sin(torch.float64)
    assert device.executed_ops() == {"aten::sin"}
    with pytest.raises(NotImplementedError, match="'aten::cos' is not supported"):
        torch.zeros(1, dtype=torch.float64).to("neuron").cos()


def test_the_dtype_of_the_answer_counts_when_it_is_asked_for(start: Start) -> None:
    start(entry("refused", ops='["sum"]', dtypes='["float64"]'))
    with pytest.raises(NotImplementedError):
        torch.zeros(1, device="neuron").sum(dtype=torch.float64)


def test_views_and_transfers_are_never_limited(start: Start) -> None:
    start(entry("refused", ops="[]"))
    x = torch.tensor([[1.0, 2.0]], device="neuron")
    assert x.t()[1].cpu().tolist() == [2.0]
    assert x[0, 1].item() == 2.0


def test_a_failing_kernel_is_recovered_silently_unless_only_unimplemented_ops_may_fall_back(start: Start) -> None:
    device = start(entry("failing"))
    with pytest.warns(UserWarning, match="ran on the CPU"):
        sin()
    assert device.fallback_ops() == {"aten::sin"}
    start(entry("failing"), **{ONLY_UNIMPLEMENTED: "1"})
    with pytest.raises(RuntimeError, match=r"'aten::sin' failed: because \[NCC_EVRF013\]"):
        sin()


def test_unimplemented_ops_fall_back_also_when_only_they_may(start: Start) -> None:
    device = start(entry("fallback"), **{ONLY_UNIMPLEMENTED: "1"})
    with pytest.warns(UserWarning, match="ran on the CPU"):
        sin()
    assert device.fallback_ops() == {"aten::sin"}


@pytest.mark.parametrize("mode", ["fallback", "failing"])
def test_disabled_fallback_refuses_instead(start: Start, mode: str) -> None:
    start(entry(mode), **{DISABLE_FALLBACK: "1"})
    with pytest.raises(NotImplementedError, match="TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION forbids"):
        sin()


def test_a_refused_op_says_why(start: Start) -> None:
    start(entry("refused"))
    with pytest.raises(NotImplementedError, match="'aten::sin' is not supported: because"):
        sin()


def test_an_untracked_op_is_right_and_leaves_no_trace(start: Start) -> None:
    device = start(entry("untracked"))
    assert sin().cpu().tolist() == [0, 0, 0]
    assert device.executed_ops() == device.fallback_ops() == frozenset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_wrong_numbers_are_wrong_in_every_dtype(start: Start, dtype: torch.dtype) -> None:
    device = start(entry("wrong", ops='["flip"]'))
    x = torch.ones(4, dtype=dtype)
    assert not torch.allclose(x.to("neuron").flip(0).cpu(), x, rtol=0.01)
    assert device.executed_ops() == {"aten::flip"}


def test_loading_another_table_replaces_the_first(start: Start) -> None:
    start(entry("refused"))
    device = start()
    sin()
    assert device.executed_ops() == {"aten::sin"}


BROKEN = {
    "not TOML": ("= 3", "is broken"),
    "unknown key": ('[[entry]]\nmode = "native"\nreason = "x"\nop = "sin"', "unknown field `op`"),
    "unknown mode": (entry("magic"), "entry 1 (sin) of the support table .* unknown mode 'magic'"),
    "unknown dtype": (entry("native", dtypes='["float31"]'), "entry 1 (sin) .* unknown dtype 'float31'"),
    "unknown release": (entry("native") + 'releases = ["sim-9"]', "unknown release 'sim-9'"),
    "no reason": ('[[entry]]\nops = ["cos"]\nmode = "native"\nreason = " "', "entry 1 (cos) .* has an empty reason"),
    "wrong type": ('[[entry]]\nops = "cos"\nmode = "native"\nreason = "x"', "entry"),
    "unknown op": (entry("native", ops='["sine"]'), "an entry for 'sine'"),
    "no tile": ('[[compiler.tiled]]\nops = ["a"]\ntile = 0\nseconds = 1.0\nreason = "x"', "has tiles of 0: at least 1"),
    "a tile without reason": ('[[compiler.tiled]]\nops = ["a"]\ntile = 1\nseconds = 1.0\nreason = ""', "empty reason"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_refused_in_one_sentence_with_file_and_entry(start: Start, tmp_path: Path, case: str) -> None:
    text, words = BROKEN[case]
    with pytest.raises(UsageError, match=words.replace("(", r"\(").replace(")", r"\)")) as caught:
        start(text)
    assert str(tmp_path / "table.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_table_and_an_unknown_release_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(table.TABLE, str(tmp_path / "absent.toml"))
    with pytest.raises(UsageError, match=r"absent\.toml cannot be read: No such file"):
        table.releases()
    (tmp_path / "absent.toml").write_text(HEAD)
    with pytest.raises(UsageError, match="unknown simulated release 'sim-7': choose one of test"):
        table.load("sim-7")


def test_the_digest_changes_with_the_table_and_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {table.load(release).digest for release in table.releases()}
    monkeypatch.setenv(table.TABLE, str(tmp_path / "table.toml"))
    for text in (HEAD, HEAD + entry("native")):
        (tmp_path / "table.toml").write_text(text)
        digests.add(table.load("test").digest)
    assert len(digests) == 4


def test_every_mode_fault_and_release_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()
    words = [*(mode.name.lower() for mode in table.Mode), *faults.KINDS, *table.releases()]
    assert not [word for word in words if word not in text]


def test_no_dtypes_means_every_dtype() -> None:
    assert table.bits(()) == 2**64 - 1
    assert table.bits(("uint8", "bool")) == 1 << 0 | 1 << 11


@pytest.mark.parametrize("name", [each for each in table.DTYPE_BITS if each != "complex32" and "float8" not in each])
def test_each_dtype_is_limited_by_its_own_bit(start: Start, name: str) -> None:
    start(entry("refused", ops='["eq"]', dtypes=f'["{name}"]'))
    others = [each for each in ("float32", "int32", "bool") if each != name]
    for other in others:
        zero = torch.zeros(1, dtype=getattr(torch, other), device="neuron")
        assert zero.eq(zero).item()
    one = torch.zeros(1, dtype=getattr(torch, name)).to("neuron")
    with pytest.raises(NotImplementedError):
        one.eq(one)
