"""Inputs for any model: what its class asks for is really built, in every modality that it declares."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sweeps.configs import sentence
from sweeps.inputs import audio, fusion, series, table, text, vision
from sweeps.inputs.filling import Filling, Given
from sweeps.inputs.mending import mended
from sweeps.inputs.wants import SHOWN, Style, Wants

VERSION: Final = 2
"""Part of every signature: raised when the same model would be given other inputs."""

_BUILDERS: Final[tuple[Callable[[Wants, Given], None], ...]] = (text.add, vision.add, audio.add, series.add, table.add)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """Inputs that a model took on the CPU, as data, and modalities of its class that are not among them.

    `refused` is what it said to the first inputs that were built for it, where it did not take those.
    """

    given: dict[str, Filling]
    missing: frozenset[str]
    refused: str = ""


class NoInputsError(Exception):
    """A model took none of the inputs that were built for it; the cause is what it raised for the first of them."""


def found(model: Any, run: Callable[[Given], Any]) -> tuple[Inputs, Any]:
    """Inputs that the model takes, and what it gave for them; `run` calls it on the CPU.

    Raises NoInputsError.
    """
    first: Exception | None = None
    for style in styles(model):
        wants = Wants.of(model, style)
        try:
            _, (given, result) = mended(build(wants), partial(_completed, model, wants, run))
        except Exception as error:
            first = first or error
            continue
        refused = "" if first is None else sentence(first)
        return Inputs(given=given, missing=_missing(model, given), refused=refused), result
    raise NoInputsError(sentence(first) if first else "nothing was built for it") from first


def build(wants: Wants) -> Given:
    """Inputs of one style, as yet without placeholders for the features of other towers."""
    given = Given()
    for add in _BUILDERS:
        add(wants, given)
    return given


def _completed(model: Any, wants: Wants, run: Callable[[Given], Any], given: Given) -> tuple[Given, Any]:
    """Inputs with their placeholders, and what the model gave for them."""
    whole = dict(given)
    fusion.place(model, whole, wants.parameters)
    whole = table.last(wants, whole)
    return whole, run(whole)


def styles(model: Any) -> Iterator[Style]:
    """The styles to try in turn: the whole of the inputs first, text alone last."""
    wants = Wants.of(model, Style())
    images = (False, True) if wants.takes("pixel_values") else (False,)
    sounds = (False, True) if wants.takes("input_features", "input_values") else (False,)
    if table.mel_first(wants):
        sounds = (True, False)
    for several in images:
        for mel_first in sounds:
            yield Style(several_images=several, mel_first=mel_first)
    if wants.takes("input_ids") and len(wants.declared) > 1:
        yield Style(without=wants.declared - {"text"})


def _missing(model: Any, given: Given) -> frozenset[str]:
    wants = Wants.of(model, Style())
    known = {each: SHOWN[each] for each in wants.declared if each in SHOWN and wants.built(each)}
    return frozenset(
        each for each, names in known.items() if wants.takes(*names) and not any(n in given for n in names)
    )
