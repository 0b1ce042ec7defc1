"""The days of a life edition read like a log, and its questions ask what only the log tells."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.core.sentences import split_sentences
from recall_bench.core.text_values import list_words
from recall_bench.generate.life.build import build_life_folder
from recall_bench.generate.life.edition import LifeEdition
from recall_bench.generate.life.entities import Entity
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.life.sufficiency import find_shortages
from tests.generate.life.played_library import play_days, play_library
from tests.generate.life.test_life_sources import SOURCES, change
from tests.thoroughness import choose_cases

MOST_JOINED = 6
MONTH = re.compile(r"(?:January|February|March|April|May|June|July) 20\d\d")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the small edition that a test may change."""
    copy = tmp_path / "tool-library"
    shutil.copytree(SOURCES.parent, copy)
    return copy / SOURCES.name


@pytest.fixture(scope="module")
def edition() -> LifeEdition:
    return play_library()


def list_topics(edition: LifeEdition, session: str) -> Iterator[list[str]]:
    """The texts of the topics of a session, day by day."""
    for day in edition.rendered.days:
        for part in day.text.split("# session: ")[1:]:
            if part.startswith(f"{session}\n"):
                yield [topic.partition("\n")[2].strip() for topic in part.split("\n### ")[1:]]


def test_short_topics_of_a_session_stand_together(edition: LifeEdition) -> None:
    """Events of the authored arc, the shed, keep topics of their own."""
    days = list(list_topics(edition, "desk"))
    joined = 0
    for topics in days:
        routine = [each for each in topics if "the shed" not in each]
        short = [each for each in routine if len(split_sentences(each)) == 1]
        notes = [each.count("\n- ") + 1 for each in topics if each.startswith("- ")]
        joined += sum(notes)
        assert len(short) <= 1 or max(notes, default=0) >= MOST_JOINED, topics
    assert joined > len(days) / 4


def test_a_quiet_day_is_stated_where_its_topic_says(folder: Path) -> None:
    change(folder, "talk.yaml", '{heading: ["Quiet day"', '{session: desk, heading: ["Quiet day"')
    play, days = play_days(folder)
    quiet = {day.day: day.text for day in days}
    told = [quiet[day] for day in play.calendar.quiet]

    assert told
    assert not any("# session: principal" in text for text in told)


def test_a_thread_called_by_a_value_keeps_its_small_letter(folder: Path) -> None:
    change(folder, "threads/all.yaml", '"the repair in {room}"', '"{room} repair"')
    play, _ = play_days(folder)
    called = [each.called[0] for each in play.threads.threads]
    named = [name for name in called if name.endswith(" repair")]

    assert named
    assert all(name.startswith("the ") for name in named)


def test_an_order_is_asked_without_months(edition: LifeEdition) -> None:
    orders = [each.ask for _, each in edition.written.questions if each.kind == "order"]

    assert orders
    assert not any(MONTH.search(ask) for ask in orders)


def test_no_question_gives_its_answer_away(edition: LifeEdition) -> None:
    for _, question in edition.written.questions:
        if question.expects == "answer" and question.kind not in ("comparison", "order"):
            assert not set(list_words(question.answer)) <= set(list_words(question.ask))


def test_a_secret_is_asked_of_people_who_may_know_it_too(edition: LifeEdition) -> None:
    questions = [question for _, question in edition.written.questions]
    isolated = edition.play.sources.isolated
    known = {
        key
        for question in questions
        if question.expects == "answer" and question.session in isolated
        for key in question.derive.split()[1:]
    }
    secrets = [each for each in questions if each.expects != "answer" and each.kind != "forgotten"]

    assert secrets
    assert all(known.intersection(each.derive.split()[1:]) for each in secrets)


def test_what_is_stated_is_not_asked_as_unstated(folder: Path, tmp_path: Path) -> None:
    change(folder, "entities.yaml", "words: [crane]", "words: [fire, officer]")
    sources = read_life(folder)

    assert any("fire officer is stated: “" in str(found) for found in find_shortages(sources))
    built = build_life_folder(sources, tmp_path / "built")
    assert "rent a crane" not in (built / "qa-200d" / "questions.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", choose_cases(range(4), 2))
def test_distinct_values_are_never_shared(folder: Path, seed: int) -> None:
    change(folder, "entities.yaml", "what: capacity", "what: capacity\n        distinct: true")
    play, _ = play_days(folder, seed)
    rooms = [each for each in play.lives.entities if each.kind_name == "room"]

    assert len(rooms) > 1
    for day in play.calendar.working:
        held = [value for room in rooms if (value := find_true_value(room, day)) is not None]
        assert len(held) == len(set(held)), day


def find_true_value(room: Entity, day: int) -> str | None:
    """The capacity in force on a day, wrong reports aside."""
    told = [
        each
        for each in room.facts["capacity"].states
        if each.day <= day and each.manner != "misreported"
    ]
    return told[-1].value.text if told else None
