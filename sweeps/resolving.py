"""From a catalogue's entry to the class and the complete configuration that it means, or the reason why to none."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from sweeps import architectures, configs
from sweeps.architectures import Architecture
from sweeps.catalogue import Entry
from sweeps.foreign import CODE, RefusedConfigError
from sweeps.reduce import ALIGNED, TINY, Level

_LEVELS: Final = {"": TINY, ALIGNED.name: ALIGNED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A class and its complete configuration; `origin` tells how it was come by, `level` the first of its ladder."""

    architecture: Architecture
    full: dict[str, Any]
    origin: str
    left_out: tuple[str, ...] = ()
    level: Level = TINY


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why an entry cannot be planned: the rule, one sentence, and what is known of type and class."""

    rule: str
    reason: str
    model_type: str = ""
    architecture: str = ""


def resolve(entry: Entry) -> Resolved | Refusal:
    """The class and configuration of an entry. Never raises for what stands in it."""
    config = entry.config
    if entry.reduction not in _LEVELS:
        reason = f"its reduction {entry.reduction[:40]!r} is none: leave it out, or ask for {ALIGNED.name!r}"
        return Refusal(rule="config-refused", reason=reason, model_type=entry.model_type)
    named = _named(entry)
    model_type = entry.model_type or _text(config, "model_type")
    found = _architecture(model_type, named, entry.task, has_config=config is not None)
    if isinstance(found, Refusal):
        return _with_remote_code(found, config)
    try:
        return _resolved(found, entry)
    except RefusedConfigError as error:
        return refusal(found, "config-refused", error)
    except RecursionError:
        return Refusal(
            rule="config-refused", reason="its configuration is nested too deep",
            model_type=found.model_type, architecture=found.name,
        )  # fmt: skip


def refusal(found: Architecture, rule: str, error: Exception) -> Refusal:
    """Why a class that is known gets no configuration; a missing library is a rule of its own."""
    missing = isinstance(error.__cause__, ImportError)
    reason = _missing(error.__cause__) if missing else str(error)
    return Refusal(
        rule="library" if missing else rule, reason=reason, model_type=found.model_type, architecture=found.name
    )  # fmt: skip


def _missing(error: BaseException | None) -> str:
    """The first sentence of the library's request."""
    return " ".join(str(error).split()).partition(". ")[0][:200]


def _text(config: dict[str, Any] | None, key: str) -> str:
    value = (config or {}).get(key)
    return value if isinstance(value, str) else ""


def _named(entry: Entry) -> str:
    names = (entry.config or {}).get("architectures")
    first = names[0] if isinstance(names, list) and names else ""
    return entry.architecture or (first if isinstance(first, str) else "")


def _architecture(model_type: str, name: str, task: str, *, has_config: bool) -> Architecture | Refusal:
    if not architectures.known(model_type):
        return _by_name(model_type, name)
    if not architectures.classes_of(model_type) and not name:
        return Refusal(
            rule="no-model-class", model_type=model_type,
            reason=f"transformers {_version()} has no model class for the model type {model_type!r}",
        )  # fmt: skip
    if not name:
        return Architecture(model_type=model_type, name=architectures.for_task(model_type, task))
    return _told_both(model_type, name, has_config)


def _told_both(model_type: str, name: str, has_config: bool) -> Architecture | Refusal:
    """A model type and a class that were both told: where they contradict each other, the class's own type may do."""
    asked = Architecture(model_type=model_type, name=name)
    if name in architectures.classes_of(model_type):
        return asked
    for own in architectures.types_of(name):
        if not has_config and Architecture(model_type=own, name=name).family == asked.family:
            return Architecture(model_type=own, name=name)
    if not architectures.types_of(name) and architectures.exists(name, model_type):
        return asked
    if alike := _alike(model_type, name):
        return Architecture(model_type=model_type, name=alike)
    return Refusal(
        rule="unknown-architecture", model_type=model_type, architecture=name,
        reason=f"transformers {_version()} has no class {name!r} for the model type {model_type!r}",
    )  # fmt: skip


def _alike(model_type: str, name: str) -> str:
    """The library's class for the same purpose: it takes classes by model type, whatever a configuration names.

    Not for a class that is another type's: then type and class contradict each other.
    """
    _, found, purpose = name.rpartition("For")
    if not found or architectures.types_of(name):
        return ""
    return next((each for each in architectures.classes_of(model_type) if each.endswith(f"For{purpose}")), "")


def _by_name(model_type: str, name: str) -> Architecture | Refusal:
    """A type that is not told follows from the class; one that is not known is not guessed."""
    if model_type in ("", "unknown") and (types := architectures.types_of(name)):
        return Architecture(model_type=types[0], name=name)
    if model_type:
        what = f"transformers {_version()} has no model type {model_type!r}"
    elif name:
        what = f"transformers {_version()} has no class {name!r}, and no model type is told"
    else:
        what = "neither a model type nor a class is told"
    return Refusal(rule="unknown-model-type", reason=what, model_type=model_type, architecture=name)


def _with_remote_code(found: Refusal, config: dict[str, Any] | None) -> Refusal:
    if config is None or not CODE & config.keys():
        return found
    return Refusal(
        rule="remote-code", model_type=found.model_type, architecture=found.architecture,
        reason=f"{found.reason}; its configuration asks for code of its own, which is never run",
    )  # fmt: skip


def _resolved(found: Architecture, entry: Entry) -> Resolved:
    made = _completed(found, entry)
    other = {_named(entry), ""} - {found.name, ""}
    return replace(made, level=_LEVELS[entry.reduction], left_out=tuple(sorted({*made.left_out, *other})))


def _completed(found: Architecture, entry: Entry) -> Resolved:
    if entry.config is not None:
        full, left_out = configs.of_config(found.model_type, entry.config)
        return Resolved(architecture=found, full=full, origin="config", left_out=left_out)
    if entry.dims:
        full, left_out = configs.of_dims(found.model_type, entry.dims)
        return Resolved(architecture=found, full=full, origin="dims", left_out=left_out)
    return Resolved(architecture=found, full=configs.of_defaults(found.model_type), origin="defaults")


@cache
def _version() -> str:
    return version("transformers")
