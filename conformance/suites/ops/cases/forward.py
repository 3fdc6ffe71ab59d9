"""Forward: every sample input, the device's result beside the CPU's."""

from conformance.suites.ops.trial import Trial


def run(trial: Trial) -> None:
    """Raise unless every sample input gives the CPU's result."""
    for call in trial.samples():
        moved = trial.move(call)
        trial.same(call, lambda: call.on(trial.op), lambda: moved.on(trial.op))  # noqa: B023  # called at once
