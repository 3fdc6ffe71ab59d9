"""Which stored runs stand for a release: the sealed ones over a whole profile that ran under the same conditions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from conformance.errors import UsageError
from conformance.store.runs import RunRow, find_run, list_runs
from conformance.store.store import Store

_PACKAGES: Final = ("torch", "transformers", "torch-neuronx", "neuronx-cc", "libneuronxla")
"""Packages whose version decides what a test comes to."""

_MOST: Final = 1_000
"""Runs of one release that are looked at, the newest."""

_FAULTS: Final = "variable.CONFORMANCE_SIM_FAULTS"

Conditions: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One run of a release; `suites` are those that it stands for, empty for all that it planned."""

    run: RunRow
    suites: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a name stands for: runs, newest first, that are combined by the worst.

    `remarks` say which runs these are and which were left out; `lacking` which suites have no run that is sealed.
    """

    name: str
    parts: tuple[Part, ...]
    remarks: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def newest(self) -> RunRow:
        """The newest of the runs."""
        return self.parts[0].run

    @property
    def runs(self) -> tuple[RunRow, ...]:
        """The runs, newest first."""
        return tuple(each.run for each in self.parts)

    @property
    def sealed(self) -> bool:
        """Whether every run has all its outcomes."""
        return all(each.sealed for each in self.runs)

    @property
    def key(self) -> tuple[object, ...]:
        """What a cache needs to tell this from another."""
        return tuple((each.run.number, each.run.digest, each.suites) for each in self.parts)


def conditions(run: RunRow) -> Conditions:
    """What must be equal for two runs of a release to be attempts at the same thing."""
    versions = {name: run.environment.get(f"package.{name}", "") for name in _PACKAGES}
    device = {name: value for name, value in run.fingerprint.items() if name.startswith("device.")}
    told = {
        "expectation files": run.fingerprint.get("expectation files", ""),
        "injected faults": run.environment.get(_FAULTS, ""),
    }
    return tuple(sorted({"target": run.target, **versions, **device, **told}.items()))


def of_run(run: RunRow) -> Standing:
    """A run by itself."""
    return Standing(name=run.uid, parts=(Part(run=run),))


def standing(store: Store, name: str) -> Standing:
    """What a run's id, a release or `release@target` stands for.

    A release stands for all its sealed runs over a whole profile that ran under the conditions of the newest one, suite
    by suite; one without any for its latest run. Raises UsageError for a name that is none of these, and for a release
    of several targets.
    """
    if (run := find_run(store, name)) is not None:
        return of_run(run)
    found = _runs(store, name)
    targets = sorted({each.target for each in found})
    if len(targets) > 1:
        choices = " or ".join(f"{name}@{each}" for each in targets)
        raise UsageError(f"release {name!r} was run on {', '.join(targets)}: say which, as {choices}")
    return _of_release(name, found)


def earlier_releases(store: Store, candidate: Standing, most: int) -> list[Standing]:
    """Up to so many releases of the candidate's target before it, newest first, each with a sealed run over a profile.

    A release is as old as its first such run: running it again later makes it no newer.
    """
    run = candidate.newest
    rows = store.rows(
        "SELECT release FROM run WHERE target = :target AND simulated = :simulated AND sealed AND whole "
        "AND release <> :release GROUP BY release HAVING min(started) < :started "
        "ORDER BY min(started) DESC LIMIT :most",
        target=run.target, simulated=run.simulated, release=run.release, started=candidate.runs[-1].started, most=most,
    )  # fmt: skip
    return [of_release(store, row["release"], run.target) for row in rows]


def of_release(store: Store, release: str, target: str) -> Standing:
    """What a release that was run on a target stands for."""
    return _of_release(release, list_runs(store, release=release, target=target, limit=_MOST))


def _runs(store: Store, name: str) -> Sequence[RunRow]:
    found = list_runs(store, release=name, limit=_MOST)
    release, _, target = name.rpartition("@")
    if not found and release and target:
        found = list_runs(store, release=release, target=target, limit=_MOST)
    if not found:
        raise UsageError(f"{name!r} is neither a stored run nor a release with one: 'conformance runs' lists them")
    return found


def _of_release(name: str, found: Sequence[RunRow]) -> Standing:
    whole = [each for each in found if each.sealed and each.whole]
    if not whole:
        return _without_whole(name, found[0])
    first = _newest_by_suite(whole)
    parts = [made for each in whole if (made := _part(each, first)) is not None]
    used = {each.run.number for each in parts}
    others = [each for each in whole if each.number not in used]
    open_runs = [each for each in found if each.whole and not each.sealed]
    lacking = {suite for each in open_runs for suite in each.selection.suites} - set(first)
    return Standing(
        name=name, parts=tuple(parts), remarks=tuple(_remarks(name, parts, others, open_runs)),
        lacking=tuple(sorted(lacking)),
    )  # fmt: skip


def _newest_by_suite(whole: Iterable[RunRow]) -> Mapping[str, Conditions]:
    """The conditions that stand for each suite: those of its newest run."""
    first = dict[str, Conditions]()
    for run in whole:
        for suite in run.selection.suites:
            first.setdefault(suite, conditions(run))
    return first


def _part(run: RunRow, first: Mapping[str, Conditions]) -> Part | None:
    own = conditions(run)
    suites = frozenset(each for each in run.selection.suites if first[each] == own)
    if not suites:
        return None
    return Part(run=run, suites=frozenset() if suites == set(run.selection.suites) else suites)


def _without_whole(name: str, run: RunRow) -> Standing:
    kind = "a selection" if run.sealed else "not sealed"
    said = f"{name} is its latest run ({kind}, none is sealed over a whole profile), {_told(run)}"
    return Standing(name=name, parts=(Part(run=run),), remarks=(said,))


def _told(run: RunRow) -> str:
    return f"{run.uid} of {run.started:%Y-%m-%d %H:%M} UTC"


def _remarks(name: str, parts: Sequence[Part], others: Sequence[RunRow], unsealed: Sequence[RunRow]) -> list[str]:
    runs = [each.run for each in parts]
    if len(runs) == 1:
        said = [f"{name} is its latest sealed run over the whole profile {runs[0].profile!r}, {_told(runs[0])}"]
    else:
        named = ", ".join(_told(each) for each in runs)
        said = [f"{name} is {len(runs)} sealed runs, the worst outcome of each test stands: {named}"]
    if others:
        first, newest = dict(conditions(others[0])), dict(conditions(runs[0]))
        unlike = next((each for each in newest if first.get(each) != newest[each]), "conditions")
        named = ", ".join(each.uid for each in others)
        said.append(f"{name}: left out for other conditions ({unlike} and perhaps more): {named}")
    newer = [each.uid for each in unsealed if each.started > runs[0].started]
    return [*said, f"{name}: not sealed and left out: {', '.join(newer)}"] if newer else said
