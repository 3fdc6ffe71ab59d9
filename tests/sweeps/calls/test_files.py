"""Calls in a run's folder."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from sweeps.calls import files
from sweeps.calls.files import Writer
from sweeps.calls.recording import Counted
from sweeps.calls.specs import Bounds, Call


def counted(op: str, count: int = 1, bounds: Bounds = (0, 1)) -> dict[str, Counted]:
    """One call as it is recorded."""
    call = Call(op=op, args=({"t": "float32", "s": [2]},))
    return {call.digest: Counted(call=call, count=count, bounds=(bounds,))}


def test_a_call_is_written_once_and_models_name_it_by_number(tmp_path: Path) -> None:
    writer = Writer(path=tmp_path / "calls-1.jsonl")
    writer.add("one", "float32", "tiny", counted("aten::relu", 3) | counted("aten::exp"))
    writer.add("two", "float32", "small", counted("aten::relu", 5, (-4, 1)))
    writer.add("two", "float32", "small", counted("aten::log"))
    Writer(path=tmp_path / "calls-2.jsonl").add("three", "bfloat16", "tiny", counted("aten::relu", 1, (0, 9)))
    found = files.read(tmp_path)
    relu = next(iter(counted("aten::relu")))
    assert sorted(each.op for each in found.calls.values()) == ["aten::exp", "aten::relu"]
    assert found.bounds[relu] == ((-4, 9),)
    assert found.models["one", "float32"][relu] == 3
    assert found.models["two", "float32"] == {relu: 5}
    assert found.levels == {("one", "float32"): "tiny", ("two", "float32"): "small", ("three", "bfloat16"): "tiny"}
    assert (tmp_path / "calls-1.jsonl").read_text().count('"op"') == 2


def test_a_model_without_calls_says_why(tmp_path: Path) -> None:
    Writer(path=tmp_path / "calls-1.jsonl").add("one", "float32", "", {}, why="it takes no inputs")
    found = files.read(tmp_path)
    assert found.whys == {("one", "float32"): "it takes no inputs"}
    assert not found.models


def test_a_torn_last_line_is_passed_over_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "calls-1.jsonl"
    Writer(path=path).add("one", "float32", "tiny", counted("aten::relu"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"e":"call","i":7')
    assert len(files.read(tmp_path).calls) == 1
    path.write_bytes(b"[]\n" + whole)
    with pytest.raises(UsageError, match=r"calls-1\.jsonl cannot be read as calls of models"):
        files.read(tmp_path)
