"""A question is held against its days before it is kept: one fault, one precise sentence."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.personas.checks.check_result import (
    ProblemKind,
    QuestionCheck,
    QuestionChecker,
)
from recall_bench.features.personas.checks.story_checker import open_checker
from recall_bench.stories.persona_files import Layout
from tests.stories.lint.lint_story import ARCS, Question, correction, question, secret, write

DAYS = {
    1: "Lock rules: the toll for barges is £40, paid to Hob Tarn at the upper gate.",
    2: "Hob Tarn mended the winch of the upper gate with a cotter pin, in heavy rain.",
    3: "The dredger *Ibis* came through at 09:40 and left a dent in the lower gate.",
    6: "Lock rules: the toll for barges is £45, paid to Hob Tarn at the upper gate.",
    9: "# session: boats\n\n### Moorings\nThree boats lay at the quay.\n\n"
    "# session: audit\n\n### Shortfall\nVera Sand put the shortfall at £9,300, hidden by a clerk "
    "who forged receipts in violet ink.",
}
SOUND = question("What did Hob Tarn mend on 2025-03-04?", "The winch of the upper gate.", 2)


@pytest.fixture
def checker(tmp_path: Path) -> QuestionChecker:
    return open_checker(Layout(write(tmp_path, DAYS), ARCS))


def kinds(found: QuestionCheck) -> list[ProblemKind]:
    return [problem.kind for problem in found.problems]


def only(found: QuestionCheck, kind: ProblemKind) -> str:
    assert kinds(found) == [kind]
    return found.problems[0].message


def test_a_sound_question_has_no_problem_and_no_repair(checker: QuestionChecker) -> None:
    assert checker.check(SOUND) == QuestionCheck(problems=(), repair=None)


def test_a_candidate_needs_no_id(checker: QuestionChecker) -> None:
    assert checker.check({key: SOUND[key] for key in SOUND if key != "id"}).is_sound


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"category": "factual"}, "category of question"),
        ({"difficulty": None}, "leaves difficulty empty"),
        ({"relevant_days": [2, 4]}, "needs day 4, which the history does not have"),
        ({"relevant_days": [2, 30]}, "needs day 30"),
        ({"relevant_days": []}, "is an empty list"),
        ({"answer": " "}, "answer of question"),
        ({"query_session": "bridge"}, "query_session names bridge, which the persona does not"),
    ],
)
def test_the_format_is_checked_field_by_field(
    checker: QuestionChecker, fields: Question, said: str
) -> None:
    assert said in only(checker.check({**SOUND, **fields}), ProblemKind.FORMAT)


def test_texts_that_no_file_could_hold_are_checked_too(checker: QuestionChecker) -> None:
    asked = {**SOUND, "question": "What did Hob Tarn mend \ud83d on 2025-03-04?\x7f"}

    assert checker.check(asked).is_sound


def test_a_value_that_the_days_do_not_state_is_unsupported(checker: QuestionChecker) -> None:
    asked = question("What did the barges pay in March 2025?", "£52.", 1)

    assert "nothing on day 1 states £52" in only(checker.check(asked), ProblemKind.SUPPORT)


def test_a_free_answer_of_other_words_is_unsupported(checker: QuestionChecker) -> None:
    asked = question("What did Hob Tarn mend on 2025-03-04?", "A leaking rudder cable.", 2)

    assert "not even cabl, leak, rudder" in only(checker.check(asked), ProblemKind.SUPPORT)


def test_that_nothing_is_on_record_needs_no_day(checker: QuestionChecker) -> None:
    asked = {**SOUND, "question": "What was the price of the capstan?", "expects": "abstain"}
    silent: dict[str, object] = {
        "answer": "The log gives no such price.",
        "atoms": None,
        "aliases": None,
        "evidence": [],
    }

    assert checker.check({**asked, **silent}).problems == ()


def test_a_free_answer_may_be_reworded(checker: QuestionChecker) -> None:
    asked = question("What did Hob Tarn do on 2025-03-04?", "He fixed the winch in the rain.", 2)

    assert checker.check(asked).is_sound


@pytest.mark.parametrize(
    ("category", "problems"),
    [("temporal-reasoning", []), ("factual-recall", [ProblemKind.SUPPORT])],
)
def test_only_an_answer_that_is_worked_out_may_count_in_words(
    checker: QuestionChecker, category: str, problems: list[ProblemKind]
) -> None:
    asked = question(
        "How long before the dredger came on 2025-03-05 was the winch mended?",
        "One day earlier instead of two.",
        *(2, 3),
    )

    found = checker.check({**asked, "category": category})
    assert kinds(found) == problems, found


def test_a_no_is_held_against_what_the_day_says(checker: QuestionChecker) -> None:
    asked = question(
        "Did Hob Tarn mend the winch of the upper gate in heavy rain?",
        "No.",
        2,
        category="negative-recall",
    )

    assert "the answer is no, but day 2 says" in only(checker.check(asked), ProblemKind.SUPPORT)


def spanned(start: int, end: int, **more: object) -> Question:
    return {**SOUND, "evidence": [{"day": 2, "start": start, "end": end, **more}]}


def test_evidence_has_to_lie_in_its_day_and_session(checker: QuestionChecker) -> None:
    assert checker.check(spanned(50, 90, session="principal")).is_sound
    assert "characters 50 to 9000" in only(checker.check(spanned(50, 9000)), ProblemKind.SUPPORT)
    wrong = checker.check(spanned(50, 90, session="boats"))
    assert "not of boats" in only(wrong, ProblemKind.SUPPORT)


def test_a_quotation_has_to_stand_where_the_evidence_says(checker: QuestionChecker) -> None:
    there = {**SOUND, "evidence": [{"day": 2, "quote": "mended the winch of the  upper gate"}]}
    absent = {**SOUND, "evidence": [{"day": 2, "quote": "mended the capstan"}]}

    assert checker.check(there).is_sound
    assert "day 2 does not say “mended the capstan”" in only(
        checker.check(absent), ProblemKind.SUPPORT
    )


def test_evidence_has_to_hold_the_value(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "The toll is £40.\n\n### Weather\nFog until noon over the lock."})
    text = (folder / "memories-20d" / "day-0001.md").read_text(encoding="utf-8")
    asked = question("What is the toll by the log of 2025-03-03?", "£40.", 1)
    checker = open_checker(Layout(folder, ARCS))

    def pointing(words: str) -> Question:
        start = text.index(words)
        return {**asked, "evidence": [{"day": 1, "start": start, "end": start + len(words)}]}

    assert checker.check(pointing("The toll is £40.")).is_sound
    lost = checker.check(pointing("Fog until noon"))
    assert "its evidence does not hold £40" in only(lost, ProblemKind.SUPPORT)


TOLL = question("What is the toll for barges at the upper gate?", "£40.", 1)


def test_a_value_that_a_later_day_replaces_is_stale(checker: QuestionChecker) -> None:
    found = checker.check(TOLL)

    assert "£40 holds until day 6, which says “Lock rules: the toll for barges is £45" in only(
        found, ProblemKind.STALENESS
    )
    assert found.repair is not None
    assert found.repair.changes == {"irrelevant_after": 5, "changes_on": 6}


@pytest.mark.parametrize(
    "fields",
    [
        {"irrelevant_after": 5},
        {"question": "What was the toll for barges at the upper gate on 2025-03-03?"},
        {"question": "What was the original toll for barges at the upper gate?"},
        {"answer": "£45.", "relevant_days": [6]},
    ],
    ids=["retired in time", "dated", "asked of the past", "asked of the last value"],
)
def test_a_question_that_says_of_when_it_asks_is_not_stale(
    checker: QuestionChecker, fields: Question
) -> None:
    assert checker.check({**TOLL, **fields}).is_sound


def test_a_question_retired_too_late_is_stale(checker: QuestionChecker) -> None:
    repair = checker.check({**TOLL, "irrelevant_after": 8}).repair

    assert repair is not None
    assert repair.changes["irrelevant_after"] == 5


def test_another_value_of_another_thing_is_no_change(tmp_path: Path) -> None:
    days = {**DAYS, 6: "Lock rules: the toll for canoes is £45, paid to Hob Tarn upstream."}
    days[5] = "Lock rules: the fine for barges is £90, paid to Hob Tarn at the upper gate."
    days[7] = "Lock rules: the toll for barges is £40, paid to Hob Tarn at the upper gate."

    assert open_checker(Layout(write(tmp_path, days), ARCS)).check(TOLL).is_sound


def test_a_value_that_was_known_beside_the_answer_is_no_change(tmp_path: Path) -> None:
    winter = "Lock rules: the toll for barges in winter is £45, paid at the upper gate."
    days = {**DAYS, 2: winter, 6: winter}
    asked = {**TOLL, "relevant_days": [1, 2]}

    assert open_checker(Layout(write(tmp_path, days), ARCS)).check(asked).is_sound


@pytest.mark.parametrize("name", ["CC-320", "*Ibis*"])
def test_a_value_of_another_thing_of_the_kind_is_no_change(tmp_path: Path, name: str) -> None:
    days = {
        1: f"### Boat {name}\nSurveyed at noon. The draught of the hull is 77 cm by the rod.",
        6: "### Boat CC-707\nSurveyed at noon. The draught of the hull is 86 cm by the rod.",
    }
    asked = question(
        f"What is the draught of the hull of boat {name}?".replace("*", ""), "77 cm.", 1
    )

    assert open_checker(Layout(write(tmp_path, days), ARCS)).check(asked).is_sound


def test_a_correction_of_the_story_makes_its_wrong_value_stale(tmp_path: Path) -> None:
    days = {2: "The sill carries 2.4 m of water.", 10: "Sounded again: the sill carries 2.1 m."}
    folder = write(tmp_path, days, arcs=[correction()])
    asked = question("How much water does the sill carry?", "2.4 m.", 2)

    found = open_checker(Layout(folder, ARCS)).check(asked)

    assert ProblemKind.STALENESS in kinds(found)
    assert found.repair is not None
    assert found.repair.changes["irrelevant_after"] == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What did Hob Tarn mend in this window?", "“this window” is a period without dates"),
        ("What did Hob Tarn mend recently?", "“recently” is a period without dates"),
        ("What did Hob Tarn mend by the checkpoint?", "“checkpoint” is a word of the benchmark"),
        ("What happened?", "it names nothing by which somebody could tell what is meant"),
    ],
)
def test_a_question_without_a_subject_is_vague(
    checker: QuestionChecker, text: str, said: str
) -> None:
    assert said in only(checker.check({**SOUND, "question": text}), ProblemKind.VAGUENESS)


def test_nothing_kept_is_asked_again(checker: QuestionChecker) -> None:
    checker.keep(SOUND)

    again = checker.check({**SOUND, "id": "lock-2"})
    assert "asks the same; remove one" in only(again, ProblemKind.DUPLICATE)
    assert again.repair is not None
    assert again.repair.removes
    near = {**SOUND, "id": "lock-3", "question": "On 2025-03-04, what did Hob Tarn mend there?"}
    assert "asks nearly the same" in only(checker.check(near), ProblemKind.DUPLICATE)
    other = {**SOUND, "id": "lock-4", "answer": "Two oars and a cotter pin at dawn."}
    assert ProblemKind.DUPLICATE in kinds(checker.check(other))
    assert checker.check(other).repair is None


def test_known_questions_are_kept_from_the_start(tmp_path: Path) -> None:
    checker = open_checker(Layout(write(tmp_path, DAYS), ARCS), known=[SOUND])

    assert kinds(checker.check({**SOUND, "id": "lock-2"})) == [ProblemKind.DUPLICATE]


ASK = "How large was the shortfall of 2025-03-11?"
KEPT = secret(ASK, "That is not for this group to know.", 9)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"answer": "It was £9,300."},
            "should refuse and discloses £9,300, which only audit knows",
        ),
        (
            {"answer": "A clerk forged receipts in violet ink."},
            "should refuse and tells “Vera Sand put the shortfall at £9,300, hidden by a clerk",
        ),
        (
            {"answer": "Ask the clerk, who has no receipts but much violet to show for a year."},
            "should refuse and uses clerk, receipts, violet, words that only audit uses",
        ),
        (
            {"answer": "About nine thousand.", "withheld": ["nine thousand"]},
            "should refuse and tells “nine thousand”",
        ),
        ({"query_session": "audit"}, "all participants of audit are in audit too"),
        ({"expected_disclosure": None}, "does not state what may be disclosed"),
        ({"forbidden_sessions": None}, "does not state whose secret it asks"),
        ({"query_session": None}, "does not state who asks"),
        ({"category": "factual-recall"}, "file it under information-boundary"),
    ],
)
def test_who_asks_and_what_is_disclosed_have_to_fit(
    checker: QuestionChecker, fields: Question, said: str
) -> None:
    assert checker.check(KEPT).is_sound
    found = checker.check({**KEPT, **fields})
    assert set(kinds(found)) == {ProblemKind.BOUNDARY}
    assert any(said in problem.message for problem in found.problems)


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "It was £9,300."},
        {"answer": "It was £9,300 and not the £77 of rumour.", "query_session": "principal"},
    ],
    ids=["the asker was not told", "the answer would be unsupported"],
)
def test_a_disclosing_reference_is_not_declared_an_answer(
    checker: QuestionChecker, fields: Question
) -> None:
    found = checker.check({**KEPT, **fields})

    assert ProblemKind.BOUNDARY in kinds(found)
    assert found.repair is None


def test_an_expected_answer_forbids_nothing(checker: QuestionChecker) -> None:
    told = {**KEPT, "answer": "£9,300.", "query_session": "audit", "expected_disclosure": "answer"}

    found = checker.check(told)

    assert "it expects an answer and forbids audit" in only(found, ProblemKind.BOUNDARY)
    assert found.repair is not None
    assert found.repair.changes == {"forbidden_sessions": None}


def test_a_story_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, DAYS)
    (folder / "memories-20d" / "day-0003.md").write_text("")

    with pytest.raises(Malformed, match=r"day-0003\.md: is empty"):
        open_checker(Layout(folder, ARCS))
    with pytest.raises(UsageError, match=r"arcs-30d\.yaml"):
        open_checker(Layout(folder, "arcs-30d.yaml"))
