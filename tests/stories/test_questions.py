"""A question is taken as the file has it, or refused with its line and what to do about it."""

import pytest

from recall_bench.core.errors import BenchError
from recall_bench.core.plan import digest_questions
from recall_bench.core.scenario import CATEGORIES, Disclosure, Expects, Item
from recall_bench.core.yaml12 import Document
from recall_bench.stories.persona_questions import (
    infer_expectation,
    infer_template,
    parse_questions,
)
from tests.loops import loop_over_rows
from tests.stories.persona_folder import QUESTIONS

DAYS = frozenset({1, 2, 3, 5, 6})
SESSIONS = ("principal", "crew", "lender")


def read(source: str) -> tuple[tuple[Item, ...], list[str], list[str]]:
    problems: list[BenchError] = []
    warnings: list[str] = []
    items = parse_questions(
        Document("qa", source), days=DAYS, sessions=SESSIONS, problems=problems, warnings=warnings
    )
    return items, [str(problem) for problem in problems], warnings


def changed(old: str, new: str) -> str:
    assert old in QUESTIONS
    return QUESTIONS.replace(old, new, 1)


def test_a_question_becomes_an_item() -> None:
    items, problems, warnings = read(QUESTIONS)

    assert (problems, warnings) == ([], [])
    first, second, third = items
    assert (first.id, first.text) == ("nursery-q1", "Which pump bid was accepted?")
    assert (first.known_from, first.known_until, first.session) == (2, 5, None)
    assert first.truth.reference == "Bid B."
    assert (first.truth.category, first.truth.difficulty) == ("decision-tracking", "easy")
    assert [evidence.day for evidence in second.truth.evidence] == [1, 3]
    assert second.known_from == 3
    assert second.truth.requires_synthesis
    assert third.session == "crew"
    assert third.truth.forbidden_sessions == ("lender",)
    assert third.truth.disclosure is Disclosure.REFUSE


def test_a_question_is_open_from_its_last_relevant_day_until_it_is_irrelevant() -> None:
    item = read(QUESTIONS)[0][0]

    assert [item.is_open(days) for days in (1, 2, 5, 6)] == [False, True, True, False]


@loop_over_rows("word", ["No.", "None", "not yet", "Never", "Nothing was", "“Neither"])
def test_a_denial_of_what_never_was_is_to_be_denied(word: str) -> None:
    assert infer_expectation(word, "negative-recall", None) is Expects.ABSTAIN


@loop_over_rows("word", ["Noted on Tuesday", "Norway", "Nonetheless it was", "Tuesday"])
def test_a_word_that_only_starts_like_a_denial_is_none(word: str) -> None:
    assert infer_expectation(word, "negative-recall", None) is Expects.ANSWER


def test_a_no_elsewhere_is_an_answer() -> None:
    assert infer_expectation("No.", "factual-recall", None) is Expects.ANSWER


def test_a_file_may_say_what_a_right_answer_does() -> None:
    items, problems, _ = read(
        changed("  category: decision", "  expects: correct\n  category: decision")
    )
    refused = read(changed("  category: decision", "  expects: corect\n  category: decision"))[1]

    assert problems == []
    assert items[0].truth.expects is Expects.CORRECT
    assert items[0].truth.is_answerable
    assert "did you mean correct?" in refused[0]


def test_what_is_to_be_refused_is_to_be_withheld() -> None:
    assert infer_expectation("No.", "negative-recall", Disclosure.REFUSE) is Expects.WITHHOLD
    assert infer_expectation("$4M", "information-boundary", Disclosure.PARTIAL) is Expects.ANSWER


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        pytest.param("- id: nursery-q1\n  q", "- q", 1, "number 1 has no id", id="no id"),
        pytest.param("id: nursery-q1", "id: 1", 1, "put it in quotes", id="number for an id"),
        pytest.param("  answer: Bid B.\n", "", 1, "nursery-q1 has no answer", id="no answer"),
        pytest.param("answer: Bid B.", "answer:", 3, "leaves answer empty", id="empty answer"),
        pytest.param("answer: Bid B.", "answer: 42", 3, "the number 42, not text", id="number"),
        pytest.param("answer: Bid B.", "answer: true", 3, "truth value true", id="truth value"),
        pytest.param("answer: Bid B.", "answer: [B]", 3, "a list, not text", id="list"),
        pytest.param("answer: Bid B.", "answer: ' '", 3, "blank", id="blank"),
        pytest.param(
            "decision-tracking", "decision-traking", 4, "did you mean decision-tracking?", id="cat"
        ),
        pytest.param("decision-tracking", "zzz", 4, "use one of factual-recall", id="no cat"),
        pytest.param("difficulty: easy", "difficulty: esay", 5, "mean easy?", id="difficulty"),
        pytest.param("  difficulty: easy\n", "", 1, "has no difficulty", id="no difficulty"),
        pytest.param("  relevant_days: [2]\n", "", 1, "has no relevant_days", id="no days"),
        pytest.param("relevant_days: [2]", "relevant_days: 2", 6, "write a list", id="scalar"),
        pytest.param("relevant_days: [2]", "relevant_days: []", 6, "empty list", id="empty"),
        pytest.param("relevant_days: [2]", "relevant_days: [five]", 6, "'five'", id="word"),
        pytest.param("relevant_days: [2]", "relevant_days: [true]", 6, "whole", id="bool day"),
        pytest.param("relevant_days: [2]", "relevant_days: [2.0]", 6, "whole", id="fraction"),
        pytest.param("relevant_days: [2]", "relevant_days: [0]", 6, "first story day", id="zero"),
        pytest.param("relevant_days: [2]", "relevant_days: [4]", 6, "needs day 4", id="not told"),
        pytest.param(
            "relevant_days: [5]", "relevant_days: [9999]", 22, "needs day 9999", id="beyond"
        ),
        pytest.param("    - 3\n", "    - x\n", 15, "holds the text 'x'", id="line in a list"),
        pytest.param("irrelevant_after: 5", "irrelevant_after: 1", 7, "never be asked", id="over"),
        pytest.param("irrelevant_after: 5", "irrelevant_after: '5'", 7, "whole", id="text"),
        pytest.param("irrelevant_after", "irelevant_after", 7, "mean irrelevant_after?", id="slip"),
        pytest.param(
            "irrelevant_after", "irrelevantAfter", 7, "mean irrelevant_after?", id="camel"
        ),
        pytest.param("synthesis: true", "synthesis: 'yes'", 16, "true or false", id="no flag"),
        pytest.param("refuse", "refused", 25, "did you mean refuse?", id="disclosure"),
        pytest.param("[lender]", "lender", 24, "write a list", id="no list of sessions"),
        pytest.param("nursery-q2", "nursery-q1", 8, "one on line 1; rename one", id="same id"),
    ],
)
def test_a_wrong_question_is_said_with_its_line(old: str, new: str, line: int, words: str) -> None:
    items, problems, _ = read(changed(old, new))

    assert len(problems) == 1
    assert problems[0].startswith(f"qa, line {line}: ")
    assert words in problems[0]
    assert len(items) == 2


@loop_over_rows("item", ["null", "a bare string", "[1, 2]", "7"])
def test_an_item_that_is_no_mapping_is_named_by_its_place(item: str) -> None:
    items, problems, _ = read(f"- {item}\n{QUESTIONS}")

    assert len(problems) == 1
    assert problems[0].startswith("qa, line 1: question number 1 is ")
    assert len(items) == 3


@loop_over_rows("source", ["", "[]", "questions: []", "text"])
def test_a_file_that_is_no_list_of_questions_is_refused(source: str) -> None:
    items, problems, _ = read(source)

    assert items == ()
    assert len(problems) == 1
    assert "write a list of questions" in problems[0]


def test_everything_wrong_is_said_at_once() -> None:
    source = changed("answer: Bid B.", "answer: 7").replace("difficulty: hard", "difficulty: h")

    _, problems, _ = read(source)

    assert [problem.partition(":")[0] for problem in problems] == ["qa, line 3", "qa, line 21"]


def test_a_key_only_the_specification_knows_is_fine() -> None:
    assert read(changed("irrelevant_after: 5", "temporal_scope: early"))[1:] == ([], [])


def test_a_strange_key_is_a_warning_said_once() -> None:
    source = QUESTIONS.replace("  difficulty", "  reviewer: kim\n  difficulty")

    items, problems, warnings = read(source)

    assert len(items) == 3
    assert problems == []
    assert warnings == ["qa, line 5: the key reviewer is unknown and ignored, here and in 2 more"]


def test_an_undeclared_session_is_a_warning() -> None:
    _, problems, warnings = read(changed("[lender]", "[lendr]"))

    assert problems == []
    assert len(warnings) == 1
    assert "names lendr, which the persona does not declare" in warnings[0]


def test_a_day_named_twice_is_evidence_once() -> None:
    items, _, _ = read(changed("relevant_days: [2]", "relevant_days: [2, 2]"))

    assert [evidence.day for evidence in items[0].truth.evidence] == [2]


def test_where_no_day_is_known_none_is_missed() -> None:
    problems: list[BenchError] = []

    parse_questions(
        Document("qa", QUESTIONS), days=None, sessions=(), problems=problems, warnings=[]
    )

    assert problems == []


@loop_over_rows("category", CATEGORIES)
def test_all_ten_categories_are_known(category: str) -> None:
    items, problems, _ = read(changed("decision-tracking", category))

    assert problems == []
    assert items[0].truth.category == category


def test_a_template_is_named_or_inferred_and_changes_no_digest() -> None:
    plain, _, _ = read(QUESTIONS)
    named, problems, warnings = read(changed("id: nursery-q1", "id: nursery-q1\n  template: bids"))

    assert (problems, warnings) == ([], [])
    assert [item.template for item in named] == ["bids", None, None]
    assert digest_questions(named) == digest_questions(plain)


@loop_over_rows(
    ("derive", "template"),
    [
        ({"op": "value", "thread": "investor-0001", "slot": "stake"}, "value investor stake"),
        ({"op": "value", "thread": "loan-7", "slot": "rate", "as_of": 4}, "value loan rate as_of"),
        ({"op": "count", "process": "gift", "month": "2024-02"}, "count gift"),
        ({"op": "shared", "of": [["trip-0004", "airline"], ["delay-0007", "airline"]]},
         "shared trip airline delay airline"),
        ({"op": "order", "events": [["buy-0005", "bought", "the outcome of Purchase 7721"],
                                    ["dinner-0002", "eaten", "word of Dinner 2602"]]},
         "order buy bought dinner eaten"),
        ({"op": "partly", "give": ["home-0005", "gone"], "hold": ["home-0005", "thing"]},
         "partly home gone home thing"),
    ],
)  # fmt: skip
def test_threads_of_one_process_share_a_template(derive: object, template: str) -> None:
    assert infer_template("synthesis", derive) == f"synthesis {template}"


@loop_over_rows("derive", [None, {}, {"slot": "stake"}, "value", ["value"]])
def test_without_a_derivation_there_is_no_template(derive: object) -> None:
    assert infer_template("synthesis", derive) is None
