"""Test files that were named by path are watched, and a run over others is not resumed."""

from pathlib import Path

from conformance.plan import Selection
from conformance.supervision import given


def test_named_files_are_taken_and_folders_and_files_of_a_tree_are_not(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("a = 1\n")
    (tmp_path / "test_ops.py").write_text("b = 1\n")
    asked = Selection(
        suites=("upstream",), files=("test_ops.py",),
        tests=(f"{tmp_path}/test_a.py::TestA", str(tmp_path), "test_ops.py", "not_there.py"),
    )  # fmt: skip
    assert given.files(asked) == [tmp_path / "test_a.py"]


def test_other_contents_are_another_print_wherever_the_file_is(tmp_path: Path) -> None:
    found = []
    for folder, text in (("one", "a = 1\n"), ("two", "a = 1\n"), ("three", "a = 2\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_a.py").write_text(text)
        found.append(given.prints(Selection(suites=("upstream",), tests=(f"{tmp_path}/{folder}/test_a.py",))))
    assert found[0] == found[1] != found[2]
    assert given.prints(Selection(suites=("ops",))) == {}
