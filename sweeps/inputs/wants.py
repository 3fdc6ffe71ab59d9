"""What a model asks for: the parameters of its forward, the modalities that its class declares, sizes in its config."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sweeps.reduce.roles import Role, role_of

BATCH: Final = 2
_TEXT_PARTS: Final = ("text_config", "llm_config", "thinker_config", "decoder", "decoder_config", "text_encoder")
_VISION_PARTS: Final = (
    "vision_config", "image_config", "visual_config", "vision_encoder_config", "image_encoder_config", "encoder",
    "backbone_config", "encoder_config", "vision", "detector_config", "tracker_config", "thinker_config",
)  # fmt: skip
_AUDIO_PARTS: Final = (
    "audio_config", "audio_encoder_config", "encoder_config", "audio_encoder", "speech_config", "sound_config",
    "encoder", "thinker_config", "audio_tower_config",
)  # fmt: skip


SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("input_ids", "inputs_embeds", "decoder_input_ids", "text_input_ids"),
    "image": (
        "pixel_values",
        "hidden_states",
        "flattened_patches",
        "image_patches",
        "visual_feats",
        "visual_embeds",
        "image",
        "images",
        "image_pixel_values",
        "inputs",
    ),
    "video": ("pixel_values_videos", "pixel_values"),
    "audio": (
        "input_features",
        "input_values",
        "audio_values",
        "audio",
        "input_audio_embeds",
        "spectrogram",
        "audio_input_features",
        "audio_prompt_latents",
        "audio_latents",
    ),
}
"""Inputs by which a model is given a modality."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """Choices that neither class nor configuration tells: tried in turn until the model takes its inputs."""

    several_images: bool = False
    mel_first: bool = False
    without: frozenset[str] = frozenset()
    """Modalities that are left out: the model then ran with part of its inputs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wants:
    """A model seen from its inputs."""

    config: Any
    class_name: str
    parameters: tuple[str, ...]
    required: frozenset[str]
    main: frozenset[str]
    declared: frozenset[str]
    style: Style = Style()

    @classmethod
    def of(cls, model: Any, style: Style) -> "Wants":
        """What a built model asks for."""
        found = inspect.signature(model.forward).parameters
        names = list(found)
        if any(each.kind is each.VAR_KEYWORD for each in found.values()):
            names += _passed_on(model)
        modalities = getattr(type(model), "input_modalities", "text")
        main = getattr(type(model), "main_input_name", "input_ids")
        needed = (
            name for name, each in found.items()
            if each.default is inspect.Parameter.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        )  # fmt: skip
        return cls(
            config=model.config, class_name=type(model).__name__, parameters=tuple(dict.fromkeys(names)),
            required=frozenset(needed), main=frozenset(_words(main)), declared=frozenset(_words(modalities)),
            style=style,
        )  # fmt: skip

    @property
    def model_type(self) -> str:
        """The configuration's model type."""
        return str(getattr(self.config, "model_type", ""))

    def takes(self, *names: str) -> bool:
        """Whether forward has one of the parameters."""
        return any(name in self.parameters for name in names)

    def central(self, *names: str) -> bool:
        """Whether one of the parameters is required or the model's main input."""
        return any(name in self.required or name in self.main for name in names if name in self.parameters)

    def has(self, modality: str) -> bool:
        """Whether the class declares a modality, its configuration has the tower, and this style keeps it."""
        return modality in self.declared and modality not in self.style.without and self.built(modality)

    def built(self, modality: str) -> bool:
        """Whether the configuration has the tower for a modality: classes declare those that they can be built with."""
        part = {"image": "vision_config", "video": "vision_config", "audio": "audio_config"}.get(modality, "")
        return getattr(self.config, part, self) is not None if part else True

    @property
    def text(self) -> Any:
        """The configuration of the language model."""
        try:
            found = self.config.get_text_config(decoder=True)
        except Exception:
            found = None
        return found if found is not None and found is not self.config else part(self.config, _TEXT_PARTS)

    @property
    def vision(self) -> Any:
        """The configuration of the part that sees."""
        return part(self.config, _VISION_PARTS)

    @property
    def audio(self) -> Any:
        """The configuration of the part that hears."""
        return part(self.config, _AUDIO_PARTS)

    @property
    def vocabulary(self) -> int:
        """Tokens that every text embedding knows; 32 where nothing tells."""
        return min(_vocabularies(self.config), default=32)


def _vocabularies(config: Any, depth: int = 3) -> list[int]:
    found = [each for name in ("vocab_size", "n_vocab") if (each := first(getattr(config, name, None))) and each > 15]
    if depth:
        for each in vars(config).values():
            found += _vocabularies(each, depth - 1) if is_config(each) else []
    return found


def _passed_on(model: Any) -> list[str]:
    """Parameters of the model inside, which a head hands on by name."""
    forward = getattr(getattr(model, "model", None), "forward", None)
    return list(inspect.signature(forward).parameters) if forward is not None else []


def _words(found: Any) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else tuple(found or ())


def is_config(value: Any) -> bool:
    """Whether a value is a configuration inside another."""
    return hasattr(value, "to_dict")


def part(config: Any, names: tuple[str, ...]) -> Any:
    """The first sub-configuration of those names, looked for inside it again; the configuration itself without one."""
    for name in names:
        found = getattr(config, name, None)
        if is_config(found) and found is not config:
            return part(found, names)
    return config


def number(config: Any, *names: str, default: int = 0) -> int:
    """The first integer among fields; of a list or mapping, its first element."""
    for name in names:
        found = first(getattr(config, name, None))
        if found is not None:
            return found
    return default


def first(value: Any) -> int | None:
    """An integer, or the first one in a list or mapping."""
    if isinstance(value, Mapping):
        value = value.get("height", next(iter(value.values()), None))
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def anywhere(config: Any, names: tuple[str, ...], depth: int = 3) -> int | None:
    """The first integer of those names in a configuration or its parts."""
    for name in names:
        if (found := first(getattr(config, name, None))) is not None:
            return found
    if not depth:
        return None
    inside = (each for each in vars(config).values() if is_config(each))
    return next((found for each in inside if (found := anywhere(each, names, depth - 1)) is not None), None)


def special_tokens(config: Any, depth: int = 3) -> frozenset[int]:
    """Ids that mean something: no ordinary text holds them."""
    found: set[int] = set()
    for name, value in vars(config).items():
        if is_config(value):
            found |= special_tokens(value, depth - 1) if depth else frozenset()
        elif role_of(name) is Role.TOKEN:
            found |= {each for each in (value if isinstance(value, list | tuple) else [value]) if isinstance(each, int)}
    return frozenset(found)
