"""Model types and model classes of the installed transformers, found without importing any model."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

# Nothing is ever fetched: a configuration that names a file elsewhere fails at once instead of waiting for a network.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES, model_type_to_module_name

BY_TASK: Final[Mapping[str, tuple[str, ...]]] = {
    "text-generation": ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES"),
    "image-text-to-text": ("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES"),
    "any-to-any": ("MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",),
    "text-to-speech": ("MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES", "MODEL_FOR_TEXT_TO_SPECTROGRAM_MAPPING_NAMES"),
    "automatic-speech-recognition": ("MODEL_FOR_CTC_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES"),
    "translation": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",),
    "fill-mask": ("MODEL_FOR_MASKED_LM_MAPPING_NAMES",),
}
"""The class that a task of the Hub calls for, by the library's own tables; for other tasks it is the bare model."""

_BARE: Final = "MODEL_MAPPING_NAMES"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Architecture:
    """A model class and the model type that its configuration has. `family` is the library's module for both."""

    model_type: str
    name: str

    @property
    def family(self) -> str:
        """The folder in which the library keeps the model."""
        return str(model_type_to_module_name(self.model_type))


def known(model_type: str) -> bool:
    """Whether the installed library has a configuration of that model type."""
    return model_type in CONFIG_MAPPING_NAMES


def _each(names: Any) -> Iterable[str]:
    return [each for each in (names if isinstance(names, tuple | list) else (names,)) if each]


@cache
def _tables() -> dict[str, Mapping[str, Any]]:
    names = [each for each in dir(modeling_auto) if each.endswith("_MAPPING_NAMES") and each != "CONFIG_MAPPING_NAMES"]
    # The bare model first: it is what a type without a task means.
    return {each: getattr(modeling_auto, each) for each in sorted(names, key=lambda name: (name != _BARE, name))}


@cache
def _classes() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for table in _tables().values():
        for model_type, names in table.items():
            if known(model_type):
                found.setdefault(model_type, {}).update(dict.fromkeys(_each(names)))
    return {model_type: tuple(names) for model_type, names in found.items()}


@cache
def _types() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for model_type, names in _classes().items():
        for name in names:
            found.setdefault(name, []).append(model_type)
    return {name: tuple(types) for name, types in found.items()}


def model_types() -> tuple[str, ...]:
    """Every model type that has model classes, sorted."""
    return tuple(sorted(_classes()))


def classes_of(model_type: str) -> tuple[str, ...]:
    """Names of the classes of a model type, the bare model first; empty for a type without any."""
    return _classes().get(model_type, ())


@cache
def types_of(name: str) -> tuple[str, ...]:
    """Model types that a class serves, its own first; empty for a class that no table of the library names."""
    return tuple(sorted(_types().get(name, ()), key=lambda each: (not exists(name, each), len(each), each)))


def exists(name: str, model_type: str) -> bool:
    """Whether the library has a class that none of its tables names, in the modelling module of that model type."""
    import transformers

    module: str = getattr(transformers, "_class_to_module", {}).get(name, "")
    return module.rpartition(".")[2] == f"modeling_{model_type_to_module_name(model_type)}"


def for_task(model_type: str, task: str) -> str:
    """The class that a task calls for, else the bare model; "" for a type without classes."""
    for table in BY_TASK.get(task, ()):
        for name in _each(_tables()[table].get(model_type)):
            return name
    return next(iter(classes_of(model_type)), "")


@cache
def _causal() -> frozenset[str]:
    return frozenset(name for names in _tables()["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"].values() for name in _each(names))


def continues_text(name: str, task: str) -> bool:
    """Whether a model is for text generation: by the task that is told, else by its class, known or not."""
    if task in ("", "unknown"):
        return name in _causal() or name.endswith("ForCausalLM")
    return task == "text-generation"


def config_class(model_type: str) -> Any:
    """The configuration class. Imports its module, which has no torch in it."""
    from transformers import CONFIG_MAPPING

    return CONFIG_MAPPING[model_type]


def model_class(architecture: Architecture) -> Any:
    """The model class. Raises ImportError for what its module needs and this machine lacks."""
    import transformers

    found = getattr(transformers, architecture.name, None)
    if found is None:
        folder = f"transformers.models.{architecture.family}"
        found = getattr(import_module(f"{folder}.modeling_{architecture.family}"), architecture.name, None)
    if found is None:
        raise ImportError(f"the installed transformers has no class {architecture.name}")
    return found
