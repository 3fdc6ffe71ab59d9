"""The target's dynamo backend, with the execution of what it compiles told apart from compiling."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class StagedBackend:
    """A dynamo backend; `compiling` and `running` are called as it goes from one to the other and back."""

    compile: Callable[..., Any]
    compiling: Callable[[], None]
    running: Callable[[], None]
    executing: float = 0.0

    def __call__(self, graph: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
        """Compile a graph; the function that is given back adds to `executing`."""
        self.compiling()
        function = self.compile(graph, inputs, **options)

        def run(*args: Any) -> Any:
            self.running()
            start = perf_counter()
            try:
                return function(*args)
            finally:
                self.executing += perf_counter() - start

        return run
