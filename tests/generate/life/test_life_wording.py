"""Questions name a thread as people would, and rest on the sentence that tells the deed."""

import shutil
from pathlib import Path

import pytest

from recall_bench.generate.life.agreement import find_clash, is_plural
from recall_bench.generate.life.build import build_life_folder
from recall_bench.generate.life.edition import LifeEdition, play_life
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.life.thread_names import ThreadNames, put_month
from recall_bench.generate.life.wording import find_slips
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.world.fact_values import format_month
from recall_bench.generate.written.question_entries import EntryBuilder
from tests.generate.life.played_library import play_days, play_library
from tests.generate.life.test_life_sources import SOURCES, change, list_faults
from tests.loops import loop_over_rows
from tests.thoroughness import choose_cases

THREADS = "threads/all.yaml"
LATE = 10**6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the small edition that a test may change."""
    copy = tmp_path / "tool-library"
    shutil.copytree(SOURCES.parent, copy)
    return copy / SOURCES.name


@pytest.fixture(scope="module")
def edition() -> LifeEdition:
    return play_library()


@loop_over_rows(
    ("name", "dated"),
    [
        ("the repair in the yard", "the May 2025 repair in the yard"),
        ("Ada Kovacs's favour for Jo Lind", "Ada Kovacs's May 2025 favour for Jo Lind"),
        ("the client's question about dates", "the client's May 2025 question about dates"),
        ("the auditors' request for a list", "the auditors' May 2025 request for a list"),
        ("the move of Elvebro's stock", "the May 2025 move of Elvebro's stock"),
        ("the run called by Ada's team", "the May 2025 run called by Ada's team"),
    ],
)
def test_a_month_stands_before_the_noun(name: str, dated: str) -> None:
    """At the end of a name it would belong to whatever stands there."""
    assert put_month(name, "May 2025") == dated


@loop_over_rows(
    ("text", "said"),
    [
        ("She asked {helper}, [who has the keys|].", "may end in a comma"),
        ("She asked {helper}, [|who has the keys].", "may end in a comma"),
        ("She asked {helper}, [who came||who went].", "may end in a comma"),
        ("Something in the {subject} paper", "“the the share plan” has two articles"),
        ("She asked {helper}[, who has the keys|].", None),
        ("She came back; [the reason is that |]{why}.", None),
        ("She asked {helper}, [who came|who went].", None),
        ("Something in the {firm} paper", None),
    ],
)
def test_no_wording_can_leave_a_comma_or_a_second_article(text: str, said: str | None) -> None:
    values = {"subject": ["bad debts", "the share plan"], "firm": ["Elvebro"]}

    found = list(find_slips(text, values))

    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_a_slip_in_a_heading_or_a_sentence_is_a_fault_of_the_sources(folder: Path) -> None:
    change(folder, THREADS, '"Something broken"', '"The {fault} again"')
    change(folder, THREADS, "[mended|repaired] it [before", "came, [mended it|]. It was [before")

    found = list_faults(folder)

    assert any("“The a broken window latch” has two articles" in each for each in found)
    assert any("may end in a comma" in each for each in found)


def test_a_name_says_only_what_was_stated(folder: Path) -> None:
    """Who repairs is told some days after the start."""
    change(folder, THREADS, "because of {fault}", "that {fixer} did")
    play, _ = play_days(folder)
    names = ThreadNames(play)
    repairs = [each for each in play.threads.threads if each.process.id == "repair" and each.steps]
    early = [names.find(each, each.began) or "" for each in repairs for _ in range(20)]
    late = [names.find(each, LATE) or "" for each in repairs for _ in range(20)]

    assert any(early)
    assert not any(name.endswith(" did") for name in early)
    assert any(name.endswith(" did") for name in late)


def test_a_dated_name_means_one_thread(edition: LifeEdition) -> None:
    names = ThreadNames(edition.play)
    repairs = [each for each in edition.play.threads.threads if each.steps]
    dates = edition.play.calendar.dates
    dated = 0
    for thread in repairs:
        name = names.find(thread, LATE)
        month = format_month(dates.get_month(thread.began))
        if name is None or month not in name:
            continue
        dated += 1
        rivals = [
            each
            for each in repairs
            if each is not thread
            and set(each.called) & set(thread.called)
            and month in {format_month(dates.get_month(step.day)) for step in each.steps.values()}
        ]
        assert all(name.replace(f"{month} ", "") not in each.called for each in rivals)
    assert dated


def test_what_is_planned_is_called_by_the_month_in_which_it_is_held(folder: Path) -> None:
    change(folder, THREADS, '  opens: ["{lead} began', '  held: closed\n  opens: ["{lead} began')
    play, _ = play_days(folder)
    names = ThreadNames(play)
    reviews = [each for each in play.threads.threads if each.process.id == "review" and each.steps]
    for thread in reviews:
        closed = thread.steps.get("closed")
        name = names.find(thread, LATE) or ""
        months = [word for word in name.split() if word.isdigit()]
        if closed is None:
            assert not months
        elif months:
            assert format_month(play.calendar.dates.get_month(closed.day)) in name
    assert reviews


def test_an_event_is_a_clause_of_the_sources() -> None:
    # Under the first seed no event is about the thing whose state it dates.
    written = play_library(1).written
    asked = [each.ask for _, each in written.questions if each.kind == "two-hop"]
    events = [each for each in asked if each.startswith("When ")]

    assert events
    assert all("reported a fault in" in each or "began the review of" in each for each in events)


def test_a_deed_is_proved_by_the_step_that_tells_it(folder: Path) -> None:
    """The one who repairs is named at the start; what was done is told later."""
    remarks = (
        '["{room.keeper} [put up a sign|closed the door].", '
        '"[We put a sign on the door|The room stays open].", ""]'
    )
    change(folder, THREADS, remarks, '["{fixer} was told."]')
    change(
        folder,
        THREADS,
        "    - {date: fixed,",
        '    - {fact: fixer, at: fixed, ask: ["Who did {it}?", "By whom was {it} done?"], '
        "category: group-session-attribution}\n    - {date: fixed,",
    )
    edition = play_life(read_life(folder))
    rendered = edition.rendered
    builder = EntryBuilder(rendered)
    entries = [
        builder.build(number, each)
        for number, (_, each) in enumerate(edition.written.questions)
        if "Who did the" in each.ask or "By whom was the" in each.ask
    ]

    assert entries
    for entry in entries:
        proof = [
            rendered.texts[span["day"]][span["start"] : span["end"]] for span in entry["evidence"]
        ]
        assert any("mended" in each or "repair" in each.casefold() for each in proof), proof
        assert not any("was told" in each for each in proof), proof


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("because of {fault}", "that {fixer} did", "names {fixer}, which the first step does not"),
        ('"the repair in {room}"', '"repair in {room}"', "neither an article nor an owner"),
        (
            "that {finder} asked for",
            "that {finder} asked for and which took long",
            "has a clause in a clause",
        ),
        ('"the repair in {room}"', '"the work on {room}"', "“the work on” says nothing"),
        ("{finder} reported a fault in", "{fixer} came to", "opens names {fixer}"),
        ('opens: ["{lead} began', 'held: soon\n  opens: ["{lead} began', "held: soon is neither"),
        ("Who asked for {it}?", "Who asked, in {it}?", "hang the thread on a comma"),
        ("What was behind {it}?", "What was what {it} showed?", "nests the clause of a name"),
        ("What was behind {it}?", "When {it} began, what broke?", "by {event}"),
        ("{fact: finder,", "{fact: finder, at: start,", ""),
        ("{fact: finder,", "{fact: finder, at: fixed,", "at: fixed does not tell {finder}"),
        ("{fact: finder,", "{fact: finder, at: soon,", "at: soon belongs to"),
        (
            '"{finder} [reported|found] {fault} in {room}."',
            '"{finder} will report {fault} in {room}."',
            "only plans; ask for the plan",
        ),
        ("a broken window latch", "two broken window latches", ""),
    ],
)
def test_a_clumsy_or_unproved_wording_is_named(
    folder: Path, old: str, new: str, message: str
) -> None:
    change(folder, THREADS, old, new)

    faults = list_faults(folder)

    assert any(message in fault for fault in faults) if message else faults == [], faults


def test_a_verb_agrees_with_every_value(folder: Path) -> None:
    change(folder, THREADS, "a broken window latch", "broken window latches")
    change(folder, THREADS, "There is {fault} in {room};", "{fault} was found in {room};")

    assert any("“broken window latches was …”" in fault for fault in list_faults(folder))


@loop_over_rows(
    ("phrase", "expected"),
    [
        ("two wrong labels", True),
        ("labels of last year", True),
        ("the buffer bottles", True),
        ("a box of labels", False),
        ("the glass", False),
        ("the radiator upstairs", False),
        ("Ravelin Cars", False),
        ("one of the lids", False),
    ],
)
def test_a_plural_is_distinguished_from_its_noun(phrase: str, expected: bool) -> None:
    assert is_plural(phrase) is expected


def test_a_verb_may_stand_in_alternatives() -> None:
    values = {"place": ["the buffer bottles"]}

    assert find_clash("Nothing moves until {place} [comes|is here].", values) is not None
    assert find_clash("Nothing moves until we have {place}; that is agreed.", values) is None
    assert find_clash("{place} will be cleaned.", values) is None


def test_a_remark_is_left_out_rather_than_repeated(edition: LifeEdition) -> None:
    """The second part of a repair's start tells nothing that is asked."""
    texts = [day.text for day in edition.rendered.days]

    assert max(text.count("We put a sign on the door.") for text in texts) <= 1
    assert sum(text.count("We put a sign on the door.") for text in texts) <= 1


@pytest.mark.parametrize("seed", choose_cases(range(2), 1))
def test_a_sum_counts_facts_that_mark_a_step_too(folder: Path, tmp_path: Path, seed: int) -> None:
    """Where a step names no entity its first new fact stands for it."""
    change(folder, THREADS, "a bill of {bill} for {room}.", "a bill of {bill} today.")
    asked = '["What did the repairs of {period} cost altogether?", '
    change(
        folder, THREADS, f"per: year, ask: {asked}", 'per: room, ask: ["What did {room} cost?", '
    )
    change(folder, THREADS, "pay for repairs in {period}?", "pay so far for {room}?")
    built = build_life_folder(read_life(folder), tmp_path / "built", seed=seed)

    assert [str(found) for found in verify_world(built, "arcs-200d.yaml").findings] == []


def test_that_something_did_not_happen_is_stated_and_not_guessed(folder: Path) -> None:
    """A repair without a bill is asked about because a step says that there was none."""
    replies = [_list_bill_replies(play_library())]
    change(folder, THREADS, "unless: [billed]", "chance: 0.9")
    replies.append(_list_bill_replies(play_life(read_life(folder))))

    assert [any(each.startswith("No,") for each in known) for known in replies] == [True, False]
    assert all(any(each.startswith("Yes,") for each in known) for known in replies)


def _list_bill_replies(edition: LifeEdition) -> list[str]:
    questions = edition.written.questions
    return [
        each.answer for _, each in questions if " bill" in each.ask or "cost us any" in each.ask
    ]
