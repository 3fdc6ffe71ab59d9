"""Pages of models: found by id, told with their limits, and whatever strangers called them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest

from conformance.outcomes import Outcome
from conformance.store import Store, ingest
from tests.modelled import entry, facts, identity, make_models, refused, signature
from tests.runs import attempt, make_run
from tests.sites import HOSTILE, serving
from tests.web.pages import Page, parse

LLAMA, BERT = signature("aaaaaaaaaaaa"), signature("bbbbbbbbbbbb", "BertModel", "bert")
NO = refused("unknown-model-type", "mamba9")
FELL = attempt(Outcome.FALLBACK, ops=("aten::sort",))
ENTRIES = [
    entry("meta/llama", LLAMA["id"], downloads=100, own={"hidden_size": 8192}),
    entry("google/bert", BERT["id"], downloads=900, text_generation=False),
    entry("who/mamba9", NO["key"], downloads=70),
    entry("meta/llama", BERT["id"], downloads=1),
]  # fmt: skip
MANY = [entry(f"many/{number}", BERT["id"], text_generation=False) for number in range(150)]


def hostile(path: Path) -> Path:
    """A run in which every text of its models that a stranger can choose is hostile."""
    texts = list(HOSTILE.values())
    made = [
        signature(f"{place:012}", text, text, model=text, model_type=text, full={text: text, "x": {text: [text] * 3}})
        for place, text in enumerate(texts)
    ]  # fmt: skip
    no = [{**refused(text, reason=text), "key": f"models::a::b::{place}", "architecture": text, "model_type": text}
          for place, text in enumerate(texts)]  # fmt: skip
    entries = [
        *(entry(text, each["id"], source=text, left_out=[text], own={text: text}, downloads=5)
          for text, each in zip(texts, made, strict=True)),
        *(entry(f"{text} refused", each["key"]) for text, each in zip(texts, no, strict=True)),
    ]  # fmt: skip
    results = {identity(each): attempt(Outcome.FAIL, message=text, cause=text, rule=text, ops=(text,))
               for text, each in zip(texts, made, strict=True)}  # fmt: skip
    told = [facts(identity(each), level=text, inputs={text: {"fill": text, "dtype": text}}, missing=[text])
            for text, each in zip(texts, made, strict=True)]  # fmt: skip
    return make_models(path, made, entries, results, refusals=no, told=told, planned_refusals=False, run="ev/il",
                       started=1_600_000_000.0)  # fmt: skip


@pytest.fixture
def client(store: Store, tmp_path: Path) -> Iterator[httpx.Client]:
    """The dashboard over a run of models, a hostile one, and one of tests alone."""
    results = {identity(LLAMA): FELL, identity(LLAMA, "train"): None, identity(BERT): Outcome.PASS}
    told = [facts(identity(LLAMA), config=LLAMA["reduced"], inputs={"input_ids": {"dtype": "int64", "shape": [2, 16]}})]
    ingest(store, make_models(tmp_path / "r1", [LLAMA, BERT], ENTRIES + MANY, results, refusals=[NO], told=told))
    ingest(store, make_run(tmp_path / "tests", {"a": Outcome.PASS}, started=1_800_000_000.0))
    ingest(store, hostile(tmp_path / "evil"))
    with serving(store) as site, httpx.Client(base_url=site.url, timeout=30) as made:
        yield made


def opened(client: httpx.Client, address: str) -> Page:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return parse(str(answer.url), answer.text)


def test_the_models_of_the_newest_run_with_some_are_in_the_navigation(client: httpx.Client) -> None:
    assert any(urlsplit(each).path == "/models" for each in opened(client, "/runs").links)
    page = opened(client, "/models")
    assert "the newest run with models is r1" in page.text
    assert "SIMULATED" in page.text
    assert "154 of 154 models, eager float32" in page.text
    assert client.get("/models.json").headers["cache-control"] == "no-cache"
    assert "Architecture coverage" in opened(client, "/runs/r1").text
    assert "Architecture coverage" not in opened(client, "/runs/tests").text


def test_models_are_found_page_by_page_and_counted_as_everywhere(client: httpx.Client) -> None:
    first = client.get("/runs/r1/models.json?q=MANY").json()
    rest = client.get(f"/runs/r1/models.json?q=many&after={first['next']}").json()
    assert (first["found"], len(first["models"]), len(rest["models"]), rest["next"]) == (150, 100, 50, None)
    assert first["total"]["outcomes"] == {"pass": 152, "fallback": 1, "invalid": 1}
    for by in ("architecture", "family"):
        data = client.get(f"/runs/r1/architectures.json?by={by}").json()
        assert sum(each["models"] for each in data["groups"]) == data["total"]["models"] == 154
    none = client.get("/runs/r1/models.json?mode=train&outcome=not_planned&outcome=invalid").json()
    assert (none["found"], none["total"]["outcomes"]) == (153, {"not_planned": 152, "not_run": 1, "invalid": 1})


def test_a_model_shows_what_was_reduced_what_ran_and_what_that_does_not_show(client: httpx.Client) -> None:
    page = opened(client, "/runs/r1/model?id=meta/llama")
    for words in ("in the catalogue 2 times", "8192", '32 × "a"', "aten::sort", "input_ids int64 [2, 16]", "simulated",
                  "what its trained weights do", "mode compile, which this run did not try"):  # fmt: skip
        assert words in page.text, words
    refusal = opened(client, "/runs/r1/model?id=who/mamba9")
    assert "Nothing was run. unknown-model-type: no such model type" in refusal.text
    data = client.get("/runs/r1/model.json?id=meta/llama").json()
    assert [each["came"][0]["outcome"] for each in data["entries"]] == ["fallback", "pass"]


def test_an_architecture_and_the_coverage_have_the_commands_numbers(client: httpx.Client) -> None:
    one = client.get("/runs/r1/architecture.json?name=LlamaForCausalLM").json()
    assert one["counted"]["eager float32"]["outcomes"] == {"fallback": 1}
    assert [each["outcome"] for each in one["standings"][0]["results"]] == ["fallback", "not_run"]
    assert "aaaaaaaaaaaa" in opened(client, "/runs/r1/architecture?name=LlamaForCausalLM").text
    data = client.get("/runs/r1/coverage.json").json()
    assert [each["architecture"] for each in data["architectures"]] == ["LlamaForCausalLM", "mamba9", "BertModel"]
    assert data["shares"][0]["outcomes"] == {"fallback": 1, "invalid": 1, "pass": 1}
    page = opened(client, "/runs/r1/coverage")
    assert "ran on the CPU: aten::sort" in page.text
    assert "the run ended first" in page.text


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/runs/tests/models", 404, "has no models"),
        ("/runs/r1/model?id=meta/lama", 404, "ids like it are meta/llama"),
        ("/runs/r1/architecture?name=None", 404, "has no model of architecture"),
        ("/runs/r1/models?outcome=nice", 400, "not_planned"),
        ("/runs/r1/architectures?by=model", 400, "choose architecture or family"),
        ("/runs/r1/architectures?by=size", 400, ""),
        ("/runs/r1/coverage?top=0", 400, ""),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(client: httpx.Client, address: str, status: int, words: str) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    assert words in answer.text


def test_the_dashboard_loads_neither_torch_nor_transformers() -> None:
    program = "import sys, web.app; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_hostile_names_become_neither_markup_nor_broken_links(client: httpx.Client) -> None:
    start = quote("ev/il", safe="")
    waiting = [
        f"{client.base_url}/runs/{start}{each}" for each in ("", "/models", "/architectures?by=family", "/coverage")
    ]
    seen: dict[str, Page] = {}
    while waiting:
        url = waiting.pop()
        if url in seen or ".json" in url or "/static/" in url or "il" not in urlsplit(url).path or "/tests" in url:
            continue
        seen[url] = opened(client, url)
        waiting += seen[url].links
    ends = {urlsplit(url).path.rpartition("/")[2] for url in seen}
    assert {"models", "model", "architectures", "architecture", "coverage"} <= ends
    assert len(seen) > 3 * len(HOSTILE)
    for url, page in seen.items():
        for tag, attributes in page.tags:
            assert tag not in {"img", "iframe", "style", "b"}, url
            assert not [name for name in attributes if name.startswith("on") or name == "style"], url
            assert tag != "script" or (attributes.get("src") or "").startswith("/static/"), url
        assert not [each for each in page.text if each in "\x1b\u202e\u2066\u200b\x07"], url
    text = "\n".join(page.text for page in seen.values())
    assert all(each in text for each in ("<script>alert('x')</script>", "{{ 7 * 7 }}", "\\u202egnp.exe", "שלום 测试"))
