"""Catalogues written from what users have: whole or not at all, the unreadable named, ids asked of the Hub."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conformance.errors import ExitCode
from sweeps import catalogue, importing
from sweeps.catalogue import Entry
from tests.conftest import Command


def lines(path: Path) -> list[dict[str, object]]:
    with gzip.open(path) as file:
        return [json.loads(each) for each in file]


def test_rows_of_all_kinds_become_entries_and_the_others_are_named(command: Command, tmp_path: Path) -> None:
    source, out = tmp_path / "mine.jsonl", tmp_path / "out.jsonl.gz"
    source.write_text(
        '{"id": "a/b", "model_type": "bert", "downloads": 3}\nnonsense\n{"id": "a/b", "config": {"eps": Infinity}}\n'
        '{"id": "half \\ud800"}\n{"id": 7}\n'
    )
    said = command("catalogue", "import", str(source), "--out", str(out))
    assert said.code == ExitCode.FINE
    assert "2 entries written" in said.out
    assert "1 of them have an id that was there before" in said.out
    assert all(each in said.out for each in ("3 rows are no entries", "line 2", "lone surrogate", "line 5"))
    assert lines(out) == [
        {"id": "a/b", "model_type": "bert", "downloads": 3},
        {"id": "a/b", "config": {"eps": {"__float__": "Infinity"}}},
    ]
    first = out.read_bytes()
    command("catalogue", "import", str(out), "--out", str(out), "--format", "json")
    assert out.read_bytes() == first


def test_a_folder_of_configurations_is_a_catalogue(command: Command, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "org--name.json").write_text('{"model_type": "bert", "hidden_size": 32}')
    (tmp_path / "in" / "org--deep.json").write_text("[" * 100_000)
    said = command("catalogue", "import", str(tmp_path / "in"), "--out", str(tmp_path / "o.jsonl"), "--format", "json")
    document = json.loads(said.out)
    assert (document["entries"], document["unreadable"], document["named"][0]["row"]) == (1, 1, "org/deep")
    shown = json.loads(command("catalogue", "show", str(tmp_path / "o.jsonl"), "--format", "json").out)
    assert shown["types"] == [
        {"model_type": "bert", "entries": 1, "downloads": 0, "config": 1, "dims": 0, "neither": 0}
    ]


def test_counts_of_the_shipped_catalogue_add_up(command: Command) -> None:
    shown = json.loads(command("catalogue", "show", "--format", "json").out)
    assert sum(each["entries"] for each in shown["types"]) == shown["entries"] > 20_000
    table = command("catalogue", "show", "--limit", "3").out.splitlines()
    assert table[-1].split()[:2] == ["total", f"{shown['entries']:,}"]


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_nothing_is_written_when_there_is_no_entry(command: Command, tmp_path: Path, content: str) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    (tmp_path / "out.jsonl").write_text("as it was")
    said = command("catalogue", "import", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl"))
    assert (said.code, "there is no entry to write" in said.err) == (ExitCode.USAGE, True)
    assert (tmp_path / "out.jsonl").read_text() == "as it was"
    assert sorted(each.name for each in tmp_path.iterdir() if "partial" in each.name) == []


def test_what_cannot_be_read_or_written_is_one_sentence(command: Command, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a"}\n')
    for source, out, code, words in (
        ("nothing", "o.jsonl", ExitCode.USAGE, "is neither a file nor a folder"),
        ("in.jsonl", "o.csv", ExitCode.USAGE, "end it in .jsonl or .jsonl.gz"),
        ("in.jsonl", "no/such/o.jsonl", ExitCode.STORE, "cannot be written: No such file"),
    ):
        said = command("catalogue", "import", str(tmp_path / source), "--out", str(tmp_path / out))
        assert (said.code, words in said.err) == (code, True), said.err


@pytest.mark.slow
def test_a_hundred_thousand_entries_stream_through(tmp_path: Path) -> None:
    rows = (Entry(id=f"org/model-{each}", dims={"hidden_size": each}) for each in range(100_000))
    told: list[int] = []
    tracemalloc.start()
    began = time.process_time()
    done = importing.write(rows, tmp_path / "big.jsonl.gz", told.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (done.entries, told[-1]) == (100_000, 100_000)
    assert time.process_time() - began < 20
    assert peak < 40_000_000
    assert sum(1 for _ in catalogue.read(tmp_path / "big.jsonl.gz")) == 100_000


CONFIGS = {
    "org/good": b'{"model_type": "bert", "eps": Infinity}',
    "org/huge": b'{"x": "' + b"y" * 5_000_000 + b'"}',
    "org/list": b"[1]",
}


class _Hub(BaseHTTPRequestHandler):
    """As much of the Hub as answers for a configuration."""

    def do_GET(self) -> None:
        name = self.path.removeprefix("/api/models/").removeprefix("/").partition("/resolve/")[0].partition("?")[0]
        if name not in CONFIGS:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif self.path.startswith("/api/"):
            about = {"id": name, "downloads": 42, "pipeline_tag": "fill-mask", "tags": [], "siblings": []}
            self._send(200, json.dumps(about).encode(), {})
        else:
            self._send(200, CONFIGS[name], {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body)), "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def imported(ids: Path, out: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: huggingface_hub reads where the Hub is once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    program = "from conformance import cli; cli.main()"
    return subprocess.run(
        [sys.executable, "-c", program, "catalogue", "import", str(ids), "--out", str(out)],
        env={**kept, "HF_HOME": str(ids.parent), "PYTHONPATH": str(Path.cwd()), **variables}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


def test_ids_are_resolved_on_the_hub_and_what_it_refuses_is_named(hub: str, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("# mine\norg/good\n\norg/missing\norg/huge\norg/list\nno good/id\n")
    said = imported(tmp_path / "ids.txt", tmp_path / "out.jsonl.gz", HF_ENDPOINT=hub)
    assert said.returncode == ExitCode.FINE, said.stderr
    assert "4 rows are no entries" in said.stdout
    for words in (
        "org/missing",
        "answers 404",
        "more than 4,194,304 bytes",
        "a JSON list and not an object",
        "no good/id",
    ):
        assert words in said.stdout, words
    assert lines(tmp_path / "out.jsonl.gz") == [
        {"id": "org/good", "task": "fill-mask", "downloads": 42, "source": "huggingface.co",
         "config": {"model_type": "bert", "eps": {"__float__": "Infinity"}}}
    ]  # fmt: skip


@pytest.mark.parametrize("variables", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
def test_without_a_network_a_list_of_ids_is_one_sentence(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "ids.txt").write_text("org/good\n")
    said = imported(tmp_path / "ids.txt", tmp_path / "out.jsonl.gz", **variables)
    assert said.returncode == ExitCode.STORE
    assert "Hub cannot be asked for 'org/good'" in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert not (tmp_path / "out.jsonl.gz").exists()
