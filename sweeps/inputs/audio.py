"""Sound: spectrograms in either order, or the samples themselves."""

from typing import Any, Final

from sweeps.inputs.filling import Given, constant, normal
from sweeps.inputs.wants import BATCH, Wants, anywhere, number

_MEL: Final = (
    "num_mel_bins", "feature_size", "input_feat_per_channel", "mel_bins", "n_mels", "num_mel_filters", "feat_in",
    "input_feat_size", "input_dim", "hidden_size_mel", "audio_channel",
)  # fmt: skip
_FRAMES: Final = 64
"""Frames of a spectrogram."""
_SAMPLES: Final = 9_600
"""Samples of a sound: 0.6 s at 16 kHz."""


def add(wants: Wants, given: Given) -> None:
    """Give the sounds that a model asks for."""
    heard = wants.has("audio") or wants.central("input_values", "input_features", "audio_values")
    if not heard or "audio" in wants.style.without:
        return
    if wants.takes("input_features"):
        _spectrogram(wants, given)
    elif wants.takes("input_values"):
        _samples(wants, given)
    elif wants.takes("audio_values"):
        given["audio_values"] = normal(BATCH, 1, _SAMPLES)


def mel_bins(wants: Wants) -> int:
    """Frequencies of a spectrogram."""
    return number(wants.audio, *_MEL) or anywhere(wants.config, _MEL) or 80


def _spectrogram(wants: Wants, given: Given) -> None:
    most, bins = number(wants.audio, "max_source_positions"), mel_bins(wants)
    # Encoders with a fixed number of positions halve the frames once and want all of them.
    frames = 2 * most if most and wants.style.mel_first else _FRAMES
    shape = (bins, frames) if wants.style.mel_first else (frames, bins)
    given["input_features"] = normal(BATCH, *shape)
    for name in ("feature_attention_mask", "input_features_mask", "attention_mask"):
        if wants.takes(name) and name not in given and (name != "attention_mask" or "attention_mask" in wants.required):
            given[name] = constant(1, BATCH, frames)


def _samples(wants: Wants, given: Given) -> None:
    layers: Any = getattr(wants.config, "audio_channels", None)
    channels = (
        () if layers is None and not wants.style.mel_first else (number(wants.config, "audio_channels", default=1),)
    )
    given["input_values"] = normal(BATCH, *channels, _SAMPLES)
