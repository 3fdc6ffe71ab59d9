"""Lists every global of PyTorch's harness and what each OpInfo claims, as JSON. Arguments: early or late, out.

`early`: the device is registered before the harness is imported, as PyTorch wants it. `late`: after, as the fork
server has it, and the harness is told.
"""

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from conformance import targets
from conformance.pytest_hooks import activation

how, out = sys.argv[1:]
if how == "late":
    import_module("conformance.pytest_hooks.harness")
device = targets.get("sim").activate("sim-1.1").device
if how == "early":
    import_module("conformance.pytest_hooks.harness")
activation.for_device_tests(device)


def told(value: Any) -> str:
    if isinstance(value, set | frozenset):
        return str(sorted(map(told, value)))
    return re.sub(r"0x[0-9a-f]+", "0x…", repr(value))[:500]


def claims(op: Any) -> str:
    decorators = [
        (each.cls_name, each.test_name, each.device_type, str(each.dtypes), told(each.active_if))
        for each in op.decorators
        if hasattr(each, "test_name")
    ]
    dtypes = [sorted(map(str, each(device))) for each in (op.supported_dtypes, op.supported_backward_dtypes)]
    return str((op.full_name, dtypes, decorators))


found: dict[str, object] = {}
for name, module in sorted(sys.modules.items()):
    for each, value in vars(module).items() if name.startswith("torch.testing._internal.") else ():
        listed = isinstance(value, list | tuple) and len(value) > 0 and hasattr(value[0], "full_name")
        if not each.startswith("__"):
            found[f"{name}.{each}"] = [claims(op) for op in value] if listed else told(value)
Path(out).write_text(json.dumps([torch.__version__, found]))
