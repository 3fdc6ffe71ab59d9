"""What a release must meet: rules, with sections for targets and suites, strictly read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from conformance import suites, targets
from conformance.gate import documents
from conformance.gate.documents import Check, Document
from conformance.pairs import PairClass

FLAKY: Final = ("block", "report")
SHIPPED: Final = "the shipped policy"

_CLASSES: Final = {each.word: each for each in PairClass if each is not PairClass.SAME}
_SHARE: Final = (documents.share, "write a share from 0 to 1")
_COUNT: Final = (documents.count, "write a whole number of tests from 0")

RULES: Final[Mapping[str, Check]] = {
    "block": (
        lambda value: isinstance(value, list) and all(isinstance(each, str) and each in _CLASSES for each in value),
        f"write a list of classes from {', '.join(_CLASSES)}",
    ),
    "flaky": (lambda value: value in FLAKY, f"write one of {', '.join(FLAKY)}"),
    "max_rerun": _COUNT,
    "max_lost_coverage": _COUNT,
    "min_new_pass": _SHARE,
    "min_comparable": _SHARE,
    "max_silenced": _SHARE,
    "max_infra": _SHARE,
    "max_unclassified": _COUNT,
}
"""Every rule of a policy; default.toml says what each means."""

_FILES: Final[Mapping[str, Check]] = {"waivers": (documents.texts, "write a list of files, from the policy's folder")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The rules that hold for one suite; shares from 0 to 1, counts in tests."""

    block: frozenset[PairClass]
    flaky: str
    max_rerun: int
    max_lost_coverage: int
    min_new_pass: float
    min_comparable: float
    max_silenced: float
    max_infra: float
    max_unclassified: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A policy as read. `name` is its file; `waivers` are files of waivers that it names."""

    name: str
    waivers: tuple[Path, ...]
    table: Mapping[str, Any]

    def rules(self, target: str, suite: str) -> Rules:
        """What holds for a suite on a target: the more special section last."""
        for_target = self.table.get("target", {}).get(target, {})
        for_suite = self.table.get("suite", {}).get(suite, {})
        both = for_target.get("suite", {}).get(suite, {})
        found = {key: value for each in (_default(), self.table, for_target, for_suite, both)
                 for key, value in each.items() if key in RULES}  # fmt: skip
        return Rules(**{**found, "block": frozenset(_CLASSES[each] for each in found["block"])})


def _default() -> Mapping[str, Any]:
    return documents.parse(SHIPPED, _shipped_text()).table


def _shipped_text() -> str:
    return resources.files("conformance.gate").joinpath("default.toml").read_text(encoding="utf-8")


def shipped() -> Policy:
    """The policy where none is given."""
    return _checked(documents.parse(SHIPPED, _shipped_text()), Path())


def load(path: Path) -> Policy:
    """A policy's file; rules that it leaves out are the shipped ones. Raises UsageError with the line of a mistake."""
    return _checked(documents.read(path), path.parent)


def parse(name: str, text: str) -> Policy:
    """The same from a text; files that it names are looked for in the working directory."""
    return _checked(documents.parse(name, text), Path())


def _checked(document: Document, folder: Path) -> Policy:
    table = document.table
    top = {key: value for key, value in table.items() if key not in ("target", "suite")}
    documents.require(document, (), top, {**RULES, **_FILES, "target": _COUNT, "suite": _COUNT})
    _check_suites(document, (), table.get("suite", {}))
    for name, section in _named(document, ("target",), table.get("target", {}), targets.names()):
        path = ("target", name)
        inner = section if isinstance(section, Mapping) else {}
        own = {key: value for key, value in inner.items() if key != "suite"} if inner else section
        documents.require(document, path, own, {**RULES, "suite": _COUNT})
        _check_suites(document, path, inner.get("suite", {}))
    return Policy(name=document.name, waivers=tuple(folder / each for each in table.get("waivers", ())), table=table)


def _check_suites(document: Document, path: Sequence[str], sections: Any) -> None:
    for name, section in _named(document, (*path, "suite"), sections, suites.names()):
        documents.require(document, (*path, "suite", name), section, RULES)


def _named(document: Document, path: Sequence[str], sections: Any, known: Sequence[str]) -> list[tuple[str, Any]]:
    if not isinstance(sections, Mapping):
        raise document.wrong(path, f"{path[-1]!r} must be a table of tables, as [{'.'.join(path)}.{known[0]}]")
    for name in sections:
        if name not in known:
            raise document.wrong((*path, name), f"unknown {path[-1]} {name!r}: choose from {', '.join(known)}")
    return list(sections.items())
