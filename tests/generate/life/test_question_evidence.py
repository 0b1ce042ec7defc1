"""What a question rests on, and what is not asked although it was chosen."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from recall_bench.generate.life.drafts import QuestionDraft
from recall_bench.generate.life.edition import LifeEdition, play_life
from recall_bench.generate.life.questions import QuestionChoice
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.written.sources import WrittenQuestion

SOURCES = Path(__file__).parent / "tool-library" / "life-200d"


@pytest.fixture(scope="module")
def edition() -> LifeEdition:
    return play_life(read_life(SOURCES))


@pytest.fixture(scope="module")
def questions(edition: LifeEdition) -> list[WrittenQuestion]:
    return [question for _, question in edition.written.questions]


def list_rests(question: WrittenQuestion) -> set[str]:
    """The states that a question rests on."""
    return {*question.derive.split()[1:], *question.needs}


def test_whether_a_step_happened_rests_on_the_beginning_too(
    edition: LifeEdition, questions: list[WrittenQuestion]
) -> None:
    threads = {
        str(step.mark): next(iter(thread.steps.values()))
        for thread in edition.play.threads.threads
        for step in thread.steps.values()
    }
    asked = [
        (question, threads[mark])
        for question in questions
        for form, mark, *_ in [question.derive.split()]
        if form in ("yes", "no") and mark in threads
    ]

    assert len(asked) > 5
    assert all(str(first.mark) in list_rests(question) for question, first in asked)


def test_how_often_something_changed_rests_on_its_first_value_too(
    edition: LifeEdition, questions: list[WrittenQuestion]
) -> None:
    """The first value tells that the second one is a change."""
    firsts = {
        str(fact.states[1].state): str(fact.states[0].state)
        for fact in edition.play.lives.book.facts.values()
        if len(fact.states) > 1
    }
    asked = [
        (question, firsts[states[0]])
        for question in questions
        for form, *states in [question.derive.split()]
        if form == "count" and states[0] in firsts
    ]

    assert asked
    assert all(first in list_rests(question) for question, first in asked)


def find_asked(questions: list[WrittenQuestion], start: str) -> WrittenQuestion:
    return next(each for each in questions if each.ask.startswith(start))


def test_a_name_that_the_answer_leaves_out_is_in_the_evidence(
    questions: list[WrittenQuestion],
) -> None:
    """The ceiling is told in a sentence that does not say what is built."""
    ceiling = find_asked(questions, "What is the most the board would pay for the building work")
    # A value told in passing does not say whose value it is.
    contact = find_asked(questions, "Who is the current contact at Oxbow Fittings")

    assert ceiling.needs == ["arc-shed-at-d00.1"]
    assert contact.derive == "latest supplier-oxbow-fittings-contact.2"
    assert contact.needs == ["supplier-oxbow-fittings-contact.1"]


def find_wrong_histories(
    edition: LifeEdition, questions: list[WrittenQuestion]
) -> Iterator[tuple[WrittenQuestion, list[str]]]:
    """Histories of a fact that was reported wrongly, with the states that say so."""
    facts = edition.play.lives.book.facts
    for question in questions:
        if question.kind == "history":
            fact = facts[
                question.derive.split()[1].rpartition(".")[0] or question.derive.split()[1]
            ]
            told = [each for each in fact.states if each.day <= (question.from_ or 0)]
            wrong = [str(each.state) for each in told if each.manner == "misreported"]
            if wrong:
                yield question, wrong


def test_a_wrong_report_is_no_part_of_a_history_but_of_its_evidence(
    edition: LifeEdition, questions: list[WrittenQuestion]
) -> None:
    found = [*find_wrong_histories(edition, questions)]

    assert found
    for question, wrong in found:
        assert not set(wrong) & set(question.derive.split())
        assert set(wrong) <= set(question.needs)
        shown = question.answer.removeprefix("First ").rstrip(".").split(", then ")
        assert len(shown) > 1
        assert all(one != other for one, other in pairwise(shown))


def test_nothing_is_asked_twice_and_numbers_stay(questions: list[WrittenQuestion]) -> None:
    asked = [
        (each.category, each.session, each.derive, tuple(each.needs))
        for each in questions
        if each.derive.split()[0] not in ("absent", "unknown", "yes", "no")
    ]
    numbers = [int((each.id or "").rpartition("-w")[2]) for each in questions]

    assert len(set(asked)) == len(asked)
    assert numbers == sorted(set(numbers))
    assert numbers[-1] > len(numbers)


def test_what_is_doubtful_is_chosen_but_not_asked(
    monkeypatch: pytest.MonkeyPatch, questions: list[WrittenQuestion]
) -> None:
    """A state at an unrelated event, and a cause that nothing else could be."""
    chosen: list[QuestionDraft] = []
    choose = QuestionChoice.choose

    def keep(choice: QuestionChoice) -> list[QuestionDraft]:
        chosen.extend(choose(choice))
        return chosen

    monkeypatch.setattr(QuestionChoice, "choose", keep)
    play_life(read_life(SOURCES))
    doubtful = [each.question for each in chosen if each.is_doubtful]
    asked = {each.ask for each in questions}

    assert {each.kind for each in doubtful} == {"two-hop", "reason"}
    assert all(each.derive.startswith("as-of") for each in doubtful if each.kind == "two-hop")
    assert not asked & {each.ask for each in doubtful}
    assert asked < {each.question.ask for each in chosen}
