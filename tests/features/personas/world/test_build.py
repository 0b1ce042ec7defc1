"""A world is a function of its sources and its knobs: same seed, same bytes."""

from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.personas.world.build import build_folder
from recall_bench.features.personas.world.sources import WorldOptions, WorldSources
from recall_bench.stories.persona import inspect_persona, load_persona
from recall_bench.stories.shipped import digest_folder
from tests.features.personas.world.built_bakery import Build, read_days, read_questions

LONG = 200
"""The days of the world that other tests ask about too."""


def test_the_same_seed_gives_the_same_bytes(
    built: Build, bakery: WorldSources, tmp_path: Path
) -> None:
    again = build_folder(bakery, WorldOptions(days=60), tmp_path)

    assert digest_folder(again) == digest_folder(built())


def test_the_bytes_are_those_on_record(built: Build) -> None:
    assert digest_folder(built())[:16] == "d543e4c5e222650f"


def test_the_engine_reads_it_without_a_complaint(built: Build) -> None:
    found = inspect_persona(built(), arcs="arcs-60d.yaml")

    assert (found.problems, found.warnings) == ([], [])
    assert len(found.items) > 40


def test_another_seed_changes_names_values_and_dates(built: Build) -> None:
    ours, other = built(), built(seed=1)

    said = " ".join(read_days(other).values())
    assert not [name for name in ("Odette", "Marlowe", "Tibor", "Delacourt") if name in said]
    assert "Millbrook" not in said
    assert "$18,400" not in said
    assert (
        load_persona(ours, arcs="arcs-60d.yaml").epoch
        != load_persona(other, arcs="arcs-60d.yaml").epoch
    )
    shared = {str(q["answer"]) for q in read_questions(ours)} & {
        str(q["answer"]) for q in read_questions(other)
    }
    assert len(shared) < len(read_questions(ours)) / 3


def test_there_is_no_log_while_away(built: Build) -> None:
    assert not {43, 44, 45} & set(read_days(built()))


def test_a_shorter_play_is_the_beginning_of_the_longer(built: Build) -> None:
    short, long = read_days(built()), read_days(built(days=LONG))

    assert short == {day: text for day, text in long.items() if day <= 60}


def test_a_story_goes_on_beyond_its_arcs(built: Build) -> None:
    assert max(read_days(built(days=LONG))) > LONG - 10


def test_density_is_a_matter_of_words(built: Build) -> None:
    usual, half = (
        sum(len(text.split()) for text in read_days(folder).values())
        for folder in (built(), built(density=0.5))
    )

    assert 0.35 < half / usual < 0.75


def test_near_wording_calls_things_by_their_name(built: Build) -> None:
    def named(**knobs: float) -> int:
        return sum(
            "order B-" in str(q["question"])
            for q in read_questions(built(**knobs))
            if q["category"] != "temporal-reasoning"
        )

    assert named(days=30, distance=0.0) > 5
    assert named(days=30, distance=1.0) == 0


def test_evidence_is_the_sentence_that_tells(built: Build) -> None:
    told = read_days(built())
    stated = [q for q in read_questions(built()) if q["derive"]["op"] == "value"]

    assert stated
    for question in stated:
        (span,) = question["evidence"]
        sentence = told[span["day"]][span["start"] : span["end"]]
        assert question["atoms"][0] in sentence
        assert sentence.endswith((".", "!", "?"))


def test_a_folder_that_exists_is_left_alone(bakery: WorldSources, tmp_path: Path) -> None:
    (tmp_path / "bakery").mkdir()

    with pytest.raises(UsageError, match="exists already"):
        build_folder(bakery, WorldOptions(days=5), tmp_path)

    assert list((tmp_path / "bakery").iterdir()) == []


def test_a_play_that_fails_leaves_nothing_behind(bakery: WorldSources, tmp_path: Path) -> None:
    import msgspec

    broken = msgspec.structs.replace(
        bakery,
        story=msgspec.structs.replace(
            bakery.story,
            arcs=[
                msgspec.structs.replace(
                    bakery.story.arcs[0],
                    directives=[
                        msgspec.structs.replace(
                            bakery.story.arcs[0].directives[0], text="Nothing defines {this}."
                        )
                    ],
                )
            ],
        ),
    )

    with pytest.raises(Malformed, match="this"):
        build_folder(broken, WorldOptions(days=5), tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("odd", ["../../x", "/x", ".."])
def test_a_strangers_id_does_not_leave_the_folder(
    bakery: WorldSources, tmp_path: Path, odd: str
) -> None:
    out = tmp_path / "a" / "b"
    persona = msgspec.structs.replace(bakery.persona, id=odd)
    hostile = msgspec.structs.replace(bakery, persona=persona)

    with pytest.raises(Malformed, match="cannot be the name of a folder"):
        build_folder(hostile, WorldOptions(days=60), out)

    assert list(tmp_path.iterdir()) == []
