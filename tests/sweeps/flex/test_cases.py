"""The 96 cases: what is planned, what their functions let through, and the dense computation that they are held to."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from conformance.plan import PlannedTest, Selection
from sweeps.flex import cases, planning, reference
from sweeps.flex.cases import Case, Shape
from sweeps.flex.questions import Question, questions
from sweeps.flex.variants import BUILDERS, Mods, Problem

SQUARE = Shape(batch=2, heads=2, kv_heads=2, queries=64, keys=64, width=8, value_width=8)


def planned(folder: Path, **chosen: object) -> list[PlannedTest]:
    selection = Selection(suites=(cases.SUITE,), **chosen)  # type: ignore[arg-type]
    return list(planning.collect(selection, "sim", "sim-1.1", folder))


def case_of(variant: str, group: str = "extra") -> Case:
    return next(each for each in cases.shipped() if (each.variant, each.group) == (variant, group))


def seen(variant: str, shape: Shape = SQUARE) -> torch.Tensor:
    """Which keys each query sees in the first entry and head: (queries, keys)."""
    mask = BUILDERS[variant](Problem(shape=shape, device="cpu")).mask
    assert mask is not None
    grids = [torch.tensor(0), torch.tensor(0), torch.arange(shape.queries)[:, None], torch.arange(shape.keys)]
    return mask(*grids).expand(shape.queries, shape.keys)


def test_ninety_six_cases_are_planned_each_with_its_shapes_and_dtype_in_its_identity(tmp_path: Path) -> None:
    tests = planned(tmp_path)
    assert Counter(each.id.file for each in tests) == {"core": 48, "gqa": 24, "backward": 12, "extra": 12}
    assert len({each.key for each in tests}) == len({each.definition for each in tests}) == 96
    assert "flex_attention::gqa::alibi::B2-H8-KV2-Q1-K512-D64_float32" in {each.key for each in tests}
    assert Counter(each.id.dtype for each in tests) == {"float32": 65, "bfloat16": 30, "float16": 1}
    assert cases.read(tmp_path / planning.CASES).keys() == {each.key for each in tests}
    assert all(each.compile_limit == 300.0 for each in cases.read(tmp_path / planning.CASES).values())


def test_a_selection_names_the_suite_or_its_variants_as_ops(tmp_path: Path) -> None:
    assert len(planned(tmp_path, ops=("flex_attention",))) == 96
    assert {each.id.variant for each in planned(tmp_path, ops=("flex_attention.natten", "add"))} == {"natten"}
    assert not planned(tmp_path, ops=("add",))
    assert not planned(tmp_path, tests=("test_nn.py",))


def test_a_test_is_another_one_with_the_list_of_devices_extended_under_the_same_identity(tmp_path: Path) -> None:
    plain, extended = planned(tmp_path / "a"), planned(tmp_path / "b", extend_flex_devices=True)
    assert [each.key for each in plain] == [each.key for each in extended]
    assert not {each.definition for each in plain} & {each.definition for each in extended}


def test_the_compiler_s_known_refusals_on_the_simulated_device_are_foreseen(tmp_path: Path) -> None:
    foreseen = {each.id.variant: each.expected for each in planned(tmp_path) if each.expected}
    assert {name: each.code for name, each in foreseen.items()} == {
        "dynamic": "NCC_EMOD025", "plain-call": "NCC_EVRF013",
    }  # fmt: skip


def test_no_two_functions_give_the_same_answer() -> None:
    # More tokens than a chunk has.
    shape = Shape(batch=2, heads=2, kv_heads=2, queries=144, keys=144, width=8, value_width=8)
    inputs = [torch.randn(2, 2, 144, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))] * 3
    answers = {}
    for name, build in BUILDERS.items():
        output, _ = reference.dense(inputs, build(Problem(shape=shape, device="cpu", dtype=torch.float64)))
        answers[name] = output
    # Causal is written in two ways; these two alone are the same question.
    same = {
        (one, other)
        for one in answers
        for other in answers
        if one < other and torch.equal(answers[one], answers[other])
    }
    assert same == {("causal", "causal-as-score")}
    assert len(answers) == 19


def test_masks_let_through_what_their_names_say() -> None:
    lower = torch.ones(64, 64).tril().bool()
    assert torch.equal(seen("causal"), lower)
    assert torch.equal(seen("sliding"), lower & ~torch.ones(64, 64).tril(-32).bool())
    assert seen("natten").sum(1).unique().tolist() == [49]
    assert seen("prefix")[0].sum() == 16
    assert seen("document")[-1].nonzero().flatten().tolist() == [*range(50, 64)]
    assert seen("dilated")[20].nonzero().flatten().tolist() == [0, 4, 8, 12, 16, 20]
    assert seen("global-sliding")[63].nonzero().flatten().tolist() == [0, 1, 2, 3, *range(32, 64)]
    longer = Shape(batch=1, heads=1, kv_heads=1, queries=128, keys=128, width=8, value_width=8)
    assert seen("chunked", longer)[70].nonzero().flatten().tolist() == [*range(64, 71)]
    # Text up to 31, an image from 32 to 95, text again.
    assert seen("transfusion", longer)[40].nonzero().flatten().tolist() == [*range(96)]
    assert seen("transfusion", longer)[10].nonzero().flatten().tolist() == [*range(11)]


def test_a_decoded_token_stands_behind_all_keys() -> None:
    decode = Shape(batch=1, heads=1, kv_heads=1, queries=1, keys=64, width=8, value_width=8)
    assert int(seen("causal", decode).sum()) == 64
    assert seen("sliding", decode)[0].nonzero().flatten().tolist() == [*range(32, 64)]


@pytest.mark.parametrize(("variant", "group"), [("causal", "backward"), ("causal", "gqa"), ("logsumexp", "extra")])
def test_the_dense_answer_is_that_of_pytorch_s_own_attention(variant: str, group: str) -> None:
    (question,) = questions(case_of(variant, group))
    inputs = [each.double().requires_grad_() for each in question.inputs]
    output = scaled_dot_product_attention(*inputs, is_causal=True, enable_gqa=group == "gqa")
    answer = reference.answer(question)
    assert torch.allclose(answer["output"], output, rtol=1e-12, atol=1e-12)
    if group == "backward":
        gradients = torch.autograd.grad(output, inputs, question.cotangent.double())
        for name, each in zip(("query", "key", "value"), gradients, strict=True):
            assert torch.allclose(answer[f"gradient of {name}"], each, rtol=1e-10, atol=1e-12)
    if variant == "logsumexp":
        weights = torch.exp(_scores(question) - answer["logsumexp"].unsqueeze(-1)).tril()
        assert torch.allclose(weights.sum(-1), torch.ones(1, dtype=torch.float64))


def _scores(question: Question) -> torch.Tensor:
    query, key, _ = (each.double() for each in question.inputs)
    return query @ key.transpose(-2, -1) / 8.0


def test_a_row_in_which_nothing_is_seen_is_zero() -> None:
    def nothing_for_the_first(_b: torch.Tensor, _h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (q > 0) & (k >= 0)

    output, logsumexp = reference.dense([torch.ones(1, 1, 4, 2).double()] * 3, Mods(mask=nothing_for_the_first))
    assert output[0, 0, 0].tolist() == [0.0, 0.0]
    assert output[0, 0, 1].tolist() == pytest.approx([1.0, 1.0])
    assert logsumexp[0, 0, 0] == -torch.inf


def test_a_learned_table_has_a_gradient() -> None:
    (question,) = questions(case_of("relative-bias", "backward"))
    found = reference.answer(question)["gradient of learned[0]"]
    assert found.shape == (4, 63)
    assert bool((found != 0).all())


def test_inputs_are_the_same_wherever_they_are_drawn_and_others_for_another_case() -> None:
    one, again = (next(questions(case_of("dilated"))) for _ in range(2))
    other = next(questions(case_of("chunked")))
    assert torch.equal(one.inputs[0], again.inputs[0])
    assert not torch.equal(one.inputs[0], other.inputs[0])


def test_grouped_heads_come_as_views_with_the_strides_of_a_projection() -> None:
    question = next(questions(case_of("causal", "gqa")))
    assert not question.inputs[0].is_contiguous()
    assert question.inputs[0].transpose(1, 2).is_contiguous()
    assert question.placed("cpu").inputs[1].stride() == question.inputs[1].stride()
