"""One piece of a process' state that a test can leave changed: how it is read, told and put back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

_SIMPLE: Final = (bool, int, float, str, type(None))
_LONGEST: Final = 120


def shown(value: Any) -> str:
    """A value of which no code is run to show it: simple ones and torch's own, else the name of its type."""
    kind = type(value)
    if kind in _SIMPLE or kind.__module__ == "torch":
        return repr(value)[:_LONGEST]
    return f"a {kind.__name__}"


def instead(before: Any, after: Any) -> str:
    """`torch.float64 instead of torch.float32`; of tuples the members that differ."""
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        pairs = [pair for pair in zip(before, after, strict=True) if not same(*pair)]
        return ", ".join(instead(*pair) for pair in pairs)
    return f"{shown(after)} instead of {shown(before)}"


def same(before: Any, after: Any) -> bool:
    """Whether two values are one or equal; objects of the tests may refuse to be compared."""
    try:
        return before is after or bool(before == after)
    except Exception:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """State with a name. `read` must be cheap: it is called twice a test. `tell` gives "" where nothing is to be told.

    `put_back` is given what was read before; it may find that this cannot be done.
    """

    name: str
    read: Callable[[], Any]
    put_back: Callable[[Any], object]
    tell: Callable[[Any, Any], str] = instead


@dataclass(frozen=True, slots=True)
class Facets:
    """Some state, in the order in which it is put back."""

    facets: Sequence[Facet]

    def read(self) -> list[Any]:
        """The state as it is."""
        return [each.read() for each in self.facets]

    def restore(self, before: Sequence[Any]) -> list[str]:
        """Put back what has changed since; one `name: what was found` a piece."""
        if same(self.read(), before):
            return []
        found = (_restored(facet, value) for facet, value in zip(self.facets, before, strict=True))
        return [each for each in found if each]


def _restored(facet: Facet, before: Any) -> str:
    # Read again: putting back one piece may have put back another, as a default device its mode.
    after = facet.read()
    if same(before, after):
        return ""
    told = facet.tell(before, after)
    if not told:
        return ""
    try:
        facet.put_back(before)
        kept = not same(before, facet.read())
    except Exception:
        kept = True
    return f"{facet.name}: {told}" + (" (cannot be reset)" if kept else "")
