"""Suite `upstream`: PyTorch's own test files, or files written like them, run by pytest in a child process."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import plan, settings
from conformance.errors import UsageError
from conformance.plan import PlannedTest, Selection
from conformance.suites import Bench, Suite, collected, plan_cache
from conformance.upstream import choice


class Upstream:
    """Test files given with --tests. Every file is collected by pytest on the target, so that its plan is pytest's."""

    name: str = "upstream"
    preload: tuple[str, ...] = (
        "torch", "pytest", "xdist.plugin", "conformance.pytest_hooks.running", "conformance.pytest_hooks.harness",
    )  # fmt: skip

    def warm(self, tests: Sequence[PlannedTest]) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing further."""
        return ()

    def collect(self, selection: Selection, target: str, release: str) -> Iterable[PlannedTest]:
        """The tests of the selected files. Raises UsageError without files, or for one that is not there or empty."""
        asked = selection.tests or tuple(dict.fromkeys(each.partition("::")[0] for each in selection.files))
        if not asked:
            raise UsageError("suite 'upstream' needs test files: give --tests FILE, once or several times")
        paths = [choice.located(each) for each in asked]
        missing = [each for each in paths if not Path(each.partition("::")[0]).exists()]
        if missing:
            raise UsageError(f"there is no test file {missing[0]!r}: give --tests the path of a file or folder")
        cache = plan_cache.of(settings.load().cache, target, release)
        # A class may be named as in identities, which pytest does not know: a file is collected whole, then looked at.
        found = collected.collect([each.partition("::")[0] for each in paths], target, release, cache)
        found = _of_parts(found, paths)
        if not selection.tests:
            found = [each for each in found if any(plan.names_test(entry, each.id) for entry in selection.files)]
        if selection.ops:
            found = [each for each in found if _op_chosen(each, selection.ops)]
        if selection.keys:
            found = [each for each in found if each.key in set(selection.keys)]
        if not found:
            raise UsageError(f"no test for target {target!r} in {', '.join(asked)}: is it an upstream-style file?")
        return found

    def run(self, tests: Sequence[PlannedTest], bench: Bench) -> None:
        """Run the tests in this process, in order; what they print goes where this process' output goes."""
        from conformance.pytest_hooks import collecting, running

        running.run(tests, bench, collecting.options(Path(each) for each in {test.where for test in tests}))


def suite() -> Suite:
    """The suite."""
    return Upstream()


def _of_parts(found: Sequence[PlannedTest], paths: Sequence[str]) -> list[PlannedTest]:
    """The tests of the files, folders and parts of files that were asked for. Raises UsageError for an unknown part."""
    parts = [each for each in paths if "::" in each]
    whole = [each for each in paths if "::" not in each]
    for each in parts:
        if not any(plan.fits(each, test.id) for test in found):
            file, _, part = each.partition("::")
            classes = sorted({test.id.cls for test in found if test.id.cls and plan.fits(file, test.id)})
            raise UsageError(
                f"no test of {file} is {part!r} for this target: its classes are {', '.join(classes[:20]) or 'none'}"
            )
    return [test for test in found if any(plan.fits(each, test.id) for each in (*whole, *parts))]


def _op_chosen(test: PlannedTest, ops: tuple[str, ...]) -> bool:
    full = f"{test.id.op}.{test.id.variant}" if test.id.variant else test.id.op
    return test.id.op in ops or full in ops
