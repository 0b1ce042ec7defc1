"""Questions that belong to a day are asked on that day: later sessions are not known by then."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.event import NotAnswered
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item, Truth
from recall_bench.reporting.eval_scores import STORED_FIGURES, _score_stored
from tests.commands import Invoke
from tests.datasets.session_files import write_person, write_users
from tests.running.evaluation.eval_commands import Adapters, report


def test_what_was_fed_by_then_is_all_that_is_found_and_drawn_from(
    invoke: Invoke, tmp_path: Path
) -> None:
    data = write_users(tmp_path)

    shown = invoke(
        "eval", "--dataset", "halumem-medium", "--data", data, "--adapter", "bm25", "--no-floors"
    )

    assert shown.code == 0, shown.err
    found = report(place="reports/halumem-medium/strict-1")
    sessions = {
        each["item"]: {hit["session"] for hit in each["hits"]} for each in found["questions"]
    }
    assert all(name.endswith("/1") for name in sessions["q001-001"])
    assert any(name.endswith("/2") for name in sessions["q002-001"])
    assert not any(name.endswith("/3") for each in sessions.values() for name in each)
    groups = {each["name"]: each["figures"] for each in found["groups"]}
    # One session was fed by then, and a blind draw cannot miss it.
    assert groups["Basic Fact Recall"]["session recall@10"]["chance"] == 1.0


def test_a_system_that_cannot_be_copied_is_fed_every_session_once_and_asked_in_place(
    invoke: Invoke, tmp_path: Path
) -> None:
    adapters = Adapters(tmp_path)
    words = ("--data", write_users(tmp_path), "--in-process", "--no-floors", "--skip-qa")
    command = ("eval", "--dataset", "halumem-medium", "--adapter", adapters(), *words)

    assert invoke(*command).code == 0
    assert adapters.asked == [
        "Where does Odile live?",
        "Where does Odile live now?",
        "What is Odile's cat called?",
    ]
    assert report(place="reports/halumem-medium/strict-1")["asked"]["lifecycle"] == "growing"
    assert invoke(*command).code == 0
    assert len(adapters.asked) == 3


def test_a_query_is_asked_before_its_own_session(invoke: Invoke, tmp_path: Path) -> None:
    adapters = Adapters(tmp_path)
    told = "assert not any('as we planned' in turn for turn in self.turns)"

    shown = invoke(
        *("eval", "--dataset", "realmem", "--data", write_person(tmp_path), "--no-floors"),
        *("--adapter", adapters(told), "--in-process", "--skip-qa"),
    )

    assert shown.code == 0, shown.err
    assert adapters.asked == ["What grows in bed seven?"]
    assert report(place="reports/realmem/strict-1")["counts"]["failed"] == 0


def test_what_is_stored_answers_for_a_memory_that_is_asked_nothing(
    invoke: Invoke, tmp_path: Path
) -> None:
    data = write_users(tmp_path)

    shown = invoke(
        *("eval", "--dataset", "halumem-medium", "--data", data, "--protocol", "stored"),
        *("--adapter", "bm25"),
    )

    assert shown.code == 0, shown.err
    found = report(place="reports/halumem-medium/stored-1")
    figures = {name: each["mean"] for name, each in found["groups"][0]["figures"].items()}
    assert figures == {"extracted": 1.0, "updated": 1.0, "false memory resisted": 1.0}
    silent = next(each for each in found["controls"] if each["name"] == "none")
    floor = {name: each["mean"] for name, each in silent["groups"][0]["figures"].items()}
    assert floor == {"extracted": 0.0, "updated": 0.0, "false memory resisted": 1.0}


def test_no_other_analysis_reads_what_is_stored(invoke: Invoke, tmp_path: Path) -> None:
    """There a false point that is stored would raise the score."""
    invoke(
        *("eval", "--dataset", "halumem-medium", "--data", write_users(tmp_path)),
        *("--protocol", "stored", "--adapter", "bm25", "--no-floors", "--into", "runs/s"),
    )
    runs = [path.parent for path in Path("runs").rglob("journal.jsonl")]

    assert runs
    for words in (["report"], ["gate", "--min-score", "30"], ["export", "--to", "csv"]):
        shown = invoke(words[0], runs[0], *words[1:])
        assert shown.code == 2
        assert "its figures are in the report of `eval`" in shown.err


@pytest.mark.parametrize("category", STORED_FIGURES)
def test_a_listing_that_failed_counts_against_the_memory(category: str) -> None:
    truth = Truth(reference="x", category=category)
    item = Item(id="a", text="?", truth=truth, known_from=1)
    trial = Trial(scenario="s", item="a", checkpoint="1d")
    failed = NotAnswered(
        at=datetime(2026, 1, 1, tzinfo=UTC), trial=trial, fault="Timeout", message="", seconds=1.0
    )

    assert _score_stored(item, failed) == {STORED_FIGURES[category]: 0.0}


def test_what_is_stored_is_not_offered_by_a_system_that_does_not_list_it(
    invoke: Invoke, tmp_path: Path
) -> None:
    adapter = Adapters(tmp_path)()

    shown = invoke(
        *("eval", "--dataset", "halumem-medium", "--data", write_users(tmp_path)),
        *("--protocol", "stored", "--adapter", adapter, "--in-process"),
    )

    assert shown.code == 2
    assert shown.err.splitlines()[-1] == (
        "error: --protocol: overlap does not list what it stored (`stored`), so these measures are "
        "not offered; take --protocol strict"
    )
