"""Edits of a TOML file as text. Each is read back: the file must then say what was meant, else it is refused."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.expectations import blocks
from conformance.expectations.standing import Edit


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """A file before and after; `undone` are the edits that its text did not allow, to be made by hand."""

    path: Path
    before: str
    after: str
    undone: tuple[Edit, ...] = ()

    def diff(self) -> str:
        """The change as a unified diff; "" for none."""
        name = str(self.path)
        lines = difflib.unified_diff(blocks.lines_of(self.before), blocks.lines_of(self.after), name, name)
        return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)


def apply(path: Path, text: str, edits: Iterable[Edit], added: Sequence[str] = ()) -> Edited:
    """The file's text with these edits made, the last entry first so that the others keep their places."""
    after, undone = text, []
    for each in sorted(edits, key=lambda edit: -edit.standing.written.place):
        made = _made(after, each)
        if made is None:
            undone.append(each)
        else:
            after = made
    if added:
        after = "\n".join([after.rstrip("\n") + "\n" if after.strip() else "", *added]).lstrip("\n")
    return Edited(path=path, before=text, after=after, undone=tuple(undone))


def _made(text: str, edit: Edit) -> str | None:
    """The text after one edit; None where it would not say exactly what is meant."""
    written = edit.standing.written
    if edit.removes:
        made = blocks.without_block(text, written.section, written.place)
    else:
        made = text
        for each in edit.narrowings:
            if made is not None:
                gone = frozenset(each.values)
                made = blocks.without_values(made, written.section, written.place, each.list, gone)
    return made if made is not None and _read(made) == _meant(text, edit) else None


def _meant(text: str, edit: Edit) -> dict[str, Any] | None:
    found, written = _read(text), edit.standing.written
    if found is None:
        return None
    entries: list[dict[str, Any]] = found[written.section]
    if edit.removes:
        del entries[written.place]
    for each in edit.narrowings:
        entry = entries[written.place]
        entry[each.list] = [value for value in entry[each.list] if value not in each.values]
    return {name: each for name, each in found.items() if each}


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def by_path(edits: Iterable[Edit]) -> Mapping[Path, list[Edit]]:
    """Edits by the file in which they are to be made."""
    made: dict[Path, list[Edit]] = {}
    for each in edits:
        made.setdefault(each.standing.written.path, []).append(each)
    return made
