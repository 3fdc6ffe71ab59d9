"""What a test may leave changed in the compiler's configuration modules, as torch._dynamo.config."""

import operator
import sys
from collections.abc import Mapping
from typing import Any, Final

from conformance.pytest_hooks.isolation.facets import Facet, same

CONFIGS: Final = (
    "torch._dynamo.config", "torch._inductor.config", "torch._functorch.config", "torch.fx.experimental._config",
)  # fmt: skip


def config(name: str) -> Facet:
    """A configuration module, read where it keeps its values: reading an attribute may make one.

    Nothing is read before it is imported, or where this build of torch keeps its values in another way.
    """
    readers: list[Any] = []

    def read() -> list[Any] | None:
        if not readers:
            readers.extend(entry.user_override.get for entry in _entries(name).values())
        return list(map(operator.call, readers)) or None

    def tell(before: list[Any] | None, after: list[Any] | None) -> str:
        return ", ".join(sorted(_touched(name, before, after)))

    def put_back(before: list[Any] | None) -> None:
        module: Any = sys.modules[name]
        for key, value in _touched(name, before, read()).items():
            module._config[key].user_override.set(value)
            module._hash_dirty_var.set(True)
            module._mark_get_dict_dirty(key)

    return Facet(name=name, read=read, put_back=put_back, tell=tell)


def _entries(name: str) -> Mapping[str, Any]:
    module: Any = sys.modules.get(name)
    entries: Mapping[str, Any] = getattr(module, "_config", {})
    ways = all(hasattr(module, each) for each in ("_hash_dirty_var", "_mark_get_dict_dirty"))
    return entries if ways and all(hasattr(each, "user_override") for each in entries.values()) else {}


def _touched(name: str, before: list[Any] | None, after: list[Any] | None) -> Mapping[str, Any]:
    """Settings that have another value than before, with the earlier one; before its import all are unset.

    One that was read for the first time has its default as its own value since: that is no change.
    """
    if after is None:
        return {}
    unset = sys.modules["torch.utils._config_module"]._UNSET_SENTINEL
    earlier = [unset] * len(after) if before is None else before
    pairs = zip(_entries(name).items(), earlier, after, strict=True)
    return {
        key: old
        for (key, entry), old, new in pairs
        if not same(old, new) and not (old is unset and same(new, entry.default))
    }
