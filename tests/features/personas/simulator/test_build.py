"""A world is a function of its sources and its options: same seed, same bytes."""

from pathlib import Path
from shutil import copytree

import pytest

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.features.personas.worlds import build_world
from recall_bench.stories.persona import inspect_persona, load_persona
from recall_bench.stories.shipped import digest_folder
from tests.commands import Invoke
from tests.features.personas.simulator.built_bakery import (
    BAKERY,
    Build,
    find_unsupported,
    read_days,
    read_questions,
)

LONG = 200
"""The days of the world that other tests ask about too."""


def test_the_same_seed_gives_the_same_bytes(built: Build, tmp_path: Path) -> None:
    again = build_world(str(BAKERY), tmp_path, days=60)

    assert digest_folder(again) == digest_folder(built())


def test_the_bytes_are_those_on_record(built: Build) -> None:
    """A change means another edition of all drawn stories: raise `SIMULATED_EDITION`."""
    assert digest_folder(built())[:16] == "bff6585533cda65e"


def test_the_engine_reads_it_without_a_complaint(built: Build) -> None:
    found = inspect_persona(built(), arcs="arcs-60d.yaml")

    assert (found.problems, found.warnings) == ([], [])
    assert len(found.items) > 40


@pytest.mark.parametrize("trade", load_trades())
def test_every_trade_lints_clean_and_cites_what_it_asks(
    trade: str, tmp_path: Path, invoke: Invoke
) -> None:
    folder = build_world(trade, tmp_path, days=60, seed=11)

    shown = invoke("lint", "--data", tmp_path)

    assert shown.code == 0, shown.out
    assert find_unsupported(folder) == []
    assert len({question["category"] for question in read_questions(folder)}) == 9


def test_another_seed_changes_names_values_and_dates(built: Build) -> None:
    ours, other = built(), built(seed=1)

    said = " ".join(read_days(other).values())
    assert not [name for name in ("Odette", "Marlowe", "Tibor", "Delacourt") if name in said]
    assert "Millbrook" not in said
    assert (
        load_persona(ours, arcs="arcs-60d.yaml").epoch
        != load_persona(other, arcs="arcs-60d.yaml").epoch
    )
    shared = {str(q["answer"]) for q in read_questions(ours)} & {
        str(q["answer"]) for q in read_questions(other)
    }
    assert len(shared) < len(read_questions(ours)) / 3


def test_a_story_goes_on_to_its_last_day(built: Build) -> None:
    assert max(read_days(built(days=LONG))) > LONG - 3


def test_density_is_a_matter_of_words(built: Build) -> None:
    usual, half = (
        sum(len(text.split()) for text in read_days(folder).values())
        for folder in (built(), built(density=0.5))
    )

    assert 0.35 < half / usual < 0.75


def test_evidence_is_the_sentence_that_tells(built: Build) -> None:
    told = read_days(built())
    stated = [
        q
        for q in read_questions(built())
        if q["derive"]["op"] == "value" and q["derive"].get("form") != "absent"
    ]

    assert stated
    for question in stated:
        (span,) = question["evidence"]
        sentence = told[span["day"]][span["start"] : span["end"]]
        assert question["atoms"][0] in sentence
        assert sentence.endswith((".", "!", "?"))


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bakery").mkdir()

    with pytest.raises(UsageError, match="exists already"):
        build_world(str(BAKERY), tmp_path, days=5)

    assert list((tmp_path / "bakery").iterdir()) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("matters.yaml", "session: bank", "session: bunk", "bunk is not in persona.yaml"),
        ("matters.yaml", 'loaf: {choice: "@loaf"}', 'loaf: {choice: "@cakes"}', "@cakes, which is"),
        ("matters.yaml", "order {customer}", "order {custom}", "{custom}, which nothing"),
        ("matters.yaml", "{person: shop}", "{person: shops}", "no one in the cast"),
        ("matters.yaml", "complaint: baker", "complaint: bakers", "no person of it"),
        ("matters.yaml", "money: [2, 600, 1]", "money: [600, 2]", "lowest value above"),
        ("matters.yaml", 'name: "order B-{n}"', "name: order", "no {n}"),
        ("matters.yaml", "link: supplier", "link: vendor", "no question under links"),
        ("matters.yaml", "{choice: [paid", "{chosen: [paid", "line "),
        ("matters.yaml", "session: bank", "session: crew", "is not isolated"),
        ("persona.yaml", "week: [normal, busy", "week: [bussy, busy", "line "),
        ("persona.yaml", "dates: day-first", "dates: day_first", "line "),
        ("persona.yaml", 'epoch: "2024-01-01"', 'epoch: "soon"', "is not a date"),
        ("persona.yaml", "id: bakery", "id: ../../x", "cannot be the name of a folder"),
    ],
)
def test_a_fault_in_the_sources_is_named_and_nothing_is_written(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    folder = copytree(BAKERY, tmp_path / "bakery")
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    with pytest.raises(BenchError) as caught:
        build_world(str(folder), tmp_path / "out", days=20)

    assert said in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    folder = copytree(BAKERY, tmp_path / "bakery")
    (folder / "matters.yaml").unlink()

    with pytest.raises(UsageError, match=r"no matters\.yaml"):
        build_world(str(folder), tmp_path / "out", days=20)
