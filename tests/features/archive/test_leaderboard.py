"""From bundles to a site: what cannot be verified is left out, and a replay asks again."""

import json
import tempfile
from pathlib import Path
from shutil import copytree

import pytest

from recall_bench.core.event import Judged, NotJudged
from recall_bench.core.verdict import PEOPLE, Verdict
from recall_bench.engine.runs.journal import encode_events, read_events
from recall_bench.features.archive.leaderboard.collection import RunCollection
from tests.commands import Invoke
from tests.gardener import ADAPTER

STORY = ("-p", "er-physician", "--arcs", "arcs-21d.yaml", "--world-seed", f"0x{1 << 127:x}")
RUN = (*STORY, "-r", "10d", "--no-heatmap-png")


@pytest.fixture
def submissions(invoke: Invoke, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bundles, each in a folder of its own, made by the first test that needs them."""
    made = tmp_path_factory.getbasetemp() / "leaderboard-submissions"
    if not made.exists():
        make_submissions(invoke)
        copytree(Path(), made)
    copytree(made, Path(), dirs_exist_ok=True)
    return Path("submissions")


def make_submissions(invoke: Invoke) -> None:
    for system in ("bm25", "recency"):
        assert invoke("run", "-a", system, *RUN, "-o", f"runs/{system}").code == 0
        bundle = f"submissions/{system}/{system}.bundle"
        Path(bundle).parent.mkdir(parents=True)
        assert invoke("bundle", f"runs/{system}", "-o", bundle).code == 0
    Path("submissions/bm25/submission.yaml").write_text("name: Words\nadapter: bm25\n")


def read_badges(site: Path) -> dict[str, list[str]]:
    (suite,) = json.loads((site / "board.json").read_text())["suites"]
    return {entry["system"]: entry["badges"] for entry in suite["entries"]}


def test_bundles_become_a_site_and_a_replay_earns_its_badge(
    invoke: Invoke, submissions: Path
) -> None:
    replayed = invoke("leaderboard", "replay", submissions / "bm25" / "bm25.bundle")

    shown = invoke("leaderboard", "build", submissions, "--into", "site")

    assert replayed.code == 0
    assert "confirmed" in replayed.out
    assert shown.code == 0, shown.err
    assert "1. Words, recency" in shown.out
    assert read_badges(Path("site")) == {
        "Words": ["verified", "fresh seed", "replayed"],
        "recency": ["verified", "fresh seed", "self-reported"],
    }
    assert Path("site/system/recency.html").is_file()


def test_a_run_with_better_verdicts_is_left_out_and_named(
    invoke: Invoke, submissions: Path
) -> None:
    journal = Path("runs/recency/journal.jsonl")
    better = Verdict(marks={"correctness": 3, "completeness": 2, "grounded": 1})
    events = [
        event.replace(verdict=better) if isinstance(event, Judged) else event
        for event in read_events(journal)
    ]
    journal.write_bytes(b"".join(encode_events(events)))
    invoke("export", "runs/recency")
    assert invoke("bundle", "runs/recency", "-o", submissions / "recency/recency.bundle").code == 0

    shown = invoke("leaderboard", "build", submissions, "--into", "site")

    assert shown.code == 3
    assert "left out" in shown.err
    assert "recency.bundle: verdicts differs" in shown.err
    assert list(read_badges(Path("site"))) == ["Words"]


def test_only_a_bundle_on_the_board_stays_unpacked(
    invoke: Invoke, submissions: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lenient = submissions / "recency" / "recency.bundle"
    run = ("run", "-a", "recency", *RUN, "--error-budget", "0.5", "-o", "runs/lenient")
    assert invoke(*run).code == 0
    assert invoke("bundle", "runs/lenient", "-o", lenient).code == 0
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(unpacked))

    with RunCollection() as found:
        found.add_all([submissions])

        assert list(found.refused) == [lenient]
        assert "its error budget is 0.5" in found.refused[lenient]
        (kept,) = found.runs
        assert [folder.name for folder in unpacked.iterdir()] == [kept.folder.path.name]
    assert list(unpacked.iterdir()) == []


def test_a_damaged_bundle_is_named_once(invoke: Invoke, submissions: Path) -> None:
    bundle = submissions / "recency" / "recency.bundle"
    bundle.write_bytes(bundle.read_bytes()[:-100])

    shown = invoke("leaderboard", "build", submissions, "--into", "site")
    verified = invoke("verify", submissions)

    assert shown.code == verified.code == 3
    assert shown.err.count("recency.bundle") == verified.err.count("recency.bundle") == 1
    assert "is cut off" in shown.err
    assert "bm25.bundle" in verified.out


def test_an_isolated_system_has_its_badge(invoke: Invoke) -> None:
    Path("honest.py").write_text(ADAPTER)
    assert invoke("run", "-a", "honest.py", *RUN, "-o", "runs/honest").code == 0
    assert invoke("bundle", "runs/honest", "-o", "honest.bundle").code == 0

    shown = invoke("leaderboard", "build", "honest.bundle", "--into", "site")

    assert shown.code == 0, shown.err
    (badges,) = read_badges(Path("site")).values()
    assert "isolated" in badges


def test_a_replay_of_another_system_is_refused(invoke: Invoke, submissions: Path) -> None:
    bundle = submissions / "recency" / "recency.bundle"

    other = invoke("leaderboard", "replay", bundle, "-a", "bm25")

    assert other.code == 2
    assert "the run is of recency" in other.err


def test_paths_without_runs_are_named(invoke: Invoke) -> None:
    Path("empty").mkdir()

    shown = invoke("leaderboard", "build", "empty", "--into", "site")

    assert shown.code == 2
    assert "holds no bundle and no run" in shown.err
    assert not Path("site").exists()


@pytest.mark.usefixtures("submissions")
def test_verdicts_that_were_taken_away_are_noticed(invoke: Invoke) -> None:
    journal = Path("runs/recency/journal.jsonl")
    events = list(read_events(journal))
    judged = next(event for event in events if isinstance(event, Judged))
    lost = NotJudged(at=judged.at, trial=judged.trial, fault="JudgeFault", message="it failed")
    journal.write_bytes(b"".join(encode_events([lost if e is judged else e for e in events])))
    invoke("export", "runs/recency")

    shown = invoke("verify", "runs/recency", "--json")

    checks = {row["part"]: row["state"] for row in json.loads(shown.out)["checks"]}
    assert shown.code == 3
    assert checks["verdicts"] == "differs"


@pytest.mark.usefixtures("submissions")
def test_a_verdict_of_people_needs_labels_in_the_plan(invoke: Invoke) -> None:
    journal = Path("runs/recency/journal.jsonl")
    better = Verdict(marks={"correctness": 3, "completeness": 2, "grounded": 1})
    events = [
        event.replace(verdict=better, judge=PEOPLE) if isinstance(event, Judged) else event
        for event in read_events(journal)
    ]
    journal.write_bytes(b"".join(encode_events(events)))

    shown = invoke("verify", "runs/recency")

    assert shown.code == 3
    assert "judged by people, and the plan has no labels" in shown.err
