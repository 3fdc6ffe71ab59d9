"""Time series and trajectories."""

from sweeps.inputs.filling import Given, constant, integers, normal
from sweeps.inputs.wants import BATCH, Wants, number

_STEPS = 6
"""Steps of a trajectory."""


def add(wants: Wants, given: Given) -> None:
    """Give the series that a model asks for."""
    if wants.takes("past_values"):
        _past(wants, given)
    if wants.takes("returns_to_go"):
        _trajectory(wants, given)


def _past(wants: Wants, given: Given) -> None:
    length = number(wants.config, "context_length", default=32)
    if wants.takes("past_time_features"):
        _with_features(wants, given, length)
    elif wants.takes("past_values_padding", "freq"):
        given["past_values"] = normal(BATCH, length)
        if wants.takes("past_values_padding"):
            given["past_values_padding"] = constant(0, BATCH, length)
        if "freq" in wants.required or wants.model_type == "timesfm":
            given["freq"] = constant(0, BATCH, 1)
    else:
        given["past_values"] = normal(
            BATCH, length, number(wants.config, "num_input_channels", "input_size", default=1)
        )


def _with_features(wants: Wants, given: Given, length: int) -> None:
    config = wants.config
    before = length + max(getattr(config, "lags_sequence", None) or [0])
    ahead = number(config, "prediction_length", default=8) or 8
    several = (config.input_size,) if number(config, "input_size", default=1) > 1 else ()
    known = number(config, "num_time_features")
    given["past_values"] = normal(BATCH, before, *several)
    given["past_observed_mask"] = constant(1, BATCH, before, *several, dtype="float32")
    given["past_time_features"] = normal(BATCH, before, known)
    given["future_time_features"] = normal(BATCH, ahead, known)
    if wants.takes("future_values"):
        given["future_values"] = normal(BATCH, ahead, *several)
    if number(config, "num_static_categorical_features"):
        given["static_categorical_features"] = constant(0, BATCH, config.num_static_categorical_features)


def _trajectory(wants: Wants, given: Given) -> None:
    config = wants.config
    given.clear()
    given["states"] = normal(BATCH, _STEPS, config.state_dim)
    given["actions"] = normal(BATCH, _STEPS, config.act_dim)
    given["rewards"] = given["returns_to_go"] = normal(BATCH, _STEPS, 1)
    given["timesteps"] = integers(0, min(_STEPS, config.max_ep_len), BATCH, _STEPS)
    given["attention_mask"] = constant(1, BATCH, _STEPS, dtype="float32")
