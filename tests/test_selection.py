"""Whether a test that one run planned lies in another run's selection decides between "gone" and "not run here"."""

import pytest

from conformance.outcomes import TestId
from conformance.plan import Selection, covers

ADD = TestId(suite="ops", file="", cls="add", name="forward.add", op="add", dtype="float32", kind="forward")
UPSTREAM = TestId(suite="upstream", file="test/test_torch.py", cls="TestTorch", name="test_add")
IN_TREE = TestId(suite="upstream", file="functorch/test_ops", cls="TestOperators", name="test_grad_add_float32")
BROKEN = TestId(suite="upstream", file="functorch/test_ops", cls="", name="<module>")


def tree(*files: str, tests: tuple[str, ...] = (), suites: tuple[str, ...] = ("ops", "upstream")) -> Selection:
    return Selection(suites=suites, tests=tests, files=files)


@pytest.mark.parametrize(
    ("selection", "test", "profile", "covered"),
    [
        (Selection(suites=("ops",)), ADD, "default", True),
        (Selection(suites=("all",)), ADD, "default", True),
        (Selection(suites=("upstream",)), ADD, "default", False),
        (Selection(suites=("ops", "upstream")), UPSTREAM, "default", True),
        (Selection(suites=("ops",), ops=("add", "mul")), ADD, "default", True),
        (Selection(suites=("ops",), ops=("Add",)), ADD, "default", False),
        (Selection(suites=("ops",), keys=(ADD.key,)), ADD, "default", True),
        (Selection(suites=("ops",), keys=(UPSTREAM.key,)), ADD, "default", False),
        (Selection(suites=("ops",), shard="1/2"), ADD, "default", False),
        (Selection(suites=("ops",), profile="full"), ADD, "default", True),
        (Selection(suites=("ops",), profile="full"), ADD, "full", True),
        (Selection(suites=("ops",), profile="default"), ADD, "full", False),
        (Selection(suites=("upstream",), tests=("test_torch.py",)), UPSTREAM, "default", True),
        (Selection(suites=("upstream",), tests=("/src/pytorch/test/test_torch.py",)), UPSTREAM, "default", True),
        (Selection(suites=("upstream",), tests=("test",)), UPSTREAM, "default", True),
        (Selection(suites=("upstream",), tests=("/src/pytorch/test",)), UPSTREAM, "default", True),
        (Selection(suites=("upstream",), tests=("/src/pytorch/other",)), UPSTREAM, "default", False),
        (Selection(suites=("upstream",), tests=("test_torch.py::TestTorch",)), UPSTREAM, "default", True),
        (Selection(suites=("upstream",), tests=("torch.py",)), UPSTREAM, "default", False),
        (Selection(suites=("upstream",), tests=("test_ops.py",)), UPSTREAM, "default", False),
        (Selection(suites=("upstream",), tests=("/src/pytorch/test/functorch/test_ops.py",)), IN_TREE, "default", True),
        (tree("functorch/test_ops.py"), IN_TREE, "default", True),
        (tree("functorch"), IN_TREE, "default", True),
        (tree("test_ops.py"), IN_TREE, "default", False),
        (tree("functorch/test_op"), IN_TREE, "default", False),
        (tree("functorch/test_ops.py::TestOperators"), IN_TREE, "default", True),
        (tree("functorch/test_ops.py::TestOperatorsNEURON::test_grad"), IN_TREE, "default", True),
        (tree("functorch/test_ops.py::TestOther"), IN_TREE, "default", False),
        (tree("functorch/test_ops.py::TestOther"), BROKEN, "default", True),
        (tree("test_ops.py", tests=("test_ops.py",)), IN_TREE, "default", False),
        (tree("test_ops.py", tests=("test_ops.py", "/mine/test/functorch/test_ops.py")), IN_TREE, "default", True),
        (tree("test_ops.py"), ADD, "default", True),
        (tree("test_ops.py", suites=("upstream",)), ADD, "default", False),
    ],
)
def test_a_selection_covers_what_it_would_have_planned(
    selection: Selection, test: TestId, profile: str, covered: bool
) -> None:
    assert covers(selection, test, profile) is covered
