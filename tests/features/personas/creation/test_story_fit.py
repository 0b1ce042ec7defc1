"""An authored story is told at any length and from any date, and stays sound."""

from collections import Counter
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.creation.offline_persona import (
    OfflineStoryRequest,
    compose_sources,
    dump_sources,
    hash_prompt,
)
from recall_bench.features.personas.creation.story_fit import (
    cut_arc,
    fit_story,
    make_standalone,
    move_arc,
    move_story,
)
from recall_bench.features.personas.creation.story_rules import count_fewest_arcs
from recall_bench.features.personas.world.build import parse_epoch, write_world
from recall_bench.features.personas.world.sources import AuthoredStory, WorldSources, read_sources
from recall_bench.features.personas.world.validation import MOST_CONCURRENT, find_source_problems
from recall_bench.features.personas.world_folder import WorldRecipe, prepare_world
from recall_bench.features.personas.worlds import list_trades, load_sources
from recall_bench.stories.lint.lint_corpus import Severity
from recall_bench.stories.lint.lint_report import lint_story
from recall_bench.stories.persona_files import Layout
from tests.features.personas.world.built_bakery import find_unsupported, read_questions
from tests.loops import loop_over_rows

LENGTHS = (1, 30, 60, 400, 1500)
TRADES = list_trades()


@cache
def authored(trade: str) -> WorldSources:
    return load_sources(trade, "arcs-1000d.yaml")


def wanted(
    folder: Path, trade: str, days: int, *, seed: int = 7, **dates: date
) -> OfflineStoryRequest:
    return OfflineStoryRequest(
        recipe=WorldRecipe(trade=trade, seed=seed),
        layout=Layout(folder, f"arcs-{days}d.yaml"),
        days=days,
        **dates,
    )


@pytest.mark.parametrize("trade", TRADES)
@pytest.mark.parametrize("days", LENGTHS)
def test_every_length_is_sound(trade: str, days: int) -> None:
    story = fit_story(authored(trade).story_file, days)

    told = msgspec.structs.replace(
        authored(trade), story=msgspec.convert(story, AuthoredStory), story_file=story
    )
    assert find_source_problems(told) == []
    assert len(story["arcs"]) == len({arc["id"] for arc in story["arcs"]}) > 0
    for arc in story["arcs"]:
        assert 1 <= arc["startDay"] <= days
        assert (arc.get("correctedDay") or 0) <= days
    for day in range(1, days + 1):
        active = [arc for arc in story["arcs"] if arc["startDay"] <= day <= arc["endDay"]]
        assert len(active) <= MOST_CONCURRENT


@loop_over_rows("trade", TRADES)
def test_a_story_of_six_weeks_has_every_type_of_arc(trade: str) -> None:
    for days in (45, 60, 90, 120, 180, 364, 400):
        found = Counter(arc["type"] for arc in fit_story(authored(trade).story_file, days)["arcs"])

        assert set(found) == set(count_fewest_arcs(days))


@loop_over_rows("trade", TRADES)
def test_a_fortnight_is_enough_for_a_secret(trade: str) -> None:
    isolated = {each.id for each in authored(trade).persona.sessions if each.isolated}

    for days in (14, 30, 60, 180):
        arcs = fit_story(authored(trade).story_file, days)["arcs"]
        assert isolated & {arc["primarySession"] for arc in arcs}


@loop_over_rows("trade", TRADES)
def test_the_whole_story_is_as_authored(trade: str) -> None:
    story = authored(trade).story_file

    found = {arc["id"]: arc for arc in fit_story(story, 1000)["arcs"]}

    assert found == {arc["id"]: arc for arc in story["arcs"]}


def test_what_is_brought_forward_moves_by_whole_weeks() -> None:
    for trade in TRADES:
        before = {arc["id"]: arc["startDay"] for arc in authored(trade).story_file["arcs"]}
        for arc in fit_story(authored(trade).story_file, 60)["arcs"]:
            assert (before[arc["id"]] - arc["startDay"]) % 7 == 0


ARC: dict[str, Any] = {
    "id": "leak",
    "type": "correction",
    "startDay": 20,
    "endDay": 60,
    "wrongDay": 20,
    "correctedDay": 34,
    "facts": {
        "due": {"kind": "date", "is": [40, 48], "cue": ["due"], "ask": ["When?"]},
        "sum": {"kind": "money", "is": "$40", "cue": ["cost"], "ask": ["How much?"]},
    },
    "directives": [
        {"day": 20, "event": "Found", "text": "It was found."},
        {"day": 25, "event": "Set", "text": "It is due {due}; see {date:25}."},
        {"day": 34, "event": "Moved", "text": "Now due {due}.", "changes": ["due"]},
        {"day": 60, "event": "Paid", "text": "It cost {sum}."},
    ],
}


def test_an_arc_moves_with_all_its_days_and_dates() -> None:
    there = move_arc(ARC, -14)

    assert [there[key] for key in ("startDay", "endDay", "wrongDay", "correctedDay")] == [
        6,
        46,
        6,
        20,
    ]
    assert [step["day"] for step in there["directives"]] == [6, 11, 20, 46]
    assert there["facts"]["due"]["is"] == [26, 34]
    assert there["facts"]["sum"] == ARC["facts"]["sum"]
    assert "{date:11}" in there["directives"][1]["text"]
    assert move_arc(there, 14) == ARC


def test_a_story_moves_with_its_times_away_and_its_opening_hours() -> None:
    story = {"arcs": [ARC], "away": [[70, 75]], "sessions": [{"id": "deal", "firstDay": 30}]}

    there = move_story(story, 3)

    assert there["arcs"] == [move_arc(ARC, 3)]
    assert there["away"] == [[73, 78]]
    assert there["sessions"] == [{"id": "deal", "firstDay": 33}]


def test_an_arc_cut_short_asks_only_what_it_tells() -> None:
    cut = cut_arc(ARC, 7)

    assert [step["day"] for step in cut["directives"]] == [20, 25, 34]  # up to the correction
    assert cut["endDay"] == 34
    assert cut["facts"]["due"] == ARC["facts"]["due"]
    assert cut["facts"]["sum"] == {"kind": "money", "is": "$40", "cue": ["cost"]}
    assert cut_arc(ARC, 40) == ARC


def test_arcs_left_out_leave_their_values_to_those_that_shared_them() -> None:
    lender = {"id": "a", "facts": {"firm": {"kind": "choice", "is": "X", "or": ["Y"], "ask": "?"}}}
    first = {"id": "b", "facts": {"by": {"same": "a.firm", "cue": ["by"]}}}
    second = {"id": "c", "facts": {"of": {"same": "a.firm", "cue": ["of"]}}}

    found = make_standalone([first, second], [lender, first, second])

    assert found[0]["facts"]["by"] == {"kind": "choice", "is": "X", "or": ["Y"], "cue": ["by"]}
    assert found[1]["facts"]["of"] == {"same": "b.by", "cue": ["of"]}
    assert make_standalone([lender, second], [lender, first, second]) == [lender, second]


def test_another_first_day_keeps_every_weekday(tmp_path: Path) -> None:
    begins = date(2031, 5, 1)  # a Thursday; the story was written from a Monday on
    as_seeded = compose_sources(wanted(tmp_path / "ada", "litigation-attorney", 1000))
    given = compose_sources(wanted(tmp_path / "ada", "litigation-attorney", 1000, epoch=begins))

    assert parse_epoch(given) == begins

    def weekdays(sources: WorldSources) -> dict[str, list[int]]:
        first = parse_epoch(sources)
        return {
            arc.id: [(first + timedelta(days=step.day - 1)).weekday() for step in arc.directives]
            for arc in sources.story.arcs
        }

    assert weekdays(given) == weekdays(as_seeded)
    assert given.story.away[0][0] - as_seeded.story.away[0][0] == 4


def test_a_story_too_short_for_its_weekdays_still_happens(tmp_path: Path) -> None:
    begins = date(2031, 5, 2)

    assert compose_sources(wanted(tmp_path / "ada", "er-physician", 1, epoch=begins)).story.arcs


@pytest.mark.parametrize("trade", ["backend-eng-saas", "executive-assistant"])
def test_what_is_written_to_disk_is_what_is_played(trade: str, tmp_path: Path) -> None:
    want = wanted(tmp_path, trade, 60)
    sources = compose_sources(want)
    for name, content in dump_sources(sources, want.recipe).items():
        (tmp_path / name).write_bytes(content)

    again = read_sources(tmp_path, "arcs-60d.yaml")

    assert (again.persona, again.story) == (sources.persona, sources.story)
    assert (again.routine, again.voice) == (sources.routine, sources.voice)
    assert dump_yaml(again.persona_file) == dump_yaml(sources.persona_file)
    assert dump_yaml(again.story_file) == dump_yaml(sources.story_file)


@pytest.mark.parametrize(
    ("trade", "days", "begins"),
    [
        ("executive-assistant", 14, None),
        ("financial-advisor", 30, None),
        ("litigation-attorney", 45, date(2027, 8, 1)),
    ],
)
def test_every_value_stands_in_its_evidence(
    trade: str, days: int, begins: date | None, tmp_path: Path
) -> None:
    folder, arcs = tmp_path / "ada", f"arcs-{days}d.yaml"
    want = wanted(folder, trade, days, seed=hash_prompt(trade, days))
    want = OfflineStoryRequest(recipe=want.recipe, layout=want.layout, days=days, epoch=begins)
    world = prepare_world(compose_sources(want), want.recipe)

    write_world(world.sources, world.options, folder)

    assert find_unsupported(folder) == []
    assert len(read_questions(folder)) > 20
    assert lint_story(folder, arcs=arcs).count(Severity.ERROR) == 0


def test_the_seed_of_a_description_is_its_own() -> None:
    assert hash_prompt("A nurse", 0) == hash_prompt(" A  nurse\n", 0) == 579_003_535
    assert (
        len({hash_prompt("A nurse", 0), hash_prompt("A nurse", 1), hash_prompt("A lawyer", 0)}) == 3
    )
