"""The plugin that keeps what one test, class or file leaves behind from the next one."""

import sys
from collections.abc import Callable, Generator, Iterable
from types import ModuleType
from typing import Any, Final

import pytest
import torch

from conformance.pytest_hooks.isolation import process, torch_state
from conformance.pytest_hooks.isolation.facets import Facets

Told = Callable[[Iterable[str]], None]
"""Called with what was left changed and put back: `default_dtype: torch.float64 instead of torch.float32`."""

LONGEST: Final = 300


def plugin(device: str, told: Told, running: Callable[[], bool]) -> ModuleType:
    """Fixtures around each file, class and test; a pytest plugin. They are the first to be set up and the last to go.

    State that a class or a file sets for all of its tests stays until it is torn down. A test's fixtures and its own
    tear-down may clean up before anything is called left behind. `running` tells whether a test is: a session that ends
    in one tears it down when pytest has its own streams back already, and nothing is put back then.
    """
    around = _Around(told, running, Facets((*torch_state.facets(device), *process.facets())))
    # A module, because pytest warns of methods that are fixtures of a class' scope.
    made: Any = ModuleType("conformance_isolation")
    made._conformance_file = pytest.fixture(autouse=True, scope="module")(around.fixture(" (file)"))
    made._conformance_class = pytest.fixture(autouse=True, scope="class")(around.fixture(" (class)"))
    made._conformance_test = pytest.fixture(autouse=True)(around.fixture("", seed=True))
    found: ModuleType = made
    return found


class _Around:
    def __init__(self, told: Told, running: Callable[[], bool], facets: Facets) -> None:
        self._told = told
        self._running = running
        self._facets = facets

    def fixture(self, what: str, *, seed: bool = False) -> Callable[[pytest.FixtureRequest], Generator[None]]:
        """A fixture that compares and puts back; `what` is added to each name that it tells."""

        def around(request: pytest.FixtureRequest) -> Generator[None]:
            if seed and not _seeds_itself(getattr(request.node, "cls", None)):
                process.seed()
                torch.manual_seed(process.SEED)
            before = self._facets.read()
            yield
            if not self._running():
                return
            _forget_graphs()
            left = self._facets.restore(before)
            if left:
                self._told([_of(what, each) for each in left])

        return around


def _of(what: str, left: str) -> str:
    name, _, told = left.partition(": ")
    return f"{name}{what}: {told}"[:LONGEST]


def _seeds_itself(cls: Any) -> bool:
    """Whether it is PyTorch's TestCase, whose set-up seeds."""
    known: Any = sys.modules.get("torch.testing._internal.common_utils")
    return known is not None and isinstance(cls, type) and issubclass(cls, known.TestCase)


def _forget_graphs() -> None:
    """Empty dynamo's caches when anything was compiled: graphs, recompile counts and what else the next one meets."""
    frames: Any = sys.modules.get("torch._dynamo.convert_frame")
    if frames is not None and frames.FRAME_COUNTER:
        sys.modules["torch._dynamo"].reset()
