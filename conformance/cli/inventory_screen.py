"""What `conformance inventory` prints: a summary with its denominators, then the overloads that were asked for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.cli import screen
from conformance.inventory import Inventory, Registration, Status, Tells, documents


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """An inventory and what it is of."""

    of: dict[str, object]
    found: Inventory

    @property
    def title(self) -> str:
        """One line about where it comes from."""
        run = f"run {screen.safe(str(self.of['run']))}: " if "run" in self.of else "as registered: "
        label = " — simulated, not real hardware" if self.of["simulated"] else ""
        return f"{run}{screen.safe(str(self.of['release']))} on {screen.safe(str(self.of['target']))}{label}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which overloads are listed, and how."""

    statuses: tuple[Status, ...]
    registrations: tuple[Registration, ...]
    op: str
    limit: int
    form: str

    def of(self, found: Inventory) -> list[str]:
        """The overloads of an inventory that are wanted."""
        return list(documents.chosen(found, self.statuses, self.registrations, self.op))


def show(named: Named, wanted: Wanted) -> None:
    """Print one inventory."""
    names = wanted.of(named.found)
    if wanted.form == "ndjson":
        screen.say_lines(named.of | documents.overload_of(named.found, each) for each in names)
    elif wanted.form == "json":
        listed = [documents.overload_of(named.found, each) for each in names]
        screen.say_json(named.of | documents.summary_of(named.found) | {"listed": listed})
    else:
        _summary(named)
        screen.say()
        _list(named.found, names[: wanted.limit])
        screen.remark(f"{min(len(names), wanted.limit):,} of {len(names):,} overloads listed")


def _summary(named: Named) -> None:
    found, said, taken = named.found, named.found.overloads, named.found.reaching
    screen.say(named.title)
    rest = ", ".join(f"{space} {number}" for space, number in Counter(said.left_out).most_common(3))
    screen.say(
        f"{said.number:,} aten overloads of torch {screen.safe(said.torch)}; left out are "
        f"{sum(said.left_out.values()):,} of other namespaces ({screen.safe(rest)}, …)"
    )
    if taken is not None:
        screen.say(
            f"tests that ran and tell which ops they took: {screen.percent(taken.told, taken.told + taken.untold)}"
        )
        _say_limits(found)
    totals = found.totals()
    columns = [each for each in Status if taken is not None and any(row[each] for row in totals.values())]
    rows: list[Sequence[object]] = [
        (word.value, *(row[each] for each in columns), row.total()) for word, row in totals.items() if row
    ]
    whole = sum(totals.values(), Counter())
    screen.say()
    screen.say_table(
        ("registration", *(each.value for each in columns), "total"),
        [*rows, ("total", *(whole[each] for each in columns), whole.total())],
    )
    for each in columns:
        screen.say(f"{each.value}: {screen.percent(whole[each], said.number)}")


def _say_limits(found: Inventory) -> None:
    assert found.reaching is not None
    if found.reaching.waiting:
        screen.say(f"the run is incomplete: {found.reaching.waiting:,} tests have not run")
    if found.overloads.tells is not Tells.OVERLOADS:
        screen.say("the target's trackers do not tell overloads apart: an op with several is reached_overload_unknown")
    if found.reaching.foreign:
        some = ", ".join(screen.safe(each, 60) for each in sorted(found.reaching.foreign)[:5])
        screen.say(f"{len(found.reaching.foreign):,} names of the trackers are no aten overload: {some}")


def _list(found: Inventory, names: Iterable[str]) -> None:
    if found.reaching is None:
        screen.say_table(("registration", "overload"), [(found.registrations[each].value, each) for each in names])
        return
    rows = []
    for name in names:
        said = documents.overload_of(found, name)
        rows.append(
            (said["status"], name, said["registration"], said["tests"], said["by_fallback"], _counts(said["outcomes"]),
             _counts(said["named_by"]))
        )  # fmt: skip
    screen.say_table(
        ("status", "overload", "registration", "tests", "by fallback", "outcomes", "tests named after the op"), rows
    )


def _counts(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in outcomes.items())


def compare(a: Named, b: Named, wanted: Wanted) -> None:
    """Print what became of each overload between two runs, of those that are wanted in either."""
    kept = set(wanted.of(a.found)) | set(wanted.of(b.found))
    moves = {name: pair for name, pair in documents.moved(a.found, b.found).items() if name in kept}
    rows = [{"overload": name, "from": before, "to": after} for name, (before, after) in moves.items()]
    counts = Counter(moves.values())
    if wanted.form == "ndjson":
        screen.say_lines(rows)
    elif wanted.form == "json":
        moved = [{"from": before, "to": after, "overloads": count} for (before, after), count in counts.most_common()]
        screen.say_json({"a": a.of, "b": b.of, "moves": moved, "listed": rows})
    else:
        screen.say(f"A: {a.title}")
        screen.say(f"B: {b.title}")
        screen.say(f"{len(moves):,} overloads have another status in B")
        screen.say_table(("from", "to", "overloads"), [(*pair, count) for pair, count in counts.most_common()])
        screen.say()
        shown = list(moves.items())[: wanted.limit]
        screen.say_table(("from", "to", "overload"), [(*pair, name) for name, pair in shown])
        screen.remark(f"{len(shown):,} of {len(moves):,} overloads listed")
