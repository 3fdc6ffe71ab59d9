"""Inputs: really built for every modality that a class declares, as data that gives the same tensors again."""

from typing import Any

import msgspec
import pytest
import torch

from sweeps import architectures, building, configs
from sweeps.architectures import Architecture
from sweeps.inputs import Inputs, found
from sweeps.inputs.filling import Filling, Given, integers, normal, tensors, values
from sweeps.inputs.mending import mended
from sweeps.inputs.wants import special_tokens
from sweeps.reduce import TINY, reduce
from sweeps.running import quiet
from sweeps.terms import evaluated


def built(model_type: str) -> tuple[Any, Inputs]:
    """A tiny model of a type and the inputs that it takes."""
    with quiet():
        name = architectures.classes_of(model_type)[0]
        config = configs.completed(model_type, reduce(configs.of_defaults(model_type), TINY))
        model = building.model(Architecture(model_type=model_type, name=name), config)

        def run(given: Given) -> Any:
            with torch.no_grad():
                return model(**tensors(given))

        return model, found(model, run)[0]


def test_a_filling_read_back_gives_the_same_tensor() -> None:
    for each in (normal(2, 3), integers(5, 9, 4), values([[1, 2], [3, 4]])):
        again = msgspec.json.decode(msgspec.json.encode(each), type=Filling)
        assert torch.equal(again.tensor("x"), each.tensor("x"))
    assert not torch.equal(normal(8).tensor("x"), normal(8).tensor("y"))


def test_an_input_whose_size_the_model_names_is_made_anew() -> None:
    layer = torch.nn.Linear(24, 3)
    given, result = mended({"x": normal(2, 7)}, lambda given: layer(given["x"].tensor("x")))
    assert (given["x"].shape, tuple(result.shape)) == ((2, 24), (2, 3))


def test_what_names_no_size_is_raised_as_it_is() -> None:
    def run(_given: Given) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        mended({"x": normal(2, 7)}, run)


@pytest.mark.parametrize(("terms", "value"), [("3", 3), ("a*a*3", 48), ("a+2", 6), ("b/2-1", 4), (7, 7)])
def test_sizes_in_tables_are_terms_from_left_to_right(terms: str | int, value: int) -> None:
    assert evaluated(terms, {"a": 4, "b": 10}.get) == value


def test_a_size_that_a_configuration_does_not_have_is_named() -> None:
    with pytest.raises(KeyError, match="'nothing'"):
        evaluated("nothing*2", {}.get)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_type", "names"),
    [
        ("llava", {"input_ids", "pixel_values"}),
        ("qwen2_5_vl", {"input_ids", "pixel_values", "image_grid_thw"}),
        ("qwen2_audio", {"input_ids", "input_features"}),
        ("videomae", {"pixel_values"}),
        ("speecht5", {"input_values", "decoder_input_values"}),
        ("informer", {"past_values", "future_values", "past_time_features"}),
        ("mllama", {"input_ids"}),
    ],
)
def test_every_modality_of_a_model_is_among_its_inputs(model_type: str, names: set[str]) -> None:
    model, inputs = built(model_type)
    assert names <= set(inputs.given)
    if model_type in ("llava", "qwen2_5_vl"):
        ids = set(inputs.given["input_ids"].tensor("input_ids").flatten().tolist())
        assert ids & special_tokens(model.config), "the images have no place in the text"
    if model_type != "mllama":
        assert not inputs.missing
    else:
        assert inputs.missing <= {"image"}
        assert bool(inputs.missing) == bool(inputs.refused)
