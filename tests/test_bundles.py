"""Run bundles: a round trip into an empty database, and every kind of tampering refused with nothing left behind."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance import bundles
from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.record import RunFolder
from conformance.settings import Settings
from conformance.store import Store, find_run, ingest, open_store, readings
from conformance.store.vectors import SIDES
from tests.conftest import Command
from tests.runs import Made, attempt, make_run

MADE: dict[str, Made] = {
    "forward.add.float32": Outcome.PASS,
    "forward.mul.float32": [attempt(Outcome.FAIL, cause="c", message="m", detail="trace"), attempt(Outcome.PASS)],
    "forward.qr.float32": attempt(Outcome.FALLBACK, ops=("aten::qr",), rule="fallback-ops"),
    "forward.never.float32": None,
}

Files = dict[str, bytes]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run-1", MADE)


@pytest.fixture
def bundle(run: Path, tmp_path: Path) -> Path:
    bundles.write(RunFolder(path=run), tmp_path / "b.tar.gz")
    return tmp_path / "b.tar.gz"


def contents(bundle: Path) -> Files:
    with tarfile.open(bundle) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]


def packed(place: Path, files: Files, kind: bytes = tarfile.REGTYPE, twice: str = "") -> Path:
    with tarfile.open(place, "w:gz") as archive:
        for name, data in [*files.items(), *((twice, files[twice]) for _ in [0] if twice)]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.type = len(data), tarfile.REGTYPE if name == bundles.MANIFEST else kind
            entry.linkname = "/etc/passwd"
            archive.addfile(entry, io.BytesIO(data))
    return place


def manifest(files: Files, **changes: Any) -> Files:
    """The same with another manifest whose checksums are right."""
    made = json.loads(files[bundles.MANIFEST])
    others = {name: data for name, data in files.items() if name != bundles.MANIFEST}
    made["files"] = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in others.items()
    }
    return {bundles.MANIFEST: json.dumps({**made, **changes}).encode(), **others}


def test_a_bundle_imported_into_an_empty_database_gives_identical_vectors(
    store: Store, own_url: str, run: Path, bundle: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(store, run)
    monkeypatch.setenv("DATABASE_URL", own_url)
    said = command("import", str(bundle))
    assert said.code == 0, said.err
    with open_store(Settings(home=run.parent, cache=run.parent, database_url=own_url)) as other:
        ours, theirs = find_run(store, "run-1"), find_run(other, "run-1")
        assert ours is not None
        assert theirs is not None
        assert (ours.digest, ours.counts, ours.environment) == (theirs.digest, theirs.counts, theirs.environment)
        assert np.array_equal(readings.status(store, ours), readings.status(other, theirs))
        assert np.array_equal(readings.definition(store, ours), readings.definition(other, theirs))
        for name in SIDES:
            assert np.array_equal(readings.side(store, ours, name), readings.side(other, theirs, name))
    assert "run run-1 was stored already" in command("import", str(bundle)).err


def test_the_same_run_gives_the_same_bytes_and_a_digest_to_publish(run: Path, tmp_path: Path, command: Command) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert bundles.write(RunFolder(path=run), one) == bundles.write(RunFolder(path=run), two)
    assert one.read_bytes() == two.read_bytes()
    said = command("bundle", "write", str(run), "--out", str(one))
    digest = said.out.split()[-1]
    assert command("bundle", "verify", str(one), "--digest", digest).code == 0
    refused = command("import", str(one), "--digest", "0" * 64)
    assert refused.code == 2
    assert f"its digest is {digest}" in refused.err


def changed(name: str) -> Callable[[Files], Files]:
    return lambda files: {**files, name: files[name].replace(b"forward", b"FORWARD", 1)}


def renamed(name: str) -> Callable[[Files], Files]:
    return lambda files: manifest({**files, name: b"{}"})


TAMPERED: dict[str, tuple[Callable[[Files], Files], str]] = {
    "journal": (changed("journal/one.jsonl"), "is not what the manifest's checksum is of"),
    "plan": (changed("plan.jsonl"), "is not what the manifest's checksum is of"),
    "longer": (lambda f: {**f, "plan.jsonl": f["plan.jsonl"] + b"\n"}, "the manifest says"),
    "missing": (lambda f: {k: v for k, v in f.items() if k != "journal/one.jsonl"}, "'journal/one.jsonl' is missing"),
    "more": (lambda f: {**f, "extra": b""}, "it has 'extra', which its manifest does not name"),
    "order": (lambda f: dict(reversed(f.items())), "its first file is not MANIFEST.json"),
    "plan, checksums made right": (lambda f: manifest(changed("plan.jsonl")(f)), "its plan has the digest"),
    "outcomes": (lambda f: manifest(f, outcomes={"pass": 4}), "its manifest says outcomes"),
    "release": (lambda f: manifest(f, release="sim-9"), "its manifest says release 'sim-9'"),
    "journal, checksums made right": (lambda f: manifest({**f, "journal/one.jsonl": b""}), "says outcomes"),
    "format": (lambda f: manifest(f, format="other/1"), "its format is 'other/1'"),
    "id": (lambda f: manifest(f, run="../../x"), "is no name of a folder"),
    "above": (renamed("../../evil"), "names '../../evil', which is no file of a run"),
    "root": (renamed("/etc/cron.d/x"), "which is no file of a run"),
    "hidden": (renamed("journal/../../x.jsonl"), "which is no file of a run"),
    "key": (lambda f: manifest(f, more=1), "its manifest is broken"),
    "garbage": (lambda f: {**f, bundles.MANIFEST: b"\xff"}, "its manifest is broken"),
    "size": (
        lambda f: {**f, bundles.MANIFEST: f[bundles.MANIFEST].replace(b'"bytes": ', b'"bytes": 9999999999')},
        "it unpacks to more than",
    ),
}


@pytest.mark.parametrize("case", list(TAMPERED))
def test_a_tampered_bundle_is_refused_and_leaves_nothing(bundle: Path, tmp_path: Path, case: str) -> None:
    change, said = TAMPERED[case]
    bad = packed(tmp_path / "bad.tar.gz", change(contents(bundle)))
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(UsageError) as raised:
        bundles.unpack(bad, into)
    assert said in str(raised.value)
    assert f"the bundle {bad} is refused" in str(raised.value)
    assert not (tmp_path / "evil").exists()


def test_links_twice_named_files_and_broken_archives_are_refused(bundle: Path, tmp_path: Path) -> None:
    files = contents(bundle)
    bad = [packed(tmp_path / f"{kind!r}", files, kind) for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE)]
    bad.append(packed(tmp_path / "twice", files, twice="plan.jsonl"))
    for name, data in (("cut", bundle.read_bytes()[:-200]), ("text", b"hello"), ("gz", gzip.compress(b"hello"))):
        (tmp_path / name).write_bytes(data)
        bad.append(tmp_path / name)
    bad.append(tmp_path / "nothing")
    for number, each in enumerate(bad):
        into = tmp_path / f"into{number}"
        into.mkdir()
        with pytest.raises(UsageError, match="is refused"):
            bundles.unpack(each, into)


def test_an_import_that_is_refused_stores_nothing_and_leaves_no_folder(
    bundle: Path, tmp_path: Path, command: Command, store: Store
) -> None:
    bad = packed(tmp_path / "bad.tar.gz", changed("plan.jsonl")(contents(bundle)))
    assert command("import", str(bad)).code == 2
    assert find_run(store, "run-1") is None
    assert list((tmp_path / "home" / "runs").iterdir()) == []


def test_an_id_that_names_another_run_already_is_refused(
    bundle: Path, tmp_path: Path, command: Command, store: Store
) -> None:
    ingest(store, make_run(tmp_path / "other", {"x": Outcome.PASS}, uid="run-1"))
    said = command("import", str(bundle))
    assert said.code == 2
    assert "run 'run-1' is stored already and is another" in said.err
    found = find_run(store, "run-1")
    assert found is not None
    assert found.planned == 1


def test_expectation_files_that_the_run_was_told_travel_along(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", {"x": Outcome.PASS}, target="sim")
    made = bundles.write(RunFolder(path=run), tmp_path / "b")
    assert [each for each in made.files if each.startswith("expectations/")] == ["expectations/0-sim.toml"]
