"""A model's opinion is asked for once, and proposed only if the checks agree with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import ModelFault
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.checks.check_result import (
    QuestionVerdict,
    VerifiedQuestion,
    VerifyResult,
)
from recall_bench.features.personas.checks.verify_pass import (
    MAX_CHARACTERS,
    ModelOpinion,
    parse_opinion,
    verify_questions,
)
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.pass_request import VerifyRequest
from recall_bench.systems.models.model import Prompt
from tests.features.personas.scripted_model import ScriptedModel
from tests.loops import loop_over_rows
from tests.stories.lint.lint_story import question, secret, write

DAYS = {
    1: "The toll for barges is £40. " + "Rain on the cut and on the towpath. " * 20,
    2: "Hob Tarn mended the winch of the upper gate with a cotter pin.",
    9: "# session: boats\n\n### Moorings\nThree boats lay at the quay.\n\n"
    "# session: audit\n\n### Shortfall\nVera Sand put the shortfall at £9,300, hidden by a clerk "
    "who forged receipts in violet ink.",
    12: "The toll for canoes was still £40 when the *Ibis* came.",
    20: "Frost on the sluice.",
}
TOLL = question("What did barges pay on 2025-03-03?", "£40.", 1)
WINCH = question("What did Hob Tarn mend on 2025-03-04?", "The winch of the upper gate.", 2)
KEPT = secret("How large was the shortfall?", "That is not for this group.", 9)
ALL = (TOLL, WINCH, KEPT)


def reply(verdict: str = "ANSWERABLE", **more: object) -> str:
    return json.dumps({"verdict": verdict, "reasoning": "As it says."} | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, DAYS, ALL)


def verified(folder: Path, model: ScriptedModel, **fields: Any) -> VerifyResult:
    return verify_questions(VerifyRequest(persona=folder, model="scripted", **fields), model=model)


def of(found: VerifyResult, asked: Any) -> VerifiedQuestion:
    return next(line for line in found.lines if line.id == asked["id"])


def about(prompt: Prompt, asked: Any) -> bool:
    return json.dumps(asked["question"], ensure_ascii=False) in prompt.user


def saying(asked: Any, said: str) -> ScriptedModel:
    return ScriptedModel(lambda prompt: said if about(prompt, asked) else reply())


def test_each_question_is_put_once_with_its_days(folder: Path) -> None:
    model = ScriptedModel(lambda _: reply())

    found = verified(folder, model)

    assert len(model.asked) == 3
    assert [line.verdict for line in found.lines] == [QuestionVerdict.ANSWERABLE] * 3
    prompt = next(each.user for each in model.asked if about(each, TOLL))
    assert "[day 1, 2025-03-03, session principal]" in prompt
    assert "still £40" in prompt, "the latest later day that shares a value"
    assert "[day 20" not in prompt
    assert found.exit_code == 0


def test_what_everyone_knows_is_shown_too(folder: Path) -> None:
    path = folder / "persona.yaml"
    known = {"sharedKnowledge": ["The lock is on the east side"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **known}))
    model = ScriptedModel(lambda _: reply())

    verified(folder, model)

    assert all("The lock is on the east side" in each.user for each in model.asked)


def test_a_model_is_never_shown_an_empty_log(tmp_path: Path) -> None:
    """In another language, question and day may have no word in common."""
    asked = question("¿Quién lo pagó?", "Nadie.", 20)
    model = ScriptedModel(lambda _: reply())
    verified(write(tmp_path, DAYS, (asked,)), model)

    assert "Frost on the sluice." in model.asked[0].user
    assert "[day 12," not in model.asked[0].user


def test_a_question_that_goes_anyway_is_not_asked_about(tmp_path: Path) -> None:
    folder = write(tmp_path, DAYS, [WINCH, {**WINCH, "id": "lock-2"}])
    model = ScriptedModel(lambda _: reply())

    verified(folder, model)

    assert len(model.asked) == 1


def test_what_is_shown_of_the_days_is_bounded(tmp_path: Path) -> None:
    long = "".join(f"\n\n### Toll {n}\nBarges pay the toll, says note {n}." for n in range(2000))
    folder = write(tmp_path, {1: f"The toll for barges is £40.{long}"}, [TOLL])
    model = ScriptedModel(lambda _: reply())

    verified(folder, model)

    assert len(model.asked[0].user) < MAX_CHARACTERS * 1.8
    assert "£40" in model.asked[0].user


def test_nothing_is_asked_twice(folder: Path) -> None:
    verified(folder, ScriptedModel(lambda _: reply()))
    before = (folder / "qa-20d" / "verification.jsonl").read_bytes()
    silent = ScriptedModel(lambda _: ModelFault("must not be asked"))

    found = verified(folder, silent)

    assert silent.asked == []
    assert found.usage.cached == 3
    assert (folder / "qa-20d" / "verification.jsonl").read_bytes() == before


def test_a_run_cut_short_writes_nothing_and_goes_on(folder: Path) -> None:
    first = ScriptedModel(lambda _: reply(), cost_usd=1.0)

    cut = verified(folder, first, parallelism=1, max_cost_usd=1.0)

    assert cut.stopped is not None
    assert cut.verification is None
    assert not (folder / "qa-20d" / "verification.jsonl").exists()
    second = ScriptedModel(lambda _: reply())
    whole = verified(folder, second, parallelism=1)
    assert len(first.asked) + len(second.asked) == 3
    assert whole.exit_code == 0


def test_an_unreadable_reply_is_mended_and_one_that_stays_so_is_missing(folder: Path) -> None:
    model = saying(WINCH, "I think it is fine.")

    found = verified(folder, model)

    assert [each.unit for each in found.missing] == [f"question {WINCH['id']}"]
    assert found.exit_code == 10
    assert "An earlier reply was rejected" in model.asked[-1].user
    assert of(found, WINCH).model is None
    assert len(load_lines(folder)) == 3


def test_what_the_model_doubts_is_a_problem(folder: Path) -> None:
    said = reply("DEFECTIVE", unsupported_claims=["the upper\ngate"], reasoning="\ud83d!")

    line = of(verified(folder, saying(WINCH, said)), WINCH)

    assert line.verdict is QuestionVerdict.DEFECTIVE
    assert [p.message for p in line.problems] == [
        "the model finds no support for “the upper gate”; leave it out, or name its day"
    ]
    assert line.repair is None


def test_a_suggestion_that_passes_the_checks_is_proposed(folder: Path) -> None:
    said = reply("NEEDS_CLEANUP", suggested_answer="The winch.", irrelevant_after_day=8)

    found = verified(folder, saying(WINCH, said))

    rows = load_yaml(folder / "qa-20d" / "questions.proposed-1.yaml")
    assert isinstance(rows, list)
    changed = {"answer": "The winch.", "irrelevant_after": 8, "changes_on": 9}
    assert rows == [TOLL, {**WINCH, **changed}, KEPT]
    assert of(found, WINCH).verdict is QuestionVerdict.NEEDS_CLEANUP


@pytest.mark.parametrize(
    ("suggested", "why"),
    [
        ({"suggested_answer": "A capstan and its £77 chain."}, "brings problems of its own"),
        ({"suggested_question": "What was mended in this window?"}, "brings problems of its own"),
    ],
)
def test_a_suggestion_that_the_checks_fault_is_refused(
    folder: Path, suggested: dict[str, object], why: str
) -> None:
    line = of(verified(folder, saying(WINCH, reply("DEFECTIVE", **suggested))), WINCH)

    assert line.repair is None
    assert line.refused is not None
    assert why in line.refused


@pytest.mark.parametrize("place", [0, 1], ids=["before it", "after it"])
def test_a_suggestion_that_repeats_another_question_is_refused(tmp_path: Path, place: int) -> None:
    pin = question("With what did Hob Tarn mend it on 2025-03-04?", "With a cotter pin.", 2)
    both = [WINCH]
    both.insert(place, pin)
    folder = write(tmp_path, DAYS, both)
    again = reply("DEFECTIVE", suggested_question=WINCH["question"], suggested_answer="The winch.")

    line = of(verified(folder, saying(pin, again)), pin)

    assert line.refused is not None
    assert "asks the same" in line.refused


@pytest.mark.parametrize(
    ("suggested", "told"),
    [
        ({"suggested_answer": "The shortfall was £9,300."}, "£9,300"),
        ({"suggested_answer": "A clerk hid it."}, "clerk"),
        ({"suggested_question": "How large was the shortfall the clerk hid?"}, "clerk"),
    ],
)
def test_a_suggestion_that_would_disclose_a_secret_is_refused(
    folder: Path, suggested: dict[str, object], told: str
) -> None:
    """Repairs by a model once wrote the secrets into the references that should refuse them."""
    found = verified(folder, saying(KEPT, reply("DEFECTIVE", **suggested)))

    line = of(found, KEPT)
    assert line.repair is None
    assert line.refused is not None
    assert f"would disclose {told}" in line.refused
    assert found.proposal is None


def test_a_secret_may_be_kept_in_other_words(folder: Path) -> None:
    said = reply("NEEDS_CLEANUP", suggested_answer="I cannot tell that here.")

    repair = of(verified(folder, saying(KEPT, said)), KEPT).repair

    assert repair is not None
    assert repair.changes == {"answer": "I cannot tell that here."}


@loop_over_rows(
    "text",
    [
        "",
        "fine",
        reply("MAYBE"),
        reply(unsupported_claims="all"),
        reply(suggested_answer=7),
        reply(suggested_answer="a\ud83db"),
        reply(suggested_question="a\x7fb"),
        reply(irrelevant_after_day=3),
        reply(irrelevant_after_day=20),
        reply(irrelevant_after_day="9"),
        reply(irrelevant_after_day=True),
    ],
)
def test_a_reply_that_is_no_opinion_is_rejected(text: str) -> None:
    assert isinstance(parse_opinion(text, first=9, last=20), RejectedReply)


def test_words_around_an_opinion_are_forgiven() -> None:
    found = parse_opinion(f"Sure!\n```json\n{reply()}\n```", first=1, last=20)

    assert found == ModelOpinion(verdict=QuestionVerdict.ANSWERABLE, reasoning="As it says.")


def load_lines(folder: Path) -> list[str]:
    return (folder / "qa-20d" / "verification.jsonl").read_text(encoding="utf-8").splitlines()
