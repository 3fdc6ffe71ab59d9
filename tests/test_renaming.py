"""The alias map: one test, or all tests of an op, a class or a file, under their new names."""

import pytest

from conformance import renaming
from conformance.errors import UsageError
from conformance.outcomes import TestId
from conformance.renaming import Renames

UPSTREAM = TestId(
    suite="upstream", file="test_ops", cls="TestCommon", name="test_out_special_airy_ai_float32",
    op="special.airy_ai", dtype="float32",
)  # fmt: skip
VARIANT = TestId(
    suite="upstream", file="test_ops", cls="TestGradients", name="test_fn_grad_std_mean_unbiased_float64",
    op="std_mean", variant="unbiased", dtype="float64",
)  # fmt: skip
BUILT_IN = TestId(suite="ops", file="forward", cls="special.airy_ai", name="float32", op="special.airy_ai")


def test_an_op_is_renamed_in_every_suite_and_never_within_a_longer_word() -> None:
    renames = Renames(
        ops={"special.airy_ai": "special.airy", "std_mean.unbiased": "std_and_mean.unbiased", "out": "in"}
    )
    assert renames.renamed(UPSTREAM) == "upstream::test_ops::TestCommon::test_out_special_airy_float32"
    assert renames.renamed(BUILT_IN) == "ops::forward::special.airy::float32"
    assert renames.renamed(VARIANT) == "upstream::test_ops::TestGradients::test_fn_grad_std_and_mean_unbiased_float64"


def test_the_plain_op_is_another_one_than_its_variant() -> None:
    renames = Renames(ops={"std_mean": "std_and_mean"})
    assert renames.renamed(VARIANT) == VARIANT.key
    assert not renames.concerns(VARIANT)


def test_an_op_whose_name_is_a_part_of_a_word_stays_that_word() -> None:
    test = TestId(suite="upstream", file="f", cls="C", name="test_additive_add_float32", op="add", dtype="float32")
    assert Renames(ops={"add": "sum"}).renamed(test) == "upstream::f::C::test_additive_sum_float32"


def test_classes_and_files_are_renamed_together_with_an_op() -> None:
    renames = Renames(
        ops={"special.airy_ai": "airy"}, classes={"test_ops::TestCommon": "test_ops::TestEvery"},
        files={"test_ops": "ops/test_all"},
    )  # fmt: skip
    assert renames.renamed(UPSTREAM) == "upstream::ops/test_all::TestEvery::test_out_airy_float32"
    assert renames.wide


def test_the_entry_of_one_test_comes_first() -> None:
    renames = Renames(tests={UPSTREAM.key: "upstream::f::C::x"}, ops={"special.airy_ai": "airy"})
    assert renames.renamed(UPSTREAM) == "upstream::f::C::x"


def test_the_shipped_map_is_whole_and_a_broken_one_is_refused_by_name() -> None:
    assert len(renaming.shipped().tests) == 1
    with pytest.raises(UsageError, match="has a section 'op': it may have classes, files, ops, tests"):
        renaming.read("[op]\na = 'b'\n")
    with pytest.raises(UsageError, match="two old names one new one in 'ops'"):
        renaming.read("[ops]\na = 'c'\nb = 'c'\n")
