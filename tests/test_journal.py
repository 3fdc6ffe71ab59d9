"""A journal keeps what was written, whatever is written into it and however its process ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import journal
from conformance.journal import Begin, End, Follower, Journal, Session, Staged
from conformance.opsets import LONGEST_NAME, Names, Reach
from conformance.outcomes import Attempt, Outcome, RanOn, Reached, Stage

HOSTILE = "\x1b[31m\0<script>\ud800'; drop table run; --\u202e\n=1+1"


def test_an_attempt_comes_back_as_it_was_written(tmp_path: Path) -> None:
    attempt = Attempt(
        outcome=Outcome.FALLBACK,
        rule="fallback-ops",
        ran_on=RanOn.MIXED,
        stage=Stage.COMPARE,
        seconds={"execute": 0.25},
        message="two ops",
        cause="c",
        code="NCC_EVRF001",
        fallback_ops=("aten::cos", "aten::sin"),
        detail="trace",
    )
    path = tmp_path / "j" / "w.jsonl"
    with Journal(path) as written:
        written.begin("a::b::c::d")
        written.stage("a::b::c::d", Stage.COMPARE)
        written.end("a::b::c::d", attempt)
    opened, begin, staged, end, closed = journal.read(path)
    assert isinstance(opened, Session)
    assert isinstance(begin, Begin)
    assert begin.pid == os.getpid()
    assert isinstance(staged, Staged)
    assert isinstance(end, End)
    assert end.attempt() == attempt
    assert isinstance(closed, Session)
    assert closed.state == "closed"


def test_a_set_of_ops_is_written_once_and_named_by_every_attempt_that_took_it(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    took = Reached(executed=frozenset({"aten::sin", "aten::add.Tensor"}), fallback=frozenset({"x" * 999, HOSTILE}))
    part = Reached(executed=took.executed)
    with Journal(path) as written:
        written.end("a", Attempt(outcome=Outcome.PASS, reached=took))
        written.end("b", Attempt(outcome=Outcome.FAIL, reached=part))
        written.end("c", Attempt(outcome=Outcome.PASS, reached=took))
        written.end("d", Attempt(outcome=Outcome.PASS))
    data = path.read_bytes()
    assert data.count(b"aten::sin") == 1
    found = journal.sets(data)
    first, second, third, none = [each.u for each in journal.ends(data)]
    assert (first, none) == (third, "")
    assert found[second] == (("aten::add.Tensor", "aten::sin"), ())
    assert found[first].ran == found[second].ran
    assert set(found[first].fell) == {"x" * LONGEST_NAME, HOSTILE.replace("\ud800", "\\ud800")}
    assert [type(each) for each in journal.read(path) if isinstance(each, Names | Reach)] == [Names, Reach, Reach]


def test_a_set_has_the_same_name_in_every_journal_and_one_whose_names_are_lost_is_none(tmp_path: Path) -> None:
    sets = [Reached(executed=frozenset({name})) for name in ("aten::sin", "aten::cos", "aten::tan")]
    written: list[bytes] = []
    for order in (sets, sets[::-1]):
        path = tmp_path / f"{len(written)}.jsonl"
        with Journal(path) as opened:
            for each in order:
                opened.end("t", Attempt(outcome=Outcome.PASS, reached=each))
        written.append(path.read_bytes())
    whole = journal.sets(written[0])
    assert journal.sets(written[1]) == whole
    assert [each.ran for each in whole.values()] == [("aten::sin",), ("aten::cos",), ("aten::tan",)]
    lost = b"\n".join(line for line in written[0].split(b"\n") if b"aten::cos" not in line)
    assert [each.ran for each in journal.sets(lost).values()] == [("aten::sin",), ("aten::tan",)]
    assert journal.sets(written[0].partition(b"\n")[2]) == whole
    assert journal.sets(b"") == journal.sets(b"{}\n") == {}


def test_hostile_text_is_kept_readable_and_never_breaks_a_line(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    with Journal(path) as written:
        written.end("k", Attempt(outcome=Outcome.ERROR, message=HOSTILE, detail=HOSTILE * 10_000))
    (end,) = (each for each in journal.read(path) if isinstance(each, End))
    assert "\0" not in end.m
    assert "\\0<script>" in end.m
    assert "\\ud800" in end.m
    assert "characters left out" in end.x
    assert len(end.x) < journal.LONGEST_DETAIL + 100


def test_a_torn_last_line_is_passed_over_and_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    follower = Follower(path)
    assert follower.new() == []
    with Journal(path) as written:
        written.begin("k")
        assert [type(each) for each in follower.new()] == [Session, Begin]
        whole = b'{"e":"begin","t":"x","n":1,"at":1.0,"pid":1}\n'
        with path.open("ab") as file:
            file.write(whole[:20])
            file.flush()
            assert follower.new() == []
            assert len(list(journal.read(path))) == 2
            file.write(whole[20:])
        (found,) = follower.new()
        assert isinstance(found, Begin)
        assert found.t == "x"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGABRT"])
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.jsonl"
    program = (
        "import sys, pathlib; from conformance.journal import Journal; from conformance.outcomes import *\n"
        f"j = Journal(pathlib.Path({str(path)!r}))\n"
        "n = 0\n"
        "while True:\n"
        "    j.begin(str(n)); j.end(str(n), Attempt(outcome=Outcome.PASS)); print(n, flush=True); n += 1\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = -1
    for line in child.stdout:
        last = int(line)
        if last >= 200:
            child.send_signal(getattr(signal, name))
            break
    child.stdout.close()
    assert child.wait() == -getattr(signal, name)
    ended = {int(each.t) for each in journal.read(path) if isinstance(each, End)}
    assert set(range(last + 1)) <= ended


def test_a_full_disk_is_an_error_and_not_a_silent_loss() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OSError, match="No space left"):
        Journal(Path("/dev/full"))
