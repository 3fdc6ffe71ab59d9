"""What pages and their twins say, and how they may be cached."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.outcomes import NOT_ELIGIBLE, Outcome
from conformance.settings import Settings
from conformance.store import Store, ingest, open_store
from tests.runs import attempt, make_run
from tests.sites import HOSTILE, base_run, candidate_run, serving
from tests.web.pages import parse


def said(client: httpx.Client, url: str) -> dict[str, Any]:
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_run_says_the_same_numbers_in_both_forms(client: httpx.Client) -> None:
    run = said(client, "/runs/candidate.json")["run"]
    counts = run["outcomes"]
    assert sum(counts.values()) == run["planned"] == len(candidate_run())
    eligible = run["planned"] - sum(counts.get(each.word, 0) for each in NOT_ELIGIBLE)
    assert run["eligible"] == eligible
    assert run["passed"] == counts["pass"]
    assert run["right"] == counts["pass"] + counts["fallback"]
    text = parse("http://h/runs/candidate", client.get("/runs/candidate").text).text
    assert f"{run['passed']} of {eligible}" in text
    assert f"{run['right']} of {eligible}" in text
    assert f"{eligible} of {run['planned']}" in text


@pytest.mark.parametrize("part", ["suites", "kinds", "dtypes"])
def test_the_parts_of_a_run_add_up_to_its_plan(client: httpx.Client, part: str) -> None:
    found = said(client, "/runs/candidate.json")
    whole: Counter[str] = Counter()
    for each in found[part]:
        assert sum(each["outcomes"].values()) == each["planned"]
        whole.update(each["outcomes"])
    assert whole == found["run"]["outcomes"]


def test_the_matrix_counts_every_test_of_an_op_once(client: httpx.Client) -> None:
    found = said(client, "/runs/candidate/matrix.json")
    whole: Counter[str] = Counter()
    for row in found["rows"]:
        assert len(row["cells"]) == len(found["dtypes"])
        for cell in row["cells"]:
            whole.update(cell["outcomes"] if cell else {})
    assert whole == found["run"]["outcomes"]


def test_the_matrix_may_be_restricted_to_kinds_ops_and_outcomes(client: httpx.Client) -> None:
    some = said(client, "/runs/candidate/matrix.json?kind=forward&kind=backward")
    one = said(client, "/runs/candidate/matrix.json?kind=forward&q=ADD")
    assert set(some["kind"]) == {"forward", "backward"}
    assert [each["op"] for each in one["rows"]] == ["add"]
    assert {cell["outcomes"].keys() <= {"pass", "fallback", "fail"} for cell in one["rows"][0]["cells"] if cell} == {
        True
    }
    failing = said(client, "/runs/candidate/matrix.json?show=fail")
    assert all(any(cell and "fail" in cell["outcomes"] for cell in row["cells"]) for row in failing["rows"])
    assert 0 < len(failing["rows"]) < failing["ops"]


def test_a_list_of_tests_is_paged_without_loss_or_repetition(client: httpx.Client) -> None:
    whole = said(client, "/runs/candidate/tests.json")
    assert whole["total"] == len(whole["tests"]) == len(candidate_run())
    passed = said(client, "/runs/candidate/tests.json?outcome=pass&outcome=fallback")
    assert {each["outcome"] for each in passed["tests"]} == {"pass", "fallback"}
    after = said(client, f"/runs/candidate/tests.json?after={whole['tests'][4]['test']['number']}")
    assert after["tests"] == whole["tests"][5:]


def test_a_test_tells_both_sides_its_attempts_and_how_to_run_it(client: httpx.Client) -> None:
    (found,) = said(client, "/search.json?q=backward.add.int64")["tests"]
    shown = said(client, f"/tests/{found['number']}.json?run=candidate")
    assert shown["ended"]["outcome"] == "error"
    assert shown["ended"]["flaky"] is True
    assert [(each["outcome"], each["detail"]) for each in shown["attempts"]] == [("error", "first try"), ("pass", "")]
    assert {each["run"]["run"] for each in shown["history"]} == {"base", "candidate", "part", "real"}
    assert shown["reproduce"] == "conformance repro s::f.py::C::backward.add.int64 --target sim --release sim-1.1"
    page = client.get(f"/tests/{found['number']}?run=candidate").text
    assert "flaky" in page
    assert "first try" in page


def test_a_skipped_test_s_page_tells_pytorch_s_side_and_ours(client: httpx.Client) -> None:
    (found,) = said(client, "/runs/base/tests.json?outcome=skip_eligibility")["tests"]
    shown = said(client, f"/tests/{found['test']['number']}.json?run=base")
    assert shown["theirs"] == {
        "who": "a guard of PyTorch's test harness", "code": "onlyOn.only_fn", "where": "test/test_a.py:8", "turned": ""
    }  # fmt: skip
    assert shown["ours"]["rule"] == "r:skip_eligibility"
    page = client.get(f"/tests/{found['test']['number']}?run=base").text
    assert "onlyOn.only_fn" in page
    (claimed,) = said(client, "/runs/base/tests.json?rule=coverage:qr")["tests"]
    ours = said(client, f"/tests/{claimed['test']['number']}.json?run=base")["ours"]
    assert "does not claim" in ours["why"]


def test_a_test_is_found_by_its_identity(client: httpx.Client) -> None:
    answer = client.get("/test", params={"key": "s::f.py::C::forward.add.int64", "run": "base"})
    assert answer.status_code == 307
    assert answer.headers["location"].endswith("?run=base")
    assert client.get(answer.headers["location"]).status_code == 200


def test_a_diff_counts_every_test_of_either_plan_once(client: httpx.Client) -> None:
    found = said(client, "/diff.json?a=sim-1.0&b=sim-1.1")
    assert sum(found["classes"].values()) == found["tests"] == len(set(base_run()) | set(candidate_run()))
    assert sum(each["count"] for each in found["transitions"]) == found["tests"]
    assert (found["classes"]["regressed"], found["classes"]["added"], found["classes"]["removed"]) == (2, 1, 1)
    assert found["total"] == len(found["rows"]) == found["tests"] - found["classes"]["same"]
    assert found["blocking"] == 2
    # A run of a selection that is not sealed was never going to stand for the release: nothing is said of it.
    assert len(found["remarks"]) == 2
    assert "candidate" in found["remarks"][1]


def test_a_diff_shows_one_class_or_one_reason(client: httpx.Client) -> None:
    whole = said(client, "/diff.json?a=base&b=candidate")
    for group in whole["groups"]:
        found = said(client, f"/diff.json?a=base&b=candidate&class={group['change']}&reason={group['number']}")
        assert found["total"] == group["count"]
        assert {each["change"] for each in found["rows"]} == {group["change"]}
        assert group["example"] in {each["test"]["key"] for each in found["rows"]}


def test_an_incomplete_side_makes_a_diff_inconclusive(client: httpx.Client) -> None:
    assert "part is not sealed" in said(client, "/diff.json?a=base&b=part")["doubts"][0]
    assert "Inconclusive" in client.get("/diff?a=base&b=part").text


def test_a_simulated_run_is_never_compared_with_a_real_one(client: httpx.Client) -> None:
    answer = client.get("/diff?a=base&b=real")
    assert answer.status_code == 400
    assert "never compared" in parse("http://h/diff", answer.text).text


def test_search_takes_wildcards_as_what_they_are(client: httpx.Client) -> None:
    assert said(client, "/search.json?q=%25%25")["tests"] == []
    found = said(client, "/search.json?q=100%25_of_%5C")["tests"]
    assert [each["op"] for each in found] == [HOSTILE["percent"]]
    assert said(client, "/search.json?q=FORWARD.ADD.INT")["tests"][0]["op"] == "add"
    assert said(client, "/search.json?q=a")["tests"] == []


def test_a_page_is_not_sent_again_while_it_is_the_same(client: httpx.Client) -> None:
    for url in ("/runs", "/runs/base/matrix", "/runs/base/matrix.json"):
        first = client.get(url)
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(url, headers={"If-None-Match": f'"x", {first.headers["etag"]}'})
        assert again.status_code == 304
        assert again.content == b""
        assert client.get(url, headers={"If-None-Match": 'W/"other"'}).status_code == 200


def test_only_data_of_a_sealed_run_asked_for_by_its_digest_may_be_kept_for_ever(client: httpx.Client) -> None:
    digest = said(client, "/runs/base.json")["run"]["digest"]
    open_run = said(client, "/runs/part.json")["run"]["digest"]
    kept = {
        url: "immutable" in client.get(url).headers["cache-control"]
        for url in (
            f"/runs/base/matrix.json?digest={digest}",
            "/runs/base/matrix.json?digest=other",
            f"/runs/base/matrix?digest={digest}",
            f"/runs/part/matrix.json?digest={open_run}",
            "/runs/part/matrix.json?digest=",
        )
    }
    assert [*kept.values()] == [True, False, False, False, False]


def test_static_files_are_kept_for_ever_and_only_under_their_digest(client: httpx.Client) -> None:
    sheet = next(each for each in parse("http://h/", client.get("/runs").text).links if each.endswith(".css"))
    answer = client.get(sheet.removeprefix("http://h"))
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/0000/style.css").status_code == 404


def test_an_empty_store_says_which_command_to_run(settings: Settings) -> None:
    with open_store(settings) as store, serving(store) as site, httpx.Client(base_url=site.url) as client:
        assert "make sweep TARGET=sim" in client.get("/runs").text
        assert "make sweep TARGET=sim RELEASE=sim-1.0" in client.get("/diff").text
        assert client.get("/runs.json").json() == {"title": "Runs", "simulated": False, "runs": [], "next": ""}


def test_a_message_and_the_ops_after_it_are_words_apart(store: Store, tmp_path: Path) -> None:
    ended = attempt(Outcome.FALLBACK, ops=("aten::sort",), message="works too: complex128", rule="fallback-ops")
    ingest(store, make_run(tmp_path / "r", {"forward.qr.float32": ended}))
    with serving(store) as site, httpx.Client(base_url=site.url) as client:
        bare = re.sub("<[^>]*>", "", client.get("/runs/r/op?name=qr").text)
    assert "fallback-ops works too: complex128 aten::sort" in " ".join(bare.split())


def test_runs_are_paged_newest_first_without_loss(store: Store, tmp_path: Path) -> None:
    for number in range(52):
        ingest(
            store, make_run(tmp_path / f"run{number:02}", {"t": Outcome.PASS}, started=1_700_000_000.0 + number // 2)
        )
    with serving(store) as site, httpx.Client(base_url=site.url) as client:
        first = said(client, "/runs.json")
        second = said(client, f"/runs.json?before={first['next']}")
        found = [each["run"] for each in first["runs"] + second["runs"]]
        assert found == [f"run{number:02}" for number in reversed(range(52))]
        assert second["next"] == ""
        assert "Older runs" in client.get("/runs").text
        assert "Older runs" not in client.get(f"/runs?before={first['next']}").text
        past = said(client, "/tests/0.json")
        assert [each["run"]["run"] for each in past["history"]] == found[:50]
        assert past["older"] is True
        assert "newest 50 runs" in client.get("/tests/0").text
        assert said(client, "/tests/0.json?run=run00")["run"]["run"] == "run00"


def test_every_outcome_has_its_own_word_in_json(client: httpx.Client) -> None:
    counted = said(client, "/runs/base.json")["run"]["outcomes"]
    assert set(counted) == {each.word for each in Outcome if each is not Outcome.NOT_RUN}


def test_what_a_test_left_changed_is_on_its_page_and_can_be_asked_for(client: httpx.Client) -> None:
    (found,) = said(client, "/runs/candidate/tests.json?leaks=1")["tests"]
    assert found["leaked"] == ["default_dtype: torch.float64 instead of torch.float32"]
    page = client.get(f"/tests/{found['test']['number']}?run=candidate").text
    assert "default_dtype: torch.float64 instead of torch.float32" in page
    assert said(client, "/runs/candidate/tests.json?order=1")["tests"] == []


def test_trends_tell_the_same_totals_as_each_release_s_run(client: httpx.Client) -> None:
    found = said(client, "/trends.json?target=sim")
    points = [each for releases in found["suites"].values() for each in releases]
    assert points
    for each in points:
        assert sum(each["outcomes"].values()) == each["planned"]
        runs = [said(client, f"/runs/{uid}.json") for uid in each["runs"]]
        assert each["passed"] <= max(run["run"]["passed"] for run in runs)
    assert client.get("/trends?target=nowhere").status_code == 404
    text = parse("http://h/trends", client.get("/trends?target=sim").text).text
    assert f"{points[0]['release']}" in text
