"""Which entry put a skip or an expected failure on a test: an OpInfo, ModuleInfo or OptimizerInfo, or the test file.

An entry tells its tests apart by DecorateInfo objects, which do not know where they are written; their place is looked
up in the sources of torch.testing._internal, and is that of the entry where the decorator's own is not found.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

INFOS: Final = ("op", "module_info", "optim_info")
"""Under which names PyTorch's instantiation passes a test its entry."""

SKIP: Final = "skip"
EXPECTED_FAILURE: Final = "expectedFailure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A decorator of an entry: what it is, for people, and `file:line` of it, "" when it is not found."""

    text: str
    where: str


def parameters(function: Any) -> Mapping[str, Any]:
    """What PyTorch's instantiation gave the test: op, dtype, device and the rest; empty for other tests."""
    for default in reversed(getattr(function, "__defaults__", None) or ()):
        if isinstance(default, dict):
            return default
    return {}


def entry_of(cls: Any, function: Any, kind: str, reason: str = "") -> Entry | None:
    """The decorator of the test's own entry that skips it or foresees its failure; None when none does.

    `kind` is SKIP or EXPECTED_FAILURE, `reason` the skip's text.
    """
    given = parameters(function)
    for name in INFOS:
        info = given.get(name)
        if info is not None and (found := _active(info, cls, function, kind, reason)) is not None:
            return Entry(text=_text(info, found, kind), where=_place(info, found))
    return None


def guard_of(function: Any, guard: str) -> Entry | None:
    """The test's own entry, as what put a guard of the harness on the test; None for a test without one."""
    given = parameters(function)
    info = next((given[name] for name in INFOS if given.get(name) is not None), None)
    if info is None:
        return None
    return Entry(text=f"{_kind(info)} {_name(info)}: {guard.partition('.')[0]}", where=_place(info, None))


def _active(info: Any, cls: Any, function: Any, kind: str, reason: str) -> Any:
    """The first DecorateInfo, or bare decorator, of an entry that is for this test and does what is asked."""
    given, device = parameters(function), getattr(cls, "device_type", "")
    generic = cls.__name__.removesuffix(str(device).upper())
    for each in getattr(info, "decorators", None) or ():
        try:
            active = each.is_active(generic, function.__name__, device, given.get("dtype"), dict(given))
            decorators = each.decorators
        except (AttributeError, TypeError):
            active, decorators = True, [each]
        if active and any(_does(one, kind, reason) for one in decorators):
            return each
    return None


def _does(decorator: Any, kind: str, reason: str) -> bool:
    """Whether a decorator is unittest's: skip is a closure over its reason."""
    if getattr(decorator, "__module__", "") != "unittest.case":
        return False
    if kind == EXPECTED_FAILURE:
        return getattr(decorator, "__name__", "") == EXPECTED_FAILURE
    if getattr(decorator, "__name__", "") != "decorator":
        return False
    said = dict(zip(decorator.__code__.co_freevars, decorator.__closure__ or (), strict=False)).get("reason")
    return said is not None and str(said.cell_contents) == reason


def _text(info: Any, found: Any, kind: str) -> str:
    parts = [f"{name}={value}" for name, value in _conditions(found)]
    return f"{_kind(info)} {_name(info)}: {kind}" + (f" for {', '.join(parts)}" if parts else "")


def _conditions(found: Any) -> Iterator[tuple[str, str]]:
    for name, attribute in (("class", "cls_name"), ("test", "test_name"), ("device", "device_type")):
        if value := getattr(found, attribute, None):
            yield name, str(value)
    if dtypes := getattr(found, "dtypes", None):
        yield "dtypes", " ".join(sorted(str(each).removeprefix("torch.") for each in dtypes))


def _kind(info: Any) -> str:
    for kind in ("ModuleInfo", "OptimizerInfo"):
        if any(each.__name__ == kind for each in type(info).__mro__):
            return kind
    return "OpInfo"


def _name(info: Any) -> str:
    variant = getattr(info, "variant_test_name", "")
    return f"{info.name}.{variant}" if variant else str(info.name)


def _place(info: Any, found: Any) -> str:
    """`file:line` of the decorator inside its entry, or of the entry."""
    names = [str(getattr(info, each, "") or "") for each in ("name", "torch_opinfo_name")]
    spans = [span for name in names if name for span in _spans().get(name, ())]
    variant = getattr(info, "variant_test_name", "") or ""
    # Entries made in a loop name no variant.
    spans.sort(key=lambda each: each.variant != variant)
    lines = [(span, span.line_of(found)) for span in spans]
    best = next((each for each in lines if each[1] is not None), None) or next(iter(lines), None)
    return "" if best is None else f"{best[0].file}:{best[1] or best[0].line}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Span:
    """The text of one entry: the file below the installed package, its first line and the variant that it names."""

    file: str
    line: int
    text: str
    variant: str

    def line_of(self, found: Any) -> int | None:
        """The line of the decorator that names the same class and test; None where none does."""
        names = [getattr(found, "cls_name", None), getattr(found, "test_name", None)]
        wanted = [(f"'{each}'", f'"{each}"') for each in names if each]
        for line, text in _decorators(self.text) if wanted else ():
            if all(single in text or double in text for single, double in wanted):
                return self.line + line
        return None


@cache
def _decorators(text: str) -> tuple[tuple[int, str], ...]:
    """Each DecorateInfo of an entry's text: its line, from 0, and what follows up to the next one."""
    before, *parts = text.split(_DECORATOR)
    found, line = [], before.count("\n")
    for part in parts:
        found.append((line, part[:_LONGEST_DECORATOR]))
        line += part.count("\n")
    return tuple(found)


_BEGIN: Final = re.compile(
    r"^ *\w*Info\(\s*(?:name=)?(?:['\"](?P<name>[\w.]+)['\"]|torch\.(?P<path>nn\.[\w.]+)|(?P<optimizer>[A-Z]\w+),$)",
    re.MULTILINE,
)
_VARIANT: Final = re.compile(r"variant_test_name=['\"]([\w-]+)['\"]")
_DECORATOR: Final = "DecorateInfo("
_LONGEST_DECORATOR: Final = 600


@cache
def _spans() -> Mapping[str, tuple[_Span, ...]]:
    """Every entry that is written out in torch.testing._internal, by the name that it has."""
    from torch.testing import _internal

    folder = Path(next(iter(_internal.__path__)))
    found: dict[str, list[_Span]] = {}
    for path in (*sorted(folder.glob("common_*.py")), *sorted(folder.glob("opinfo/definitions/*.py"))):
        for name, span in _in_file(path, folder.parents[2]):
            found.setdefault(name, []).append(span)
    return {name: tuple(spans) for name, spans in found.items()}


def _in_file(path: Path, above: Path) -> Iterator[tuple[str, _Span]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    begins = list(_BEGIN.finditer(text))
    ends = [*(each.start() for each in begins[1:]), len(text)][: len(begins)]
    line, counted = 1, 0
    for begin, end in zip(begins, ends, strict=True):
        line, counted = line + text.count("\n", counted, begin.start()), begin.start()
        inside = text[begin.start() : end]
        variant = _VARIANT.search(inside)
        name = begin["name"] or begin["path"] or begin["optimizer"]
        file = path.relative_to(above).as_posix()
        yield name, _Span(file=file, line=line, text=inside, variant=variant[1] if variant else "")


def place_of(function: Any) -> str:
    """`file:line` of a test function, its decorators included; "" for one without code."""
    inner = inspect.unwrap(function) if function is not None else None
    code = getattr(inner, "__code__", None)
    return "" if code is None else placed(code.co_filename, code.co_firstlineno)


def placed(file: str, line: int) -> str:
    """`file:line` without what names this machine: below the installed packages, or from the test tree's folder on."""
    path = file.replace("\\", "/")
    found = _INSTALLED.search(path) or _TREE.search(path)
    return f"{found[1] if found else path.rpartition('/')[2]}:{line}"


_INSTALLED: Final = re.compile(r".*/(?:(?:site|dist)-packages/|(?=torch/testing/_internal/))(.+)")
_TREE: Final = re.compile(r".*/(tests?/.+)")
