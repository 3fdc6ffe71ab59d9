"""Wrong and hostile configurations: one sentence each, nothing executed, nothing lost, and the sweep goes on."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import settings as found_settings
from conformance import targets
from conformance.expectations import Chosen
from conformance.outcomes import Outcome
from conformance.plan import Selection
from conformance.progress import Silent
from conformance.record import read_results
from conformance.supervision.running import Request, Runner
from conformance.supervision.watch import Limits
from sweeps import catalogue
from sweeps.catalogue import Entry
from sweeps.planning import Gathered
from sweeps.running import quiet

HOSTILE: list[Any] = [
    None, True, -1, 0, 1, 2**31, 10**40, -(10**12), 1e308, float("nan"), float("inf"), "wide", "", [], [[]],
    [1, "x", None], {}, {"a": {"b": 1}}, [0] * 5000, "../../etc/passwd", "http://localhost:1/x", "os.system('true')",
]  # fmt: skip


@cache
def real() -> tuple[Entry, ...]:
    """Entries of the shipped catalogue with a complete configuration of their own."""
    return tuple(each for each in catalogue.read(catalogue.SHIPPED) if isinstance(each, Entry) and each.config)


def places(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every field of a configuration with the mapping that it stands in."""
    for name, value in tree.items():
        yield tree, name
        if isinstance(value, dict):
            yield from places(value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_value_in_any_field_of_a_real_configuration_ends_in_a_plan_or_in_one_sentence(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(real()))
    config = deepcopy(entry.config)
    assert config is not None
    for _ in range(data.draw(st.integers(1, 3))):
        node, name = data.draw(st.sampled_from([*places(config)]))
        if data.draw(st.booleans()):
            node[name] = data.draw(st.sampled_from(HOSTILE))
        else:
            del node[name]
    made = Gathered()
    with quiet():
        made.take(Entry(id="a", config=config))
    (line,) = made.attributed
    assert bool(line.signature) != bool(line.invalid)
    for each in made.invalid.values():
        assert each.decided is not None
        assert each.decided.reason
        assert "\n" not in each.decided.reason
        assert len(each.decided.reason) < 500


LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
ENDS: dict[str, tuple[Any, Outcome, str]] = {
    "missing": ({"architectures": ["LlamaForCausalLM"]}, Outcome.PASS, ""),
    "empty": ({}, Outcome.INVALID, "unknown-model-type"),
    "list": ([1, 2], Outcome.INVALID, "config-refused"),
    "huge": (LLAMA | {"hidden_size": 10**12}, Outcome.PASS, ""),
    "beyond": (LLAMA | {"hidden_size": 10**40}, Outcome.INVALID, "config-refused"),
    "layers": (LLAMA | {"num_hidden_layers": 10**9}, Outcome.INVALID, "config-refused"),
    "negative": (LLAMA | {"vocab_size": -5}, Outcome.INVALID, "cannot-build"),
    "words": (LLAMA | {"hidden_act": "nosuch"}, Outcome.INVALID, "cannot-build"),
    "wide": (LLAMA | {"intermediate_size": 10**12}, Outcome.INVALID, ""),
    "remote": ({"model_type": "mine", "auto_map": {"AutoModel": "mine--m.M"}}, Outcome.INVALID, "remote-code"),
    "code": (LLAMA | {"auto_map": {"AutoModelForCausalLM": "mine--m.M"}}, Outcome.PASS, ""),
    "good": (LLAMA | {"hidden_size": 256, "num_attention_heads": 4}, Outcome.PASS, ""),
}


@pytest.mark.slow
def test_a_run_over_hostile_configurations_ends_each_with_its_reason_and_runs_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, (config, _, _) in ENDS.items():
        (folder / f"x--{name}.json").write_text(json.dumps(config))
    (folder / "x--long.json").write_text('{"model_type": "llama", "names": "' + "x" * (10 << 20) + '"}')
    (folder / "x--deep.json").write_text('{"a":' * 50_000 + "1" + "}" * 50_000)
    (folder / "x--nan.json").write_text('{"model_type": "llama", "rms_norm_eps": NaN}')
    (folder / "x--torn.json").write_text('{"model_type": "lla')
    target = targets.get("cpu")
    request = Request(
        target=target, release="installed", selection=Selection(suites=("models",), catalogue=str(folder)),
        workers=1, limits=Limits(), told=Chosen(),
    )  # fmt: skip
    known = found_settings.Settings(home=tmp_path, cache=found_settings.load().cache, database_url="")
    ended = Runner(settings=known, progress=Silent(), say=lambda _line: None, stopped=lambda: False).start(request)
    assert ended.error is None
    results = {each.test.key: each for each in read_results(ended.folder)}
    lines = (ended.folder.path / "models" / "attribution.jsonl").read_text().splitlines()
    shown = {line["id"]: line for line in map(json.loads, lines)}
    assert len(shown) == len(ENDS) + 4
    by_signature = {each.test.id.name.partition("_")[0]: each for each in results.values()}
    ends = {
        name: results[line["invalid"]] if "invalid" in line else by_signature[line["signature"]]
        for name, line in shown.items()
    }
    # Which bound is met first, that on elements or that on memory, is the machine's.
    assert ends["x/wide"].shown.rule in ("too-large", "memory-limit")
    got = {name: (ends[f"x/{name}"].outcome, ends[f"x/{name}"].shown.rule) for name in ENDS}
    assert {name: outcome for name, (outcome, _) in got.items()} == {name: end[1] for name, end in ENDS.items()}
    assert {name: rule for name, (_, rule) in got.items() if ENDS[name][2]} == {
        name: rule for name, (_, _, rule) in ENDS.items() if rule
    }
    assert [ends[f"x/{name}"].shown.rule for name in ("long", "deep", "torn")] == ["config-refused"] * 3
    assert ends["x/nan"].shown.rule == "reference-not-finite"
    assert all("\n" not in each.shown.message for each in ends.values() if each.outcome is Outcome.INVALID)
