"""Every test file of a tree is run, left out with a reason, or counted as not known."""

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.upstream import manifest, tree
from tests.upstream.trees import folder

_SMALL = """
[[run]]
group = "opinfo"
files = ["test_ops.py", "test_gone.py"]

[[run]]
group = "transforms"
profile = "full"
custom = true
files = ["functorch/test_ops.py"]

[[run]]
group = "later"
torch = ">=3"
classes = ["TestLater"]
needs = ["no_such_package"]
files = ["test_later.py"]

[[left_out]]
reason = "a folder"
paths = ["functorch/"]

[[left_out]]
reason = "a file of it"
paths = ["functorch/deep/test_exact.py"]
"""
_MADE = "instantiate_device_type_tests(TestMade, globals(){})\n"


@pytest.fixture
def small(tmp_path: Path) -> manifest.Manifest:
    (tmp_path / "small.toml").write_text(_SMALL)
    return manifest.load(tmp_path / "small.toml")


@pytest.fixture
def source(tmp_path: Path) -> tree.Tree:
    names = ("functorch/test_other.py", "functorch/deep/test_exact.py", "test_new.py", "new_test.py", "helper.py")
    files = {f"test/{name}": "" for name in names}
    made = {
        "test/test_ops.py": "class TestPlain:\n    pass\n" + _MADE.format(""),
        "test/functorch/test_ops.py": _MADE.format(", only_for=('cpu', 'cuda')"),
    }
    return tree.read(folder(tmp_path / "tree", {"version.txt": "2.13.0", **files, **made}))


def test_every_test_file_has_its_state_and_the_numbers_add_up(small: manifest.Manifest, source: tree.Tree) -> None:
    found = small.look(source, "default")
    assert [each.path for each in found.chosen] == ["test_ops.py"]
    assert found.unlisted == ("new_test.py", "test_new.py")
    assert found.missing == ("test_gone.py",)
    reasons = {each.path: each.reason for each in found.files if each.reason}
    assert reasons == {"functorch/test_other.py": "a folder", "functorch/deep/test_exact.py": "a file of it"}
    assert found.sentence == (
        "6 test files: 1 run, 1 of the full profile alone, 2 left out with a reason, 2 unlisted; 1 that the manifest "
        "names are not in this tree"
    )


def test_a_profile_selects_the_classes_made_for_a_device(small: manifest.Manifest, source: tree.Tree) -> None:
    assert small.look(source, "default").entries == ("test_ops.py::TestMade",)
    assert small.look(source, "full").entries == ("test_ops.py::TestMade", "functorch/test_ops.py::TestMade")


def test_classes_and_packages_of_an_entry_are_kept_to(small: manifest.Manifest, source: tree.Tree) -> None:
    (source.tests / "test_later.py").write_text(_MADE.format(""))
    found = small.look(source, "default")
    assert found.entries == ("test_ops.py::TestMade", "test_later.py::TestLater")
    assert found.needed == {"no_such_package": ["test_later.py"]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[[run]]\ngroup = "x"\nfiles = ["a.py", "a.py"]\n', "'a.py' is listed twice"),
        ('[[run]]\ngroup = "x"\nfiles = ["a.py"]\n[[left_out]]\nreason = "y"\npaths = ["a.py"]', "either run or left"),
        ('[[run]]\ngroup = "x"\nfiles = ["/a.py"]', "must be a file"),
        ('[[run]]\ngroup = "x"\nfiles = ["a"]', "must be a file"),
        ('[[run]]\ngroup = "x"\nfiles = ["a.py"]\ntorch = "later"', "'later' is no range of versions"),
        ('[[run]]\ngroup = "x"\nfiles = ["a.py"]\nprofil = "full"', "profil"),
        ('[[run]]\ngroup = "x"\nfiles = ["a.py"]\nprofile = "fast"', "fast"),
        ("[[run", "is no manifest"),
    ],
)
def test_a_broken_manifest_is_one_sentence(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text if "left_out" in text else f"{text}\n[[left_out]]\nreason = 'z'\npaths = ['z.py']\n")
    with pytest.raises(UsageError, match=what):
        manifest.load(path)


def test_the_shipped_manifest_begins_with_opinfo_and_gives_every_group_files() -> None:
    shipped = manifest.shipped()
    assert next(iter(shipped.runs)) == "test_ops.py"
    groups = {run.group for run in shipped.runs.values()}
    assert {"opinfo", "function transforms", "tensors", "autograd", "modules", "compiler"} <= groups
    assert {"test_unary_ufuncs.py", "test_linalg.py", "test_optim.py", "functorch/test_vmap.py"} <= shipped.runs.keys()
    assert all(reason.strip() for reason in shipped.reasons.values())
    assert shipped.reason("distributed/tensor/test_dtensor.py").startswith("distributed")
    assert shipped.reason("test_of_tomorrow.py") == ""
