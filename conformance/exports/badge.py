"""A run as the JSON that shields.io's endpoint badge reads: https://shields.io/badges/endpoint-badge."""

from typing import Final

from conformance.store import RunRow

_COLOURS: Final = ((0.95, "brightgreen"), (0.8, "green"), (0.6, "yellow"), (0.0, "orange"))


def of_run(run: RunRow) -> dict[str, object]:
    """Label, message with its denominator, colour; grey for a run that is not sealed, or of which nothing applies."""
    label = f"{run.target} {run.release}" + (" (simulated)" if run.simulated else "")
    if not run.sealed or not run.eligible:
        why = "incomplete" if not run.sealed else "nothing applies"
        return {"schemaVersion": 1, "label": label, "message": why, "color": "lightgrey", "isError": True}
    share = run.passed / run.eligible
    colour = next(name for least, name in _COLOURS if share >= least)
    # Rounded down: 99.96 % is not all of them.
    shown = int(1_000 * share) / 10
    return {
        "schemaVersion": 1, "label": label, "message": f"{shown:.1f}% of {run.eligible:,} eligible pass",
        "color": colour,
    }  # fmt: skip
