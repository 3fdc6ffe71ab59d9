"""Several modalities in one sequence: as many placeholder tokens in the text as the other towers give features."""

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from sweeps.inputs.filling import Given, constant, tensors, values
from sweeps.inputs.wants import BATCH, anywhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Tower:
    """A method that turns an input into features, and fields that hold the token which stands for one feature."""

    method: str
    input: str
    tokens: tuple[str, ...]
    kind: int


_IMAGE_TOKENS: Final = ("image_token_id", "image_token_index", "im_token_id", "media_token_id", "img_token_id")
_VIDEO_TOKENS: Final = ("video_token_id", "video_token_index")
_AUDIO_TOKENS: Final = ("audio_token_id", "audio_token_index", "speech_token_id", "audio_placeholder_token_id")
_TOWERS: Final = (
    Tower(method="get_image_features", input="pixel_values", tokens=_IMAGE_TOKENS, kind=1),
    Tower(method="get_video_features", input="pixel_values_videos", tokens=_VIDEO_TOKENS, kind=2),
    Tower(method="get_audio_features", input="input_features", tokens=_AUDIO_TOKENS, kind=3),
    Tower(method="get_audio_features", input="input_values", tokens=_AUDIO_TOKENS, kind=3),
    Tower(method="get_speech_features", input="input_features", tokens=_AUDIO_TOKENS, kind=3),
)  # fmt: skip
_ALSO_CALLED: Final = {
    "input_features_mask": "feature_attention_mask",
    "feature_attention_mask": "input_features_mask",
    "audio_attention_mask": "feature_attention_mask",
}


def place(model: Any, given: Given, parameters: tuple[str, ...]) -> None:
    """Put placeholders into the ids, and what goes with the ids beside them. Runs the other towers on the CPU."""
    if "input_ids" not in given:
        return
    blocks = [(tower, token, count) for tower, token, count in _counted(model, given) if count]
    if not blocks:
        return
    ids, kinds = _rows(given, blocks)
    given["input_ids"] = values(ids)
    if "attention_mask" in given:
        given["attention_mask"] = constant(1, *given["input_ids"].shape)
    for name in ("mm_token_type_ids", "token_type_ids"):
        if name in parameters and (name in given or name == "mm_token_type_ids" or _by_type(model)):
            given[name] = values(kinds)


def _by_type(model: Any) -> bool:
    """Models that tell images from text by token types alone."""
    return getattr(model.config, "model_type", "").startswith(("gemma3", "paligemma", "git"))


def _counted(model: Any, given: Given) -> Iterator[tuple[Tower, int, int]]:
    seen: set[str] = set()
    for tower in _TOWERS:
        method = _method(model, tower)
        token = anywhere(model.config, tower.tokens)
        if method is None or token is None or tower.input not in given or tower.method in seen:
            continue
        seen.add(tower.method)
        with torch.no_grad():
            yield tower, token, _features(method(**_arguments(method, tensors(given))))


def _method(model: Any, tower: Tower) -> Any:
    """The method itself, wherever in the model it is: heads have one that only hands its arguments on."""
    found = (getattr(each, tower.method, None) for each in model.modules())
    return next((each for each in found if each and tower.input in inspect.signature(each).parameters), None)


def _arguments(method: Any, made: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, each in inspect.signature(method).parameters.items():
        known = name if name in made else _ALSO_CALLED.get(name, "")
        if known in made and (name not in ("input_ids", "attention_mask") or each.default is each.empty):
            found[name] = made[known]
    return found


def _features(result: Any) -> int:
    """How many features a tower gave, over the whole batch."""
    found = result
    if not isinstance(result, Tensor | list | tuple) or hasattr(result, "keys"):
        parts = (getattr(result, name, None) for name in ("pooler_output", "last_hidden_state"))
        found = next((each for each in parts if each is not None), ())
    if isinstance(found, list | tuple):
        return sum(math.prod(each.shape[:-1]) for each in found if isinstance(each, Tensor))
    return math.prod(found.shape[:-1])


def _rows(given: Given, blocks: list[tuple[Tower, int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Ids with a block of placeholders for each tower between ordinary tokens, and the kind of each id."""
    ids, kinds = [], []
    for number, text in enumerate(given["input_ids"].values):
        row, kind = list(text[:3]), [0] * 3
        for tower, token, count in blocks:
            share = -(-count // BATCH)
            mine = share if number < BATCH - 1 else count - share * (BATCH - 1)
            row += [token] * mine + [text[0]] * (share - mine) + [text[3]]
            kind += [tower.kind] * mine + [0] * (share - mine + 1)
        ids.append(row + list(text[3:6]))
        kinds.append(kind + [0] * len(text[3:6]))
    return ids, kinds
