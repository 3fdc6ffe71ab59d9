"""Resolved lists as entries: one for each reason that the list gives."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import PurePath
from typing import Final

from conformance.expectations.entries import Entry
from conformance.expectations.imports.resolve import Resolved, by_reason

_ISSUE: Final = re.compile(r"/issues/(\d+)")
_NOT_WORDS: Final = re.compile("[^a-z0-9]+")


def entries(resolved: Resolved, source: PurePath, owner: str, day: date) -> Iterator[Entry]:
    """One skip a reason. Where the list gives none it stays empty, and the entry is refused until it has one."""
    stem = _NOT_WORDS.sub("-", source.stem.lower()).strip("-") or "list"
    seen = set[str]()
    for number, ((reason, link), keys) in enumerate(by_reason(resolved).items(), 1):
        issue = _ISSUE.search(link)
        name = f"imported-issue-{issue[1]}" if issue else f"imported-{stem}-{number}"
        name = name if name not in seen else f"{name}-{number}"
        seen.add(name)
        yield Entry(id=name, reason=reason, link=link, owner=owner, added=day, tests=keys)
