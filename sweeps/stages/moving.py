"""Moving a model to a device: parameters that several modules share are to be one there too."""

from typing import Any

from torch.nn import Parameter


def to(model: Any, where: str) -> tuple[str, ...]:
    """Move a model; names of shared parameters that came apart on the way and were put together again.

    Module.to gives every module a parameter of its own where tensors of the device cannot take the place of CPU tensors
    (torch._has_compatible_shallow_copy_type): so it is on every PrivateUse1 device, with every model that ties weights.
    """
    groups = _shared(model)
    model.to(where)
    now = dict(model.named_parameters(remove_duplicate=False))
    apart = [names for names in groups if len({id(now[name]) for name in names}) > 1]
    for names in apart:
        for name in names[1:]:
            _put(model, name, now[names[0]])
    return tuple(name for names in apart for name in names[1:])


def _shared(model: Any) -> list[list[str]]:
    names: dict[int, list[str]] = {}
    for name, each in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(each), []).append(name)
    return [each for each in names.values() if len(each) > 1]


def _put(model: Any, name: str, parameter: Parameter) -> None:
    owner, _, last = name.rpartition(".")
    setattr(model.get_submodule(owner), last, parameter)
