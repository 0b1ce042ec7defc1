"""`world` simulates a persona from its sources, and describes any dataset."""

import json
import re
from pathlib import Path
from shutil import copytree

import pytest

from recall_bench.cli.console import show_activity
from recall_bench.features.personas import world_command as world
from recall_bench.stories.shipped import digest_folder
from tests.commands import Invoke
from tests.features.personas.simulator.built_bakery import BAKERY, build_bakery, read_questions

DAYS = 35
"""Long enough for a checkpoint before the last."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bakery of five weeks, not to be touched."""
    return build_bakery(tmp_path_factory, days=DAYS)


@pytest.fixture
def bakery(played: Path, tmp_path: Path) -> Path:
    """The same, to do with as one likes."""
    return copytree(played, tmp_path / "worlds" / "bakery")


def test_build_writes_a_persona_and_says_where(invoke: Invoke) -> None:
    shown = invoke("world", "build", "--persona", BAKERY, "--days", 12, "--out", "mine")

    assert shown.code == 0
    assert shown.out == f"{Path('mine', 'bakery')}\n"
    assert len(list(Path("mine/bakery/memories-12d").glob("day-*.md"))) > 8
    assert shown.err == "simulating bakery, 12 days\n"


def test_the_knobs_change_what_is_built(invoke: Invoke) -> None:
    for out, *knobs in (["usual"], ["other", "--seed", 3], ["short", "--density", 0.5]):
        shown = invoke("world", "build", "--persona", BAKERY, "--days", 6, "--out", out, *knobs)
        assert shown.code == 0

    assert len({digest_folder(Path(out, "bakery")) for out in ("usual", "other", "short")}) == 3


def test_building_over_something_is_refused(bakery: Path, invoke: Invoke) -> None:
    shown = invoke("world", "build", "--persona", BAKERY, "--out", bakery.parent)

    assert (shown.code, shown.out) == (2, "")
    assert "exists already" in shown.err


def test_sources_that_do_not_exist_or_are_wrong_are_named(tmp_path: Path, invoke: Invoke) -> None:
    copytree(BAKERY, tmp_path / "broken")
    matters = tmp_path / "broken" / "matters.yaml"
    matters.write_text(matters.read_text().replace("order {customer}", "order {loafs}"))

    nowhere = invoke("world", "build", "--persona", "nowhere", "--out", "mine")
    broken = invoke("world", "build", "--persona", "broken", "--out", "mine")
    dense = invoke("world", "build", "--persona", BAKERY, "--out", "mine", "--density", 0)

    assert (nowhere.code, broken.code, dense.code) == (2, 3, 2)
    assert "nowhere is neither a folder nor a trade" in nowhere.err
    assert "loafs" in broken.err
    assert "--density" in dense.err
    assert not Path("mine").exists()


def test_stats_draw_a_portrait(bakery: Path, invoke: Invoke) -> None:
    shown = invoke("world", "stats", bakery)

    assert shown.code == 0
    assert re.match(rf"bakery, arcs-{DAYS}d.yaml: \d+ days, \d+ questions\n", shown.out)
    for part in ("words a day", "are new on their day", "overlap"):
        assert part in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100
    assert shown.err == "reading bakery\n"


def test_stats_are_for_any_dataset(data: Path, invoke: Invoke) -> None:
    shown = invoke("world", "stats", data, "harbour-office")

    assert shown.code == 0
    assert "gardener, arcs-10d.yaml: 10 days, 10 questions" in shown.out
    assert "harbour-office, arcs-30d.yaml: 30 days, 91 questions" in shown.out


def test_stats_as_json(bakery: Path, invoke: Invoke) -> None:
    (found,) = json.loads(invoke("world", "stats", bakery, "--json").out)

    assert found["baselines"] is None
    assert found["portrait"]["persona"] == "bakery"
    assert found["portrait"]["overall"]["questions"] == len(read_questions(bakery))


def test_what_has_no_days_has_no_portrait(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "empty").mkdir()

    empty = invoke("world", "stats", "empty")
    unplayed = invoke("world", "stats", BAKERY)

    assert (empty.code, unplayed.code) == (2, 2)
    assert "persona.yaml" in empty.err
    assert "arcs" in unplayed.err


def test_baselines_are_scored_beside_the_portrait(
    data: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setattr(world, "SYSTEMS", ("none", "oracle"))

    text = invoke("world", "stats", "--baselines", data).out
    (found,) = json.loads(invoke("world", "stats", "--baselines", "--json", data).out)

    scores = found["baselines"]
    assert list(scores) == ["none", "oracle", "No", "refusal"]
    assert scores["oracle"]["factual-recall"] == 6
    assert scores["oracle"]["synthesis"] is None
    assert scores["No"]["full"] < 3
    assert len(scores["none"]) == 11
    assert re.search(r"^factual-recall +\d+ +100 +\d+ +\d+$", text, re.MULTILINE)


def test_a_constant_refusal_is_understood_as_one(
    bakery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "SYSTEMS", ())
    refused = [q for q in read_questions(bakery) if q.get("expected_disclosure") == "refuse"]
    for path in bakery.glob("qa-*/questions.yaml"):
        path.write_text(json.dumps(refused))

    scores = world.score_baselines(bakery, f"arcs-{DAYS}d.yaml", DAYS, lambda _: None)

    assert refused
    assert scores["refusal"]["information-boundary"] == 6
    assert list(scores["No"])[-2:] == ["30d", "full"]


def test_every_baseline_is_there(data: Path) -> None:
    scores = world.score_baselines(data / "gardener", "arcs-10d.yaml", 10, lambda _: None)

    lines = world.render_scores(scores).splitlines()
    assert len(scores) == 9
    assert max(map(len, lines)) <= 100


def test_a_log_gets_a_line_for_each_thing_done(capsys: pytest.CaptureFixture[str]) -> None:
    with show_activity() as telling:
        telling("one thing")
        telling("another")

    assert capsys.readouterr().err == "one thing\nanother\n"
