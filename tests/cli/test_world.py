"""`world` builds a persona, proves what was built, and describes any dataset."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from recall_bench.cli import world
from recall_bench.cli.console import show_activity
from recall_bench.generate import shipped_personas, worlds
from recall_bench.generate.shipped_personas import ShippedCorpus, digest_folder, write_catalogue
from recall_bench.generate.worlds import build_world, find_worlds, verify_and_lint
from tests.commands import Invoke
from tests.generate.world.built_bakery import BAKERY, build_bakery, read_questions

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


def values_in(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The questions for a value in one sentence, by an asker who may know."""
    return [
        question
        for question in asked
        if question["derive"]["op"] == "value"
        and question["category"] != "information-boundary"
        and len(question["evidence"]) == 1
    ]


def tamper(folder: Path) -> str:
    """Change the figure a question asks for, in the sentence that states it; the question's id."""
    asked = values_in(read_questions(folder))
    question = next(q for q in asked if re.search("/(number|money)", q["kind"]))
    (span,), (value,) = question["evidence"], question["atoms"]
    path = folder / f"memories-{DAYS}d" / f"day-{span['day']:04}.md"
    text = path.read_text(encoding="utf-8")
    told = text[span["start"] : span["end"]].replace(value, re.sub(r"\d", "9", value))
    path.write_text(text[: span["start"]] + told + text[span["end"] :], encoding="utf-8")
    return str(question["id"])


def misquote(folder: Path, times: int) -> list[str]:
    """Give this many questions a wrong reference; their ids."""
    asked = read_questions(folder)
    chosen = values_in(asked)[:times]
    assert len(chosen) == times
    for question in chosen:
        question["answer"] = "Whatever the miller said."
    (folder / f"qa-{DAYS}d" / "questions.yaml").write_text(json.dumps(asked))
    return [question["id"] for question in chosen]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that ships one persona, a bakery of twelve days; the cache it is played into."""
    sources = tmp_path / "sources"
    (sources / "bakery").mkdir(parents=True)
    for name in ("persona.yaml", "routine.yaml", "voice.yaml"):
        copy(BAKERY / name, sources / "bakery" / name)
    copy(BAKERY / "arcs-60d.yaml", sources / "bakery" / "arcs-12d.yaml")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped_personas, "SOURCES", sources)
    monkeypatch.setattr(worlds, "SOURCES", sources)
    monkeypatch.setattr(shipped_personas, "_CATALOGUE", sources / "catalogue.json")
    expected = build_world("bakery", tmp_path / "expected")
    corpus = ShippedCorpus(
        digest=digest_folder(expected), days=12, questions=len(read_questions(expected))
    )
    write_catalogue({"bakery": {"arcs-12d.yaml": corpus}})
    yield tmp_path / "cache"
    monkeypatch.undo()
    shipped_personas._read_catalogue.cache_clear()


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
    routine = tmp_path / "broken" / "routine.yaml"
    routine.write_text(routine.read_text().replace("{loaves}", "{loafs}"))

    nowhere = invoke("world", "build", "--persona", "nowhere", "--out", "mine")
    broken = invoke("world", "build", "--persona", "broken", "--out", "mine")
    dense = invoke("world", "build", "--persona", BAKERY, "--out", "mine", "--density", 0)

    assert (nowhere.code, broken.code, dense.code) == (2, 3, 2)
    assert "nowhere is neither a folder nor a shipped persona" in nowhere.err
    assert "loafs" in broken.err
    assert "--density" in dense.err
    assert not Path("mine").exists()


def test_a_sound_world_is_one_line_and_ends_with_0(bakery: Path, invoke: Invoke) -> None:
    shown = invoke("world", "check", bakery)

    count = len(read_questions(bakery))
    assert shown.code == 0
    assert re.fullmatch(
        rf"bakery  \d+ days, {count} of {count} answers re-derived, 0 findings, "
        r"lint 0 errors \d+ warnings?\n",
        shown.out,
    )
    assert shown.err == "deriving the answers of bakery\nlooking for faults in bakery\n"


def test_a_changed_value_is_found_and_ends_with_3(bakery: Path, invoke: Invoke) -> None:
    changed = tamper(bakery)

    shown = invoke("world", "check", bakery)

    count = len(read_questions(bakery))
    assert shown.code == 3
    assert f"{count} of {count} answers" not in shown.out
    assert f"question {changed}: " in shown.out
    assert "error: not verified: bakery" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 100


def test_a_lint_error_alone_ends_with_3(bakery: Path, invoke: Invoke) -> None:
    """No proof reads how hard a question is said to be."""
    asked = read_questions(bakery)
    asked[0]["difficulty"] = "tricky"
    (bakery / f"qa-{DAYS}d" / "questions.yaml").write_text(json.dumps(asked))

    shown = invoke("world", "check", bakery)

    assert shown.code == 3
    assert (
        f"{len(asked)} of {len(asked)} answers re-derived, 0 findings, lint 1 error " in shown.out
    )
    assert "  lint error, " in shown.out
    assert "tricky" in shown.out


def test_of_each_kind_five_findings_are_listed_unless_all_are_wanted(
    bakery: Path, invoke: Invoke
) -> None:
    misquote(bakery, 7)

    few, every = (invoke("world", "check", bakery, *flag).out for flag in ([], ["--all"]))

    assert "  reference (7)\n" in few
    assert "    and 2 more; --all lists them\n" in few
    assert "more; --all" not in every
    assert "  lint note, " in every
    assert "  lint note, " not in few


def test_json_holds_every_finding(bakery: Path, invoke: Invoke) -> None:
    changed = misquote(bakery, 7)

    shown = invoke("world", "check", bakery, "--json")

    (examined,) = json.loads(shown.out)
    found = {finding["where"] for finding in examined["proof"]["findings"]}
    assert shown.code == 3
    assert {f"question {name}" for name in changed} <= found
    assert (examined["persona"], examined["arcs"]) == ("bakery", f"arcs-{DAYS}d.yaml")
    assert examined["proof"]["questions"] - examined["proof"]["rederived"] == 7
    assert examined["lint"]["persona"] == "bakery"


def test_a_folder_of_personas_is_checked_one_by_one(bakery: Path, invoke: Invoke) -> None:
    copytree(bakery, bakery.parent / "twin")
    tamper(bakery)

    shown = invoke("world", "check", bakery.parent)

    assert shown.code == 3
    assert re.findall(r"^(\w+) +\d+ days", shown.out, re.MULTILINE) == ["bakery", "twin"]
    assert "error: not verified: bakery;" in shown.err


def test_what_cannot_be_checked_ends_with_2(data: Path, bakery: Path, invoke: Invoke) -> None:
    absent = invoke("world", "check", "nowhere")
    foreign = invoke("world", "check", data / "gardener")
    unplayed = invoke("world", "check", BAKERY)
    other_story = invoke("world", "check", bakery, "--arcs", "arcs-9d.yaml")

    for shown in (absent, foreign, unplayed, other_story):
        assert (shown.code, shown.out) == (2, "")
    assert "nowhere is neither a folder nor a shipped persona" in absent.err
    assert "only worlds built by the simulator can be verified" in foreign.err
    assert "memories-60d" in unplayed.err
    assert f"arcs-{DAYS}d.yaml" in other_story.err


def test_without_a_name_every_shipped_persona_is_played_and_checked(
    release: Path, invoke: Invoke
) -> None:
    first = invoke("world", "check")
    again = invoke("world", "check", "bakery")

    assert (first.code, again.code) == (0, 0)
    assert first.out == again.out
    assert first.out.startswith("bakery arcs-12d.yaml  ")
    assert "simulating bakery, 12 days\n" in first.err
    assert "playing" not in again.err
    assert len(list(release.rglob("lexicon.json"))) == 1


def test_a_package_that_ships_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setattr(shipped_personas, "_CATALOGUE", tmp_path / "catalogue.json")
    shipped_personas._read_catalogue.cache_clear()

    shown = invoke("world", "check")

    shipped_personas._read_catalogue.cache_clear()
    assert shown.code == 2
    assert "name a persona's folder" in shown.err


def test_python_can_ask_the_same(bakery: Path) -> None:
    (world,) = find_worlds([str(bakery)])
    told: list[str] = []

    examined = verify_and_lint(world, on_progress=told.append)

    assert examined.is_sound
    assert len(told) == 2


def test_stats_draw_a_portrait(bakery: Path, invoke: Invoke) -> None:
    shown = invoke("world", "stats", bakery)

    assert shown.code == 0
    assert re.match(rf"bakery, arcs-{DAYS}d.yaml: \d+ days, \d+ questions\n", shown.out)
    for part in ("words a day", "a thread is spoken of", "are new on their day", "overlap"):
        assert part in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100
    assert shown.err == "reading bakery\n"


def test_stats_are_for_any_dataset(data: Path, invoke: Invoke) -> None:
    shown = invoke("world", "stats", data, "harbour-office")

    assert shown.code == 0
    assert "gardener, arcs-10d.yaml: 10 days, 10 questions" in shown.out
    assert "harbour-office, arcs-30d.yaml: 30 days, 91 questions" in shown.out
    assert "thread" not in shown.out


def test_stats_as_json(bakery: Path, invoke: Invoke) -> None:
    (found,) = json.loads(invoke("world", "stats", bakery, "--json").out)

    assert found["baselines"] is None
    assert found["portrait"]["persona"] == "bakery"
    assert found["portrait"]["threads"]["named"]["part"] > 50
    assert found["portrait"]["questions"]["overall"]["questions"] == len(read_questions(bakery))


def test_what_has_no_days_has_no_portrait(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "empty").mkdir()

    empty = invoke("world", "stats", "empty")
    unplayed = invoke("world", "stats", BAKERY)

    assert (empty.code, unplayed.code) == (2, 2)
    assert "persona.yaml" in empty.err
    assert "memories-60d" in unplayed.err


def test_baselines_are_scored_beside_the_portrait(
    data: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setattr(world, "SYSTEMS", ("none", "oracle"))

    text = invoke("world", "stats", "--baselines", data).out
    (found,) = json.loads(invoke("world", "stats", "--baselines", "--json", data).out)

    scores = {score["system"]: score for score in found["baselines"]}
    assert list(scores) == ["none", "oracle", "No", "refusal"]
    assert scores["oracle"]["categories"]["factual-recall"] == 6
    assert scores["oracle"]["categories"]["synthesis"] is None
    assert scores["No"]["checkpoints"]["full"] < 3
    assert list(scores["none"]["checkpoints"]) == ["full"]
    assert re.search(r"^factual-recall +\d+ +100 +\d+ +\d+$", text, re.MULTILINE)


def test_a_constant_refusal_is_understood_as_one(
    bakery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "SYSTEMS", ())
    refused = [q for q in read_questions(bakery) if q.get("expected_disclosure") == "refuse"]
    for path in bakery.glob("qa-*/questions.yaml"):
        path.write_text(json.dumps(refused))

    no, refusal = world.score_baselines(bakery, f"arcs-{DAYS}d.yaml", DAYS, lambda _: None)

    assert refused
    assert refusal.categories["information-boundary"] == 6
    assert list(no.checkpoints) == ["30d", "full"]


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
