"""Files of the user's beside the shipped one, and how what a run was told reaches its processes and its record."""

import os
from datetime import date
from pathlib import Path

import pytest

from conformance import expectations
from conformance.errors import UsageError
from conformance.expectations.chosen import DAY, FILES, PROBE, Chosen
from conformance.outcomes import TestId

GEQRF = TestId(suite="ops", file="forward", cls="geqrf", name="float32", op="geqrf", dtype="float32", kind="forward")


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return written(tmp_path / "own.toml", '[[skip]]\nid = "mine"\nops = ["geqrf"]\nreason = "y"\nmode = "probe"')


def test_files_of_the_user_stand_before_the_shipped_one(own: Path) -> None:
    shipped = expectations.load("sim", "sim-1.1", Chosen()).decide(GEQRF)
    assert shipped is not None
    assert shipped.rule == "coverage:geqrf"
    found = expectations.load("sim", "sim-1.1", Chosen(files=(own,)))
    assert found.decide(GEQRF) is None
    probed = found.probed(GEQRF)
    assert probed is not None
    assert probed.rule == "coverage:mine"


def test_probing_takes_every_skip(own: Path) -> None:
    found = expectations.load("sim", "sim-1.1", Chosen(probe=True))
    assert found.decide(GEQRF) is None
    assert found.probed(GEQRF)


def test_what_is_told_by_variables_and_by_a_record_comes_back_as_it_was(own: Path) -> None:
    told = Chosen(files=(own, own.with_name("other.toml")), probe=True, day=date(2027, 1, 2))
    assert Chosen.of_environment(told.variables()) == told
    assert Chosen.of_facts(told.facts()) == told
    assert Chosen.of_environment({}) == Chosen()
    assert Chosen.of_facts({}) == Chosen()


def test_variables_name_files_as_path_does_and_a_wrong_day_is_refused(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILES, os.pathsep.join([str(own), "", "rel.toml"]))
    monkeypatch.setenv(PROBE, "0")
    found = Chosen.of_environment()
    assert found.files == (own, Path("rel.toml").absolute())
    assert not found.probe
    monkeypatch.setenv(DAY, "tomorrow")
    with pytest.raises(UsageError, match="is 'tomorrow': give a day such as"):
        Chosen.of_environment()


def test_the_digest_is_of_the_contents_and_of_probing(own: Path) -> None:
    told = Chosen(files=(own,))
    before = told.digest()
    assert before != Chosen().digest() != Chosen(probe=True).digest()
    own.write_text(own.read_text() + "\n# a word\n")
    assert told.digest() != before


def test_an_edited_file_is_read_again(own: Path) -> None:
    told = Chosen(files=(own,))
    assert expectations.load("cpu", "r", told).probed(GEQRF)
    own.write_text(own.read_text().replace("geqrf", "geqrfs"))
    assert expectations.load("cpu", "r", told).probed(GEQRF) is None


def test_an_id_that_two_files_have_is_refused_with_both(tmp_path: Path) -> None:
    own = written(tmp_path / "own.toml", '[[skip]]\nid = "geqrf"\nops = ["a"]\nreason = "y"')
    with pytest.raises(UsageError, match=r"own\.toml and .*sim\.toml share the id 'geqrf'"):
        expectations.load("sim", "sim-1.1", Chosen(files=(own,)))


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no expectation file '.*gone\.toml'"):
        expectations.load("sim", "sim-1.1", Chosen(files=(tmp_path / "gone.toml",)))
    with pytest.raises(UsageError, match="there is no expectation file"):
        expectations.load("sim", "sim-1.1", Chosen(files=(tmp_path,)))
