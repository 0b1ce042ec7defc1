"""What a question rests on, and what is not asked although it was chosen."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from msgspec.structs import replace

from recall_bench.generate.life.drafts import QuestionDraft
from recall_bench.generate.life.edition import LifeEdition, play_life
from recall_bench.generate.life.matters import Matters
from recall_bench.generate.life.prose import TopicNames
from recall_bench.generate.life.question_evidence import EvidenceLinks
from recall_bench.generate.life.questions import QuestionChoice
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.written.question_entries import EntryBuilder
from recall_bench.generate.written.sources import WrittenQuestion
from tests.generate.life.played_library import play_library
from tests.generate.life.sample_questions import ask
from tests.generate.world.built_bakery import LIBRARY


@pytest.fixture(scope="module")
def edition() -> LifeEdition:
    return play_library()


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


def complete(edition: LifeEdition, question: WrittenQuestion) -> list[str]:
    """The further evidence that a question gets."""
    return (
        EvidenceLinks(edition.play, edition.written.days, Matters(edition.play))
        .complete([question])[0]
        .needs
    )


def test_a_name_in_the_sentence_before_is_cited(edition: LifeEdition) -> None:
    """A question cites sentences: "The budget is …" does not say of what."""
    unnamed = ask("What was the first budget of the shed?", "value arc-shed-cost.1", first=20)
    named = ask("What was the last budget of the shed?", "value arc-shed-cost.2", first=90)
    other = ask("What was the first budget?", "value arc-shed-cost.1", first=20)

    assert complete(edition, unnamed) == ["arc-shed-lead.1"]
    assert complete(edition, named) == []
    assert complete(edition, other) == []


def test_a_name_is_not_cited_from_a_later_day_than_that_of_the_question(
    edition: LifeEdition,
) -> None:
    """The first sentence that names the shed is one of day 3."""
    early = ask("What was the first budget of the shed?", "value arc-shed-cost.1", first=2)

    assert complete(edition, early) == []


def test_a_room_that_was_let_in_is_answered_from_what_it_was_told(edition: LifeEdition) -> None:
    """The board told the desk on day 100."""
    builder = EntryBuilder(edition.rendered)
    asked = ask("How high would the board go?", "value arc-shed-limit.1", first=100)

    def list_rooms(question: WrittenQuestion) -> list[tuple[int, str]]:
        evidence = builder.build(1, question)["evidence"]
        return [(span["day"], span["session"]) for span in evidence]

    assert list_rooms(replace(asked, session="desk")) == [(40, "board"), (100, "desk")]
    assert list_rooms(replace(asked, session="desk", from_=99)) == [(40, "board")]
    assert list_rooms(replace(asked, session="board")) == [(40, "board")]
    assert list_rooms(replace(asked, session="desk", expects="refuse")) == [(40, "board")]


def test_a_thread_does_not_tell_a_state_on_its_first_day(
    edition: LifeEdition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state has a sentence of its own that day, and only that one says what it is."""
    lives = edition.play.lives
    names = TopicNames(edition.play.sources.cast)
    entity, attribute, fact = next(
        (entity, attribute, fact)
        for entity in lives.entities
        for attribute, fact in entity.facts.items()
        if fact.now.value.kind != "person"
    )

    def tell(day: int) -> str | None:
        monkeypatch.setattr(lives, "today", day)
        return lives.fill_entity(entity, attribute, names).states

    assert tell(fact.now.day) is None
    assert tell(fact.now.day + 1) == str(fact.now.state)


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
    play_life(read_life(LIBRARY))
    doubtful = [each.question for each in chosen if each.is_doubtful]
    asked = {each.ask for each in questions}

    assert {each.kind for each in doubtful} == {"two-hop", "reason"}
    assert all(each.derive.startswith("as-of") for each in doubtful if each.kind == "two-hop")
    assert not asked & {each.ask for each in doubtful}
    assert asked < {each.question.ask for each in chosen}
