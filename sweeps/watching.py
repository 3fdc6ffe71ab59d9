"""The aten calls of a forward, seen below autograd."""

from typing import Any, Final

from torch.utils._python_dispatch import TorchDispatchMode

from sweeps.calls.recording import Recorder

DISCRETE: Final = frozenset(
    {"aten::topk", "aten::argmax", "aten::argmin", "aten::sort", "aten::argsort", "aten::multinomial", "aten::nonzero"}
)
"""Choices that a rounding error can turn over: what follows from them is then another answer, not a wrong one."""

RANDOM: Final = frozenset(
    {
        "aten::rand", "aten::randn", "aten::rand_like", "aten::randn_like", "aten::normal", "aten::normal_",
        "aten::uniform_", "aten::bernoulli", "aten::bernoulli_", "aten::multinomial", "aten::randint", "aten::randperm",
        "aten::exponential_", "aten::native_dropout", "aten::randint_like", "aten::uniform", "aten::cauchy_",
    }
)  # fmt: skip
"""Draws: a device's generator need not give the CPU's numbers."""


class Watched(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves __init_subclass__ untyped
    """Collects the names of the ops that are called while it is entered, and the calls themselves."""

    def __init__(self, *, bounded: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()
        self.calls = Recorder(bounded=bounded)

    def clear(self) -> None:
        """Forget what was called."""
        self.names.clear()
        self.calls.clear()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self.names.add(func._schema.name)
        self.calls.take(func, args, kwargs)
        return func(*args, **kwargs)
