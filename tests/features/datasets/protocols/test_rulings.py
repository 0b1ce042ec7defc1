"""BEAM by nuggets, HaluMem by three words, LongMemEval-V2 by the rule that a question names."""

import pytest

from recall_bench.core.errors import Malformed, UnreadableVerdict
from recall_bench.core.verdict import Finding
from recall_bench.features.datasets.protocols.halumem_protocol import grade_halumem
from recall_bench.features.datasets.protocols.longmemeval_v2_protocol import grade_longmemeval_v2
from recall_bench.features.datasets.protocols.nugget_protocol import grade_nuggets
from recall_bench.judging.protocols.protocol import Submission
from tests.scripted_model import ScriptedModel

pytestmark = pytest.mark.anyio

RUBRIC = Submission(
    question="How hot is the kiln?",
    answer="It reaches cone ten.",
    golds=("Cone ten",),
    nuggets=("states cone ten", "states who fired it", "names no other kiln"),
)


async def test_a_nugget_is_asked_about_on_its_own_and_all_count_the_same() -> None:
    model = ScriptedModel("full", "none", "Half.")

    score = await grade_nuggets(RUBRIC, model)

    assert score.value == 0.5
    assert score.reason == "scripted says full, none, half of 3 nuggets"
    assert ["states who fired it" in prompt.user for prompt in model.asked] == [False, True, False]
    assert all("How hot is the kiln?" in prompt.user for prompt in model.asked)


async def test_a_blank_answer_gets_nothing_and_an_answer_without_rubric_is_refused() -> None:
    model = ScriptedModel()

    assert (await grade_nuggets(Submission(answer=" ", nuggets=("x",)), model)).value == 0.0
    with pytest.raises(Malformed, match="has no rubric"):
        await grade_nuggets(Submission(answer="Cone ten."), model)


async def test_another_word_is_no_mark() -> None:
    with pytest.raises(
        UnreadableVerdict, match=r"for full or half or none and last replied '0\.5'"
    ):
        await grade_nuggets(RUBRIC, ScriptedModel("0.5", "0.5", "0.5"))


@pytest.mark.parametrize(
    ("reply", "value", "findings"),
    [
        ("correct", 1.0, ()),
        ("Hallucination", 0.0, (Finding.FABRICATION,)),
        ("omission.", 0.0, (Finding.ABSTENTION,)),
    ],
)
async def test_an_answer_is_correct_invented_or_left_out(
    reply: str, value: float, findings: tuple[Finding, ...]
) -> None:
    score = await grade_halumem(RUBRIC, ScriptedModel(reply))

    assert (score.value, score.findings) == (value, findings)


async def test_a_blank_answer_is_an_omission() -> None:
    score = await grade_halumem(Submission(answer="", golds=("x",)), ScriptedModel())

    assert (score.value, score.findings) == (0.0, (Finding.ABSTENTION,))


SET = "norm_phrase_set_match|lower=true|separators=,;|require_non_empty=true"
ORDER = "norm_phrase_set_match_ordered|separators=;"


@pytest.mark.parametrize(
    ("rule", "gold", "answer", "value"),
    [
        (SET, "Open Cases, Closed-Cases", r"So: \boxed{closed cases and Open cases}", 1.0),
        (SET, "Open Cases, Closed-Cases", r"Open cases, closed cases. \boxed{open cases}", 0.0),
        (SET, "art", "a cart", 0.0),
        (ORDER, "Reports;Problems", "first Reports, then Problems", 1.0),
        (ORDER, "Reports;Problems", "Problems; Reports", 0.0),
        (ORDER, "a, b;c", "c a, b", 0.0),
        ("mc_choice_match", "B", "Option B.", 1.0),
        ("mc_choice_match", "B", "B or C", 0.0),
        ("mc_choice_set_match", "A,C", r"\boxed{C and A}", 1.0),
        ("mc_choice_set_match", "A,C", "A", 0.0),
        (SET, "unknown", "Unknown", 0.0),
        ("llm_gotchas_checker", "Save twice", "", 0.0),
    ],
)
async def test_most_rules_are_computed_and_ask_no_model(
    rule: str, gold: str, answer: str, value: float
) -> None:
    model = ScriptedModel()

    score = await grade_longmemeval_v2(
        Submission(answer=answer, golds=(gold,), grading=rule), model
    )

    assert score.value == value
    assert model.asked == []


@pytest.mark.parametrize(
    ("answer", "options", "value"),
    [
        ("OPEN settings", "lower=True", 1.0),
        ("OPEN settings", "lower=FALSE", 0.0),
        ("open settings", "lower=null", 0.0),
        ("save it open settings", 'separators=[" then "]', 1.0),
        ("sav it op settigs", 'separators=[" then "]', 0.0),
    ],
)
async def test_options_are_read_as_upstream_reads_them(
    answer: str, options: str, value: float
) -> None:
    gold = "Open settings then save it" if "separators" in options else "Open settings"
    rule = f"norm_phrase_set_match|{options}"

    score = await grade_longmemeval_v2(
        Submission(answer=answer, golds=(gold,), grading=rule), ScriptedModel()
    )

    assert score.value == value


async def test_separators_that_are_no_list_of_texts_are_refused() -> None:
    rule = "norm_phrase_set_match|separators=[1]"
    with pytest.raises(Malformed, match="is not a list of texts"):
        await grade_longmemeval_v2(
            Submission(answer="x", golds=("x",), grading=rule), ScriptedModel()
        )


@pytest.mark.parametrize("rule", ["llm_gotchas_checker", "llm_abstention_checker|x=y"])
async def test_two_rules_ask_a_model(rule: str) -> None:
    model = ScriptedModel("yes")

    score = await grade_longmemeval_v2(
        Submission(question="How do I save?", answer="Twice.", golds=("Save twice",), grading=rule),
        model,
    )

    assert score.value == 1.0
    assert "Save twice" in model.asked[0].user


async def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(Malformed, match="'regex' is not a rule"):
        await grade_longmemeval_v2(
            Submission(answer="x", golds=("x",), grading="regex|x"), ScriptedModel()
        )
