"""Lists of other projects: read without running anything, resolved exactly or not at all, hostile ones included."""

import json
import tomllib
from datetime import date
from pathlib import PurePath

import pytest

from conformance.errors import UsageError
from conformance.expectations.imports import formats
from conformance.expectations.imports.entries import entries
from conformance.expectations.imports.formats import Listed
from conformance.expectations.imports.resolve import Plan, Resolved, without_plan
from conformance.expectations.writing import text_of
from conformance.outcomes import TestId


def upstream(file: str, cls: str, name: str, dtype: str = "") -> TestId:
    return TestId(suite="upstream", file=file, cls=cls, name=name, dtype=dtype)


OUT = upstream("test_ops", "TestCommon", "test_out_add_float32", "float32")
OUT_TOO = upstream("test_ops", "TestCommon", "test_out_add_int64", "int64")
DTYPES = upstream("test_ops", "TestCommon", "test_dtypes_addmm")
VMAP = upstream("functorch/test_ops", "TestOperators", "test_vmap_add_float32", "float32")
TWICE = [upstream(file, "TestBoth", "test_same") for file in ("test_a", "test_b")]
PLAIN = upstream("test_torch", "TestTorch", "test_cpu_only")
BARE = upstream("test_torch", "", "test_bare")
PLAN = Plan([OUT, OUT_TOO, DTYPES, VMAP, *TWICE, PLAIN, BARE, TestId(suite="ops", file="f", cls="c", name="n")])


def keys(name: str, **more: object) -> tuple[str, ...]:
    made = PLAN.resolve([Listed(name=name, **more)])  # type: ignore[arg-type]
    return made.found[0][1] if made.found else ()


def why(name: str, **more: object) -> str:
    return PLAN.resolve([Listed(name=name, **more)]).left[0][1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("test_out_add_npu_float32 (__main__.TestCommonNPU)", OUT),
        ("test_out_add_npu_float32 (__main__.TestCommonPRIVATEUSE1)", OUT),
        ("test_out_add_xpu_float32 (test_ops.TestCommonXPU)", OUT),
        ("test/test_ops.py::TestCommonXPU::test_out_add_xpu_float32", OUT),
        ("test_ops.TestCommonCUDA.test_out_add_cuda_float32", OUT),
        ("test_dtypes_addmm_npu (__main__.TestCommonNPU)", DTYPES),
        ("test_vmap_add_privateuse1_float32 (functorch.test_ops.TestOperatorsPRIVATEUSE1)", VMAP),
        ("test_cpu_only (__main__.TestTorch)", PLAIN),
        ("test_cpu_only", PLAIN),
        ("test_bare", BARE),
        ("test_out_add_xpu_float32", OUT),
        (OUT.key, OUT),
        ("ops::f::c::n", TestId(suite="ops", file="f", cls="c", name="n")),
    ],
)
def test_a_name_in_any_of_the_usual_forms_is_the_planned_test(name: str, test: TestId) -> None:
    assert keys(name) == (test.key,)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("test_same (__main__.TestBoth)", "2 planned tests have this name, in test_a::TestBoth, test_b::TestBoth"),
        ("test_out_add_npu_float32 (__main__.TestComm)", "no planned test has this name"),
        ("test_out_add_npu_float32 (test_nn.TestCommonNPU)", "no planned test has this name"),
        ("test_out_add_npu", "no planned test has this name"),
        ("test_out_ad", "no planned test has this name"),
        ("x" * 3_000, "its name has 3,000 characters"),
    ],
)
def test_what_is_not_told_exactly_is_not_guessed(name: str, reason: str) -> None:
    assert why(name) == reason


def test_the_file_decides_where_a_name_tells_it() -> None:
    assert keys("test_same (test_a.TestBoth)") == (TWICE[0].key,)


def test_parts_of_names_are_expanded_as_pytest_would_within_their_file() -> None:
    assert keys("test_out_add_xpu", file="test_ops_xpu.py", pattern=True) == (OUT.key, OUT_TOO.key)
    assert keys("TESTCOMMONXPU", file="test_ops_xpu.py", pattern=True) == (OUT.key, OUT_TOO.key, DTYPES.key)
    assert keys("add", file="functorch/test_ops_xpu.py", pattern=True) == (VMAP.key,)
    # With the device in it, a part ends where the device stands: `test_dtypes_add_xpu` is no part of addmm's name.
    assert why("test_dtypes_add_xpu", file="test_ops_xpu.py", pattern=True) == "it is part of no planned test's name"
    assert keys("test_dtypes_add", file="test_ops_xpu.py", pattern=True) == (DTYPES.key,)
    assert why("a and b", file="test_ops_xpu.py", pattern=True) == "it is an expression, not a part of a name"
    assert why("a", file="test_gone.py", pattern=True) == "no test of test_gone.py is planned"


def test_without_a_plan_only_names_that_say_everything_are_taken() -> None:
    names = ("test_x_npu_int8 (nn.test_a.TestBNPU)", "test_x (__main__.TestB)", "test/test_a.py::TestB::test_y",
             "upstream::f::c::n")  # fmt: skip
    made = without_plan([Listed(name=each) for each in names] + [Listed(name="part", pattern=True)])
    assert [found for _, found in made.found] == [
        ("upstream::nn/test_a::TestB::test_x_int8",), ("upstream::test_a::TestB::test_y",), ("upstream::f::c::n",)
    ]  # fmt: skip
    assert [each.name for each, _ in made.left] == [names[1], "part"]
    assert all(reason.endswith("give a plan with --plan-of RUN") for _, reason in made.left)


def test_pytorchs_disabled_tests_are_read_with_issue_and_platforms_and_ascends_with_their_words() -> None:
    url = "https://github.com/pytorch/pytorch/issues/12"
    found = formats.disabled_tests(
        json.dumps(
            {
                "a (__main__.T)": ["12", url, ["linux", "rocm"]], "b (__main__.T)": ["13", url, ["rocm"]],
                "c (__main__.T)": ["14", url, []], "d (__main__.T)": ["", [""]],
                "e (__main__.T)": ["no int8", ["DTYPE"]],
                "f (__main__.T)": "odd", "g (__main__.T)": [1, 2],
            }
        ).encode()
    )  # fmt: skip
    assert [(each.name[0], each.reason, each.link) for each in found.tests] == [
        ("a", f"disabled upstream: {url}", url), ("c", f"disabled upstream: {url}", url), ("d", "", ""),
        ("e", "no int8; DTYPE", ""),
    ]  # fmt: skip
    assert found.left_out == (
        "1 entry for other platforms than Linux", "2 entries whose value is not [issue, url, [platforms]]"
    )  # fmt: skip


def test_a_plain_list_has_a_test_a_line_and_reasons_behind_a_hash() -> None:
    found = formats.plain_list(b"# about\n\ntest_a  # too slow\n  test_b (m.C)\r\n")
    assert [(each.name, each.reason) for each in found.tests] == [("test_a", "too slow"), ("test_b (m.C)", "")]


SKIPS = """
import os
os.system("touch {marker}")
DIR = "../test"
skip_dict = {{
    "test_ops_xpu.py": ("test_a", "test_b",),
    "test_nn_xpu.py": None,
    "test_c.py": [],
    "test_one.py": "single",
    DIR + "/nn/test_d.py": ("test_e",),
    "test_f.py": ("x", os.getcwd()),
}}
"""


def test_a_skip_dictionary_is_parsed_and_never_run(tmp_path: PurePath) -> None:
    marker = tmp_path / "ran"
    found = formats.skip_dict(SKIPS.format(marker=marker).encode())
    assert [(each.file, each.name) for each in found.tests] == [
        ("test_ops_xpu.py", "test_a"), ("test_ops_xpu.py", "test_b"), ("test_one.py", "single")
    ]  # fmt: skip
    assert all(each.pattern for each in found.tests)
    assert found.left_out == ("2 parts not written as plain text and lists of it",)
    assert not marker.exists()  # type: ignore[attr-defined]


HOSTILE = {
    "disabled-tests": [b"[" * 200_000, b"[]", b"{", b"\xff\xfe", b'{"a": ' + b"[" * 100_000],
    "list": [b"\xff"],
    "skip-dict": [
        b"skip_dict = " + b"(" * 100_000, b"x = 1", b"skip_dict = {", b"skip_dict = 1\0", b"\xff",
        b"skip_dict = " + b"-" * 100_000 + b"1",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("form", "data"), [(form, each) for form, many in HOSTILE.items() for each in many])
def test_a_file_that_is_something_else_is_refused_in_one_sentence(form: str, data: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        formats.FORMATS[form](data)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


def test_entries_are_one_a_reason_and_read_back_as_written_whatever_the_names_hold() -> None:
    url = "https://github.com/pytorch/pytorch/issues/12"
    odd = 'upstream::f::C::test["\n\x1b[31m\u202e\ud800\x7f]'
    resolved = Resolved(
        found=[
            (Listed(name="a", reason="r", link=url), ("s::f::C::a",)),
            (Listed(name="b"), (odd, "s::f::C::a")),
            (Listed(name="c", reason="r", link=url), ("s::f::C::c",)),
            (Listed(name="d", reason="other", link=url), ("s::f::C::d",)),
        ]
    )
    made = list(entries(resolved, PurePath("Skip List.json"), "me", date(2027, 1, 2)))
    text = "\n".join(text_of("skip", each) for each in made)
    assert all(line.isprintable() for line in text.split("\n"))
    read = tomllib.loads(text)["skip"]
    assert [each["id"] for each in read] == ["imported-issue-12", "imported-skip-list-2", "imported-issue-12-3"]
    assert read[0]["tests"] == ["s::f::C::a", "s::f::C::c"]
    assert read[1]["tests"] == [odd.replace("\ud800", "\ufffd")]
    assert (read[1]["reason"], read[1]["owner"], read[1]["added"]) == ("", "me", date(2027, 1, 2))
