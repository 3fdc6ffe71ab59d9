"""Text: token ids that are no special tokens, a mask, a decoder's own ids, boxes of words."""

import random
from typing import Final

from sweeps.inputs.filling import Filling, Given, constant, values
from sweeps.inputs.wants import BATCH, Wants, number, special_tokens
from sweeps.reduce.levels import SEQUENCE

_DECODED: Final = 8
"""Tokens of a decoder's input."""


def add(wants: Wants, given: Given) -> None:
    """Give the text inputs that a model asks for."""
    if wanted(wants):
        length = _length(wants)
        given["input_ids"] = tokens(wants, BATCH, length, name="input_ids")
        if wants.takes("attention_mask"):
            given["attention_mask"] = constant(1, BATCH, length)
        if wants.takes("bbox"):
            given["bbox"] = values([[[1, 2, 5, 9]] * length] * BATCH)
        if "token_type_ids" in wants.required:
            given["token_type_ids"] = constant(0, BATCH, length)
        if "MultipleChoice" in wants.class_name:
            _choices(given)
    if wants.takes("decoder_input_ids") and _decodes(wants):
        given["decoder_input_ids"] = tokens(wants, BATCH, _DECODED, name="decoder_input_ids")
    if "inputs_embeds" in wants.required or wants.main == {"inputs_embeds"}:
        _embedded(wants, given)


def wanted(wants: Wants) -> bool:
    """Whether text is what the model reads, or all that it can read."""
    if not wants.takes("input_ids"):
        return False
    other = wants.takes("pixel_values", "pixel_values_videos", "input_values", "input_features", "past_values")
    return "text" in wants.declared or wants.central("input_ids") or not other


def _length(wants: Wants) -> int:
    most = number(wants.text, "max_position_embeddings", "n_positions")
    return min(SEQUENCE, most) if most > 0 else SEQUENCE


def _decodes(wants: Wants) -> bool:
    return bool(getattr(wants.config, "is_encoder_decoder", False)) or "decoder_input_ids" in wants.required


def tokens(wants: Wants, *shape: int, name: str) -> Filling:
    """Ids of ordinary tokens, the same ones for the same name, vocabulary and special tokens."""
    special = special_tokens(wants.config)
    ordinary = [each for each in range(min(wants.vocabulary, 4096)) if each not in special] or [0]
    drawn = random.Random(name)
    rows, length = shape
    return values([[drawn.choice(ordinary) for _ in range(length)] for _ in range(rows)])


def _choices(given: Given) -> None:
    """Two choices a question: every text input gets a dimension of two."""
    for name, each in list(given.items()):
        doubled = [[row, row] for row in each.tensor(name).tolist()]
        given[name] = values(doubled)


def _embedded(wants: Wants, given: Given) -> None:
    given.pop("input_ids", None)
    width = number(wants.config, "hidden_size", "d_model", default=64)
    given["inputs_embeds"] = Filling(fill="normal", shape=(BATCH, SEQUENCE, width))
