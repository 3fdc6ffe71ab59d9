"""PyTorch's device test harness, imported by the fork server before any device is there. A child announces its own.

The harness looks for devices while it is imported. Imported early, its 400 MB and seconds are shared by all children,
and what it would have found is put right by `announce`: the names below are all that differ in torch 2.13, which a test
finds out again by comparing every global of the harness both ways.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

MODULES: Final = (
    "common_utils", "common_device_type", "common_methods_invocations", "common_modules", "common_optimizers",
    "composite_compliance",
)  # fmt: skip
"""Modules of torch.testing._internal that most test files import; none of them starts a device or a thread."""
_PACKAGE: Final = "torch.testing._internal"

for _name in MODULES:
    import_module(f"{_PACKAGE}.{_name}")


def announce() -> None:
    """Tell the harness of the PrivateUse1 device that was registered since."""
    import torch

    device_types: Any = sys.modules[f"{_PACKAGE}.common_device_type"]
    base, bases = device_types.PrivateUse1TestBase, device_types.device_type_test_bases
    if base in bases:
        return
    bases.append(base)
    name = torch._C._get_privateuse1_backend_name()
    utils: Any = sys.modules[f"{_PACKAGE}.common_utils"]
    found = {
        "NATIVE_DEVICES": (*utils.NATIVE_DEVICES[:-1], name),
        "TEST_PRIVATEUSE1": utils._is_privateuse1_backend_available(),
        "TEST_PRIVATEUSE1_DEVICE_TYPE": name,
        "custom_device_mod": getattr(torch, name, None),
    }
    for module in _loaded():
        for each in found.keys() & vars(module).keys():
            setattr(module, each, found[each])


def _loaded() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.startswith(f"{_PACKAGE}.") and module]
