"""Questions of a life edition mean one thing, hold while they are asked, and can be read."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.generate.life.drafts import DraftMaker, join_versions
from recall_bench.generate.life.edition import LifeEdition, play_life
from recall_bench.generate.life.matters import Matters
from recall_bench.generate.life.present_tense import StateEnds, is_present
from recall_bench.generate.life.question_evidence import EvidenceLinks
from recall_bench.generate.life.sentence_citations import SentenceCitations
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.life.thread_names import ThreadNames
from recall_bench.generate.life.threads import LifeThread
from recall_bench.generate.world.fact_values import FactValue, format_month
from recall_bench.generate.written.sources import WrittenQuestion
from tests.generate.life.played_library import play_days, play_library
from tests.generate.life.sample_questions import ask
from tests.generate.world.built_bakery import LIBRARY
from tests.loops import loop_over_rows

HIGHER = """      - day: 60
        event: Higher
        session: board
        changes: [limit]
        text: |
          The board would now walk away from the shed at {limit}.
"""

Change = Callable[..., Path]
Play = Callable[..., LifeEdition]


@pytest.fixture(scope="module")
def edition() -> LifeEdition:
    return play_library()


@pytest.fixture(scope="module")
def change_library(tmp_path_factory: pytest.TempPathFactory) -> Change:
    """Copy the library with other words in one of its files."""

    def change(file: str, *changes: tuple[str, str]) -> Path:
        copy = tmp_path_factory.mktemp("changed") / "tool-library"
        folder = shutil.copytree(LIBRARY.parent, copy) / LIBRARY.name
        text = (folder / file).read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")
        return folder

    return change


@pytest.fixture(scope="module")
def play_changed(change_library: Change) -> Play:
    """Play the library with other words in one of its files."""
    return lambda file, *changes: play_life(read_life(change_library(file, *changes)))


def cite(edition: LifeEdition, question: WrittenQuestion) -> list[str]:
    citations = SentenceCitations(edition.rendered, Matters(edition.play))
    return [each.text for each in citations.complete([question])[0].cites]


def test_a_sentence_without_the_name_is_cited_with_the_one_that_has_it(
    edition: LifeEdition,
) -> None:
    named = ask("What was the first budget of the shed?", "value arc-shed-cost.1")
    unnamed = ask("What was the first budget?", "value arc-shed-cost.1")

    assert cite(edition, named) == ["Tomasz Wilk leads the work on the shed."]
    assert cite(edition, unnamed) == []


def test_the_words_of_a_question_are_cited_from_the_same_paragraph(edition: LifeEdition) -> None:
    dearer = ask("How far did the dearer timber move the budget?", "value arc-shed-cost.2")
    tally = ask("How often did dearer timber move the budget?", "count arc-shed-cost.2")

    assert cite(edition, dearer) == ["The timber was dearer than planned."]
    assert cite(edition, tally) == []


def test_the_request_to_forget_is_cited(play_changed: Play) -> None:
    """The event is marked in the sentence that names the arc, which asks for nothing."""
    edition = play_changed(
        "../arcs-200d.yaml",
        ("revokes: {limit: desk}\n        session: principal", "forgets: [limit]"),
        ("          From today the desk", "          Of the shed, one thing. From today the desk"),
        ("is not to be told any more where", "asked me to forget where"),
        ('        heading: "The shed, quietly"', "        session: board\n        heading: X"),
    )
    forgotten = [each for _, each in edition.written.questions if each.kind == "forgotten"]

    assert forgotten
    for question in forgotten:
        assert any("asked me to forget" in each.text for each in question.cites)


@pytest.fixture(scope="module")
def shut(play_changed: Play) -> LifeEdition:
    """The limit is raised before the desk is let in, and the desk is shut out in more words."""
    return play_changed(
        "../arcs-200d.yaml",
        ("From today the desk is", "The shed again. Counters have ears. From today the desk is"),
        ("is: $6,300", 'is: ["$6,300", "$7,700"]'),
        ("      - day: 88\n", f"{HIGHER}      - day: 88\n"),
    )


def test_the_order_to_shut_a_room_out_is_cited_whole(shut: LifeEdition) -> None:
    shut_out = [each for _, each in shut.written.questions if "@141" in each.derive]

    assert shut_out
    for question in shut_out:
        cited = {each.text for each in question.cites}
        # The order itself names the shed, and is cited for that.
        assert {"The shed again.", "Counters have ears."} <= cited


def test_a_room_that_is_let_in_is_told_what_holds_then(shut: LifeEdition) -> None:
    asked = [
        each
        for _, each in shut.written.questions
        if each.session == "desk" and "arc-shed-limit" in each.derive
    ]
    answered = [each for each in asked if each.expects == "answer"]
    shut_out = [each for each in asked if "@141" in each.derive]

    assert [(each.derive, each.answer) for each in answered] == [
        ("value arc-shed-limit.2", "$7,700.")
    ]
    assert [each.derive for each in shut_out] == ["secret arc-shed-limit.1 arc-shed-limit.2 @141"]


@loop_over_rows(
    ("text", "expected"),
    [
        ("When does the exclusivity lapse?", True),
        ("What's the date for the patch?", True),
        ("By the latest word, from what date may it be bought back?", True),
        ("It is late. Who is handling the report?", True),
        ("How much does the crane company want?", True),
        ("When did the exclusivity lapse?", False),
        ("What prompted the question how many people can move money?", False),
        ("Who agreed to do it?", False),
        ("By when did we have to answer?", False),
        ("What caused the fault that is in the log?", False),
    ],
)
def test_the_present_tense_is_recognised(text: str, expected: bool) -> None:
    assert is_present(text) is expected


def find_ended(edition: LifeEdition) -> LifeThread:
    return next(
        each
        for each in edition.play.threads.threads
        if each.process.id == "repair" and each.ended and "fixed" in each.steps
    )


def test_the_present_tense_ends_with_what_it_asks_about(edition: LifeEdition) -> None:
    thread = find_ended(edition)
    finder = f"value {thread.mentions['finder'].state}"
    ends = StateEnds(edition.play)
    reason = next(
        each
        for each in edition.play.lives.reasons
        if each.entity.facts[each.attribute].find_end(each.of) is not None
    )

    def limit(text: str, derive: str) -> int | None:
        return ends.limit([ask(text, derive, first=thread.began)])[0].until

    assert limit("Who is asking for the repair?", finder) == thread.ended
    assert limit("Who asked for the repair?", finder) is None
    why = ends.limit(
        [ask("Why is it so?", f"value {reason.mention.state}", first=reason.mention.day)]
    )
    assert why[0].until == reason.entity.facts[reason.attribute].find_end(reason.of)


def test_what_was_planned_is_asked_in_the_present_until_the_day(
    edition: LifeEdition, monkeypatch: pytest.MonkeyPatch
) -> None:
    mention = find_ended(edition).mentions["fault"]
    fact = edition.play.lives.book.facts[mention.state.key]
    monkeypatch.setattr(
        fact,
        "states",
        [
            type(mention)(
                state=mention.state,
                day=1,
                session="desk",
                value=FactValue("date", "9 May", day=130),
            )
        ],
    )
    ends = StateEnds(edition.play)
    monkeypatch.setattr(ends, "_threads", {})
    question = ask("When is the repair due?", f"value {mention.state}", first=100)

    assert ends.limit([question])[0].until == 129


def test_a_person_is_cited_with_their_part(edition: LifeEdition) -> None:
    """The bill names the fixer, but does not say who repaired it."""
    texts = edition.rendered.texts
    billed = [
        (each, each.people["fixer"], each.mentions["bill"])
        for each in edition.play.threads.threads
        if each.process.id == "repair" and "billed" in each.steps
    ]
    named = [
        (thread, fixer, bill)
        for thread, fixer, bill in billed
        if re.search(f"{fixer} .*{re.escape(bill.value.text)}", texts[bill.day])
    ]
    links = EvidenceLinks(edition.play, edition.written.days, Matters(edition.play))

    assert named
    for thread, fixer, bill in named:
        question = ask(f"What was the bill of {fixer}?", f"value {bill.state}", first=200)
        needs = links.complete([question])[0].needs
        assert str(thread.mentions["fixer"].state) in needs


def test_what_came_in_the_month_of_a_name_is_cited(edition: LifeEdition) -> None:
    thread = find_ended(edition)
    month = format_month(edition.play.calendar.dates.get_month(thread.began))
    mark = thread.steps["fixed"].mark
    links = EvidenceLinks(edition.play, edition.written.days, Matters(edition.play))

    def list_needs(text: str) -> list[str]:
        return links.complete([ask(text, f"yes {mark}", kind="single-fact")])[0].needs

    first = str(next(iter(thread.steps.values())).mark)
    assert first in list_needs(f"Was the {month} one finished?")
    assert first not in list_needs("Was it finished?")


def test_versions_with_commas_are_kept_apart_by_semicolons() -> None:
    assert join_versions(["$1,200", "$900"]) == "First $1,200, then $900."
    assert join_versions(["a, b", "c"]) == "First a, b; then c."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FactValue("time", "10:00"), "the call, at 10:00"),
        (FactValue("money", "$90"), "the call ($90)"),
        (FactValue("number", "9 seats"), "the call, with 9 seats"),
        (FactValue("date", "9 May", day=2), "the call, on 2 January 2024"),
    ],
)
def test_what_has_most_is_named_with_its_value(
    edition: LifeEdition, value: FactValue, expected: str
) -> None:
    assert DraftMaker(edition.play).name_winner("the call", value) == expected


def list_names(play: LifeSimulation, threads: list[LifeThread], by: int) -> list[str | None]:
    names = ThreadNames(play)
    return [names.find(each, by) for each in threads]


def test_two_orders_of_the_same_words_are_one_name(
    edition: LifeEdition, monkeypatch: pytest.MonkeyPatch
) -> None:
    dates = edition.play.calendar.dates
    repairs = [
        each for each in edition.play.threads.threads if each.process.id == "repair" and each.steps
    ]
    threads = [repairs[0], repairs[-1]]
    months = [format_month(dates.get_month(each.began)) for each in threads]
    for thread, name in zip(threads, ("A and B", "B and A"), strict=True):
        monkeypatch.setattr(thread, "called", [f"the quarrel between {name}"])
    later = threads[1].began

    assert months[0] != months[1]
    assert list_names(edition.play, threads, later) == [
        f"the {months[0]} quarrel between A and B",
        f"the {months[1]} quarrel between B and A",
    ]
    monkeypatch.setattr(threads[1], "called", ["the quarrel between B and C"])
    assert list_names(edition.play, threads[:1], later) == ["the quarrel between A and B"]


def test_what_comes_at_other_times_too_needs_its_month(change_library: Change) -> None:
    folder = change_library(
        "threads/all.yaml", ("- id: review\n", "- id: review\n  repeats: room.capacity\n")
    )
    play, _ = play_days(folder)
    reviews = [
        each
        for each in play.threads.threads
        if each.process.id == "review"
        and each.steps
        and len(each.entities["room"].facts["capacity"].states) > 2
    ]
    asked = [name for name in list_names(play, reviews, 200) if name is not None]

    assert asked
    assert all("2024" in name for name in asked)


def test_the_month_of_the_start_says_so_where_something_came_later(change_library: Change) -> None:
    folder = change_library(
        "threads/all.yaml", ("- id: repair\n", '- id: repair\n  since: "begun in {month}"\n')
    )
    play, _ = play_days(folder)
    repairs = [each for each in play.threads.threads if each.process.id == "repair"]
    late = [name for name in list_names(play, repairs, 200) if name and "begun in" in name]
    early = [
        name
        for thread in repairs
        if thread.steps
        for name in list_names(play, [thread], thread.began)
        if name is not None
    ]

    assert late
    assert all(name.count("2024") == 1 for name in late)
    assert early
    assert not any("begun in" in name for name in early)
