"""The regressions of a comparison as SARIF 2.1.0, for code scanning; never a whole run.

GitHub takes 25,000 results of a run and shows 5,000:
https://docs.github.com/en/code-security/code-scanning/troubleshooting-sarif-uploads/results-exceed-limit.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from conformance.exports.plain import one_line
from conformance.pairs import BLOCKING, PairClass
from conformance.store import Comparison, DiffRow

MOST: Final = 5_000
"""Results that are written; how many are left out is told."""
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def of_comparison(compared: Comparison, rows: Iterable[DiffRow]) -> dict[str, Any]:
    """A SARIF log with one result for each of `rows`, the tests of a class that blocks, up to MOST."""
    results = [_result(row) for row in islice(rows, MOST)]
    left = compared.blocking - len(results)
    told = (
        [{"level": "warning", "message": {"text": f"{left:,} further regressions are left out here"}}] if left else []
    )
    a, b = compared.a, compared.b
    return {
        "$schema": SCHEMA, "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "conformance", "rules": [_rule(each) for each in sorted(BLOCKING)]}},
            "automationDetails": {"id": f"conformance/{b.target}/{b.release}/"},
            "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": told}],
            "properties": {
                "baseline": a.uid, "candidate": b.uid, "release": b.release, "target": b.target,
                "simulated": b.simulated, "regressions": compared.blocking,
            },
            "results": results,
        }],
    }  # fmt: skip


def _rule(pair: PairClass) -> dict[str, Any]:
    return {"id": pair.word, "shortDescription": {"text": pair.word.replace("_", " ")}}


def _result(row: DiffRow) -> dict[str, Any]:
    before = "not planned" if row.a.outcome is None else row.a.outcome.word
    after = "not planned" if row.b.outcome is None else row.b.outcome.word
    said = one_line(
        ": ".join(part for part in (f"{row.key} was {before} and is {after}", row.b.message) if part), 1_000
    )
    return {
        "ruleId": row.pair.word, "level": "error", "message": {"text": said},
        "partialFingerprints": {"test/v1": row.key},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": _place(row)}},
            "logicalLocations": [{"fullyQualifiedName": row.key, "kind": "function"}],
        }],
    }  # fmt: skip


def _place(row: DiffRow) -> str:
    """PyTorch's file for one of its tests; else the suite and the file of the identity, which is no file on a disk."""
    folder = "test" if row.id.suite == "upstream" else row.id.suite
    path = "/".join(part for part in (folder, f"{row.id.file}.py" if folder == "test" else row.id.file) if part)
    return quote(path, errors="replace")
