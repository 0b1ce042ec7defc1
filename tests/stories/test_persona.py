"""A persona's folder becomes the scenario it describes, or everything wrong with it at once."""

from datetime import date, datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import Problems, UsageError
from recall_bench.core.plan import Calendar
from recall_bench.core.scenario import Expects
from recall_bench.stories.persona import inspect_persona, load_persona
from tests.conftest import shared_data
from tests.stories.persona_folder import TOLD, edit, plant, write_day

STORY = "arcs-6d.yaml"
EA = "recall-ea/executive-assistant"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plant(tmp_path)


def digests(folder: Path, calendar: Calendar = Calendar.METADATA) -> tuple[str, str]:
    card = inspect_persona(folder, arcs=STORY, calendar=calendar).card
    assert card is not None
    return card.history_digest, card.questions_digest


def test_a_folder_becomes_a_scenario(folder: Path) -> None:
    scenario = load_persona(folder, arcs=STORY)

    assert (scenario.id, scenario.epoch) == ("nursery", date(2026, 2, 1))
    assert [episode.id for episode in scenario.episodes] == [f"day-{day:04}" for day in TOLD]
    assert [episode.day for episode in scenario.episodes] == list(TOLD)
    assert [episode.arcs for episode in scenario.episodes] == [("pump",)] * 3 + [("frost",)] * 2
    assert len(scenario.items) == 3


def test_a_day_is_dated_from_the_epoch_and_gaps_do_not_count(folder: Path) -> None:
    episodes = load_persona(folder, arcs=STORY).episodes

    assert [episode.at.day for episode in episodes] == list(TOLD)
    assert episodes[3].at == datetime(2026, 2, 5)


def test_a_day_is_unchanged_to_the_byte(folder: Path) -> None:
    written = "\ufeff---\r\ntype: daily\r\n---\r\n\r\n# é\n\n  trailing  \r"
    write_day(folder, 2, written)

    assert load_persona(folder, arcs=STORY).episodes[1].text == written


def test_a_sound_story_has_a_card_and_nothing_to_say(folder: Path) -> None:
    found = inspect_persona(folder, arcs=STORY)

    assert (found.problems, found.warnings) == ([], [])
    assert found.card is not None
    assert (found.card.id, found.card.epoch) == ("nursery", date(2026, 2, 1))
    assert (found.card.episodes, found.card.last_day, found.card.items) == (5, 6, 3)


def test_the_digests_notice_a_changed_byte_and_only_where_it_changed(folder: Path) -> None:
    history, questions = digests(folder)

    write_day(folder, 3, "The log of day 3!\n")
    other_history, same_questions = digests(folder)
    edit(folder / "qa-6d" / "questions.yaml", "Bid B.", "Bid C.")
    same_history, other_questions = digests(folder)

    assert other_history != history
    assert same_questions == questions
    assert same_history == other_history
    assert other_questions != questions


def test_the_history_digest_covers_the_dates(folder: Path) -> None:
    history, _ = digests(folder)

    edit(folder / "persona.yaml", "epoch: 2026-02-01", "epoch: 2026-02-02")

    assert digests(folder)[0] != history


def test_the_questions_digest_is_of_what_they_say_and_not_of_the_file(folder: Path) -> None:
    _, questions = digests(folder)

    edit(folder / "qa-6d" / "questions.yaml", "- id: nursery-q1", "# again\n- id: nursery-q1")

    assert digests(folder)[1] == questions


def behind(folder: Path) -> None:
    """From day 3 on the text is a day behind, as if clocks had changed."""
    for day, told in ((1, 1), (2, 2), (3, 2), (6, 5)):
        weekday = date(2026, 2, told).strftime("%A")
        write_day(folder, day, f"### Log\n\nQuiet on {weekday}, 2026-02-{told:02}.\n")


def test_the_text_can_overrule_the_calendar(folder: Path) -> None:
    behind(folder)

    by_metadata = load_persona(folder, arcs=STORY).episodes
    by_text = load_persona(folder, arcs=STORY, calendar=Calendar.TEXT).episodes

    assert [episode.at.day for episode in by_metadata] == [1, 2, 3, 5, 6]
    assert [episode.at.day for episode in by_text] == [1, 2, 2, 4, 5]


def test_a_text_that_disagrees_with_the_calendar_is_a_warning(folder: Path) -> None:
    behind(folder)

    (warning,) = inspect_persona(folder, arcs=STORY).warnings

    assert warning == (
        "nursery/memories-6d, days 3–6: the text is one day behind the metadata "
        "(2 of 3 give a readable date); use --calendar text to follow the text"
    )
    assert inspect_persona(folder, arcs=STORY, calendar=Calendar.TEXT).warnings == []


def test_the_calendar_chosen_is_part_of_the_history(folder: Path) -> None:
    behind(folder)

    assert digests(folder) != digests(folder, Calendar.TEXT)


def test_following_a_text_without_dates_is_a_warning(folder: Path) -> None:
    (warning,) = inspect_persona(folder, arcs=STORY, calendar=Calendar.TEXT).warnings

    assert "no day gives its own date" in warning


def test_a_date_out_of_line_is_not_followed_and_said(folder: Path) -> None:
    behind(folder)
    write_day(folder, 5, "# 2026-12-24\n\nChristmas.\n")

    (warning,) = inspect_persona(folder, arcs=STORY, calendar=Calendar.TEXT).warnings
    episodes = load_persona(folder, arcs=STORY, calendar=Calendar.TEXT).episodes

    assert "the text of day 5 gives a date that does not fit" in warning
    assert [episode.at.day for episode in episodes] == [1, 2, 2, 4, 5]


def test_everything_wrong_is_found_in_one_look(folder: Path) -> None:
    edit(folder / "persona.yaml", "name: Fern\n", "")
    edit(folder / STORY, "type: project", "type: projet")
    edit(folder / "qa-6d" / "questions.yaml", "answer: Bid B.", "answer: 7")
    write_day(folder, 3, "")

    found = inspect_persona(folder, arcs=STORY)

    assert found.card is None
    assert sorted(str(problem).partition(":")[0] for problem in found.problems) == [
        "nursery/arcs-6d.yaml, line 6",
        "nursery/memories-6d/day-0003.md",
        "nursery/persona.yaml, line 1",
        "nursery/qa-6d/questions.yaml, line 3",
    ]


def test_what_the_inspection_finds_the_loader_refuses(folder: Path) -> None:
    edit(folder / "qa-6d" / "questions.yaml", "answer: Bid B.", "answer: 7")
    write_day(folder, 3, "")
    found = inspect_persona(folder, arcs=STORY)

    with pytest.raises(Problems) as caught:
        load_persona(folder, arcs=STORY)

    assert list(map(str, caught.value.problems)) == list(map(str, found.problems))
    assert caught.value.exit_code == 3


def test_a_part_that_is_missing_does_not_hide_what_is_wrong_with_the_rest(folder: Path) -> None:
    (folder / "persona.yaml").unlink()
    write_day(folder, 3, "")

    missing, empty = inspect_persona(folder, arcs=STORY).problems

    assert isinstance(missing, UsageError)
    assert "day-0003.md: is empty" in str(empty)


def test_a_request_that_cannot_be_met_exits_with_2(folder: Path) -> None:
    with pytest.raises(Problems) as caught:
        load_persona(folder)

    assert caught.value.exit_code == 2
    assert "nursery has no arcs-1000d.yaml; it has arcs-6d.yaml" in str(caught.value)


def test_an_id_unlike_the_folder_is_a_warning(folder: Path) -> None:
    edit(folder / "persona.yaml", "id: nursery", "id: orchard")

    found = inspect_persona(folder, arcs=STORY)

    assert found.problems == []
    (warning,) = found.warnings
    assert warning == (
        "nursery/persona.yaml, line 1: the id is orchard and the folder nursery; "
        "results use the folder"
    )
    assert load_persona(folder, arcs=STORY).id == "nursery"


def test_what_a_correction_does_not_say_is_a_warning(folder: Path) -> None:
    edit(folder / STORY, "    wrongBelief: April 2\n", "")

    (warning,) = inspect_persona(folder, arcs=STORY).warnings

    assert "arc frost is a correction and has no wrongBelief" in warning


def test_kept_copies_of_the_questions_are_not_read(folder: Path) -> None:
    (folder / "qa-6d" / "questions.yaml.bak-pre-verify").write_text("][", encoding="utf-8")

    assert inspect_persona(folder, arcs=STORY).problems == []


def test_the_public_story_is_sound() -> None:
    found = inspect_persona(shared_data(EA), arcs="arcs-180d.yaml")

    assert found.problems == []
    assert found.card is not None
    assert (found.card.episodes, found.card.last_day, found.card.items) == (180, 180, 316)
    (warning,) = found.warnings
    assert "days 68–180: the text is one day behind the metadata" in warning


def test_the_public_story_has_the_counts_it_is_known_for() -> None:
    scenario = load_persona(shared_data(EA), arcs="arcs-180d.yaml")

    counts: dict[str, int] = {}
    for item in scenario.items:
        counts[item.truth.category] = counts.get(item.truth.category, 0) + 1
    assert counts == {
        "factual-recall": 144,
        "negative-recall": 52,
        "decision-tracking": 32,
        "synthesis": 32,
        "contradiction-resolution": 19,
        "cross-reference": 17,
        "recency-bias-resistance": 10,
        "temporal-reasoning": 6,
        "information-boundary": 4,
    }
    difficulties = [item.truth.difficulty for item in scenario.items]
    assert [difficulties.count(word) for word in ("easy", "medium", "hard")] == [202, 105, 9]
    assert sum(item.known_until is not None for item in scenario.items) == 14
    expects = [item.truth.expects for item in scenario.items]
    assert (expects.count(Expects.ABSTAIN), expects.count(Expects.WITHHOLD)) == (50, 4)
    assert sum(len(episode.text) for episode in scenario.episodes) / 180 == pytest.approx(
        25_700, rel=0.01
    )


@pytest.mark.parametrize(
    ("calendar", "day_67", "day_68"),
    [
        (Calendar.METADATA, date(2026, 3, 8), date(2026, 3, 9)),
        (Calendar.TEXT, date(2026, 3, 8), date(2026, 3, 8)),
    ],
)
def test_the_public_story_can_be_dated_by_its_text(
    calendar: Calendar, day_67: date, day_68: date
) -> None:
    scenario = load_persona(shared_data(EA), arcs="arcs-180d.yaml", calendar=calendar)

    assert scenario.episodes[66].at.date() == day_67
    assert scenario.episodes[67].at.date() == day_68
