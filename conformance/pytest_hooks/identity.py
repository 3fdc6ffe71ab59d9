"""Identity of an upstream test: file, class and name without the device, and the parts that can be told.

Three tests of one file, on device `neuron`:

    TestCommonNEURON.test_out_add_neuron_float32  ->  upstream::test_ops::TestCommon::test_out_add_float32
    TestNNPRIVATEUSE1.test_mean_privateuse1       ->  upstream::test_nn::TestNN::test_mean
    TestFake.test_at[<object at 0x7f0a1c>]        ->  upstream::test_fake::TestFake::test_at[<object at 0x…>]
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from conformance.outcomes import TestId
from conformance.provenance.entries import parameters
from conformance.pytest_hooks.names import DTYPE_TAIL, parse

SUITE: Final = "upstream"
MODULE: Final = "<module>"
"""Name of the one planned test that stands for a file none of whose tests could be collected."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def file_of(path: PurePath) -> str:
    """How a test file is called in identities: its path below the last folder named test or tests, without `.py`.

    A file that is in no such folder is called by its name alone, so that an identity never names the machine.
    """
    parts = path.with_suffix("").parts
    above = [index for index, part in enumerate(parts[:-1]) if part in ("test", "tests")]
    return "/".join(parts[above[-1] + 1 :] if above else parts[-1:])


def tree_of(path: PurePath) -> str:
    """The folder whose code counts as the tests' own: the last one named test or tests, else the file's."""
    above = [each for each in path.parents if each.name in ("test", "tests")]
    return (above[0] if above else path.parent).as_posix()


def identify(path: PurePath, classes: tuple[str, ...], name: str, cls: Any, function: Any) -> TestId:
    """The identity of a collected test.

    `classes` are the names of the classes around it, outermost first, `cls` the innermost class or None. Tests that
    are made for an OpInfo have a kind: the name of the test function that all ops share, as `test_out`.
    """
    device = str(getattr(cls, "device_type", "") or "")
    given = parameters(function) if device else {}
    plain, dtype = without_device(name.encode("utf-8", "backslashreplace").decode("utf-8"), device, given)
    if device and classes:
        classes = (*classes[:-1], class_without_device(classes[-1], device))
    op = given.get("op")
    return TestId(
        suite=SUITE, file=file_of(path), cls=".".join(classes), name=_ADDRESS.sub("0x…", plain),
        op=str(getattr(op, "name", "") or ""), variant=str(getattr(op, "variant_test_name", "") or ""),
        dtype=dtype, kind=str(getattr(function, "__name__", "")) if op is not None else "",
    )  # fmt: skip


def module_id(path: PurePath, classes: tuple[str, ...] = ()) -> TestId:
    """The identity that stands for a file, or a class of it, without collected tests."""
    return TestId(suite=SUITE, file=file_of(path), cls=".".join(classes), name=MODULE)


def class_without_device(name: str, device: str) -> str:
    """The generic class' name: `TestCommonNEURON`, `TestCommonPRIVATEUSE1` -> `TestCommon`."""
    for suffix in (device.upper(), "PRIVATEUSE1"):
        if suffix and name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


def without_device(name: str, device: str, given: Mapping[str, Any]) -> tuple[str, str]:
    """The test's name without its device part, and its dtype ("" for none, joined by `_` for several).

    Where the instantiation left its parameters the dtype is theirs; otherwise both are read from the name, whose
    device part is the last one that only dtypes follow.
    """
    names = "|".join(re.escape(each) for each in (device, "privateuse1") if each)
    if not names:
        return name, ""
    dtypes = dtype_words(given)
    tail = re.escape("".join(f"_{each}" for each in dtypes)) if dtypes else DTYPE_TAIL
    found = re.fullmatch(rf"(?P<head>.*)_(?:{names})(?P<rest>{tail})", name)
    if found is None:
        return name, "_".join(dtypes)
    return found["head"] + found["rest"], found["rest"].removeprefix("_")


def dtype_words(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The dtypes among a test's parameters, as `float32`."""
    one, several = given.get("dtype"), given.get("dtypes")
    found = several if isinstance(several, list | tuple) else [one]
    return tuple(str(each).removeprefix("torch.") for each in found if each is not None)


__all__ = [
    "MODULE", "SUITE", "class_without_device", "dtype_words", "file_of", "identify", "module_id", "parse", "tree_of",
    "without_device",
]  # fmt: skip
