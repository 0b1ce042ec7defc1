"""Questions that belong to a day are asked on that day: later sessions are not known by then."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.event import NotAnswered
from recall_bench.core.memory import Answer, StoredEntry
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Episode, Item, Question, Truth
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.datasets.stored_answers import StoredText, _StoredMemory, find_closest
from recall_bench.judging.methodologies import find_methodology
from recall_bench.reporting.protocol_scores import score_outcome
from recall_bench.reporting.trial_scores import measure_figures, read_scored_trials
from recall_bench.text.words import normalise_words
from tests.commands import Invoke
from tests.features.datasets.evaluation.eval_commands import Adapters, report
from tests.features.datasets.session_files import write_person, write_users


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

    first = invoke(*command)

    assert first.code == 0
    assert "cannot be copied, so one memory is asked on the way" in first.err
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
    found = report(place="reports/halumem-medium/stored-2")
    figures = {name: each["mean"] for name, each in found["groups"][0]["figures"].items()}
    assert figures == {"extracted": 1.0, "updated": 1.0, "false memory resisted": 1.0}
    silent = next(each for each in found["controls"] if each["name"] == "none")
    floor = {name: each["mean"] for name, each in silent["groups"][0]["figures"].items()}
    assert floor == {"extracted": 0.0, "updated": 0.0, "false memory resisted": 1.0}


STORED = find_methodology("halumem", "stored")


def test_a_false_point_that_is_stored_lowers_the_score_in_every_analysis(
    invoke: Invoke, tmp_path: Path
) -> None:
    data = write_users(tmp_path)
    held = Path(data).read_text().replace("Odile owns a bakery", "Odile lives in Ghent", 1)
    assert held != Path(data).read_text()
    Path(data).write_text(held)
    shown = invoke(
        *("eval", "--dataset", "halumem-medium", "--data", data),
        *("--protocol", "stored", "--adapter", "bm25", "--no-floors", "--into", "runs/s"),
    )
    assert shown.code == 0, shown.err
    folder = RunFolder.open(next(path.parent for path in Path("runs").rglob("journal.jsonl")))

    found = {each.name: each for each in measure_figures(folder, read_scored_trials(folder))}
    resisted = read_scored_trials(folder, "false memory resisted")

    told = report(place="reports/halumem-medium/stored-2")["groups"][0]["figures"]
    assert told["false memory resisted"]["mean"] == 0.0
    assert {name: each.mean and each.mean.value for name, each in found.items()} == {
        name: each["mean"] for name, each in told.items()
    }
    assert list(resisted.points.values()) == [0.0]
    assert not resisted.hallucinations
    score = read_scored_trials(folder).scale
    assert score is not None
    assert score.name == "extracted"
    for words in (["report"], ["gate", "--min-figure", "extracted=30"], ["export", "--to", "csv"]):
        shown = invoke(words[0], folder.path, *words[1:])
        assert shown.code == 0, shown.err


def list_entries(*texts: str, earlier: tuple[str, ...] = ()) -> list[StoredText]:
    return [
        StoredText(text, frozenset(normalise_words(text)), is_new=text not in earlier)
        for text in (*earlier, *texts)
    ]


def test_the_new_value_of_an_update_is_judged_and_not_the_old_one() -> None:
    old, new = (
        "Martin's favourite colour is blue",
        "Martin's favourite colour is now green, he says",
    )
    point = "Martin's favourite colour changed from blue to green"

    assert find_closest(point, list_entries(new, earlier=(old,))) == new
    # What was known before is not told again.
    assert (
        find_closest("Martin's favourite colour is blue", list_entries("Hi", earlier=(old,))) == old
    )


def test_a_long_text_does_not_win_by_its_length() -> None:
    log = "Martin said that work was fine at noon, and that at Acme nobody works on Friday. " * 3

    assert (
        find_closest("Martin works at Acme", list_entries(log, "Works at Acme")) == "Works at Acme"
    )
    assert find_closest("Martin works at Acme", []) is None


@pytest.mark.anyio
async def test_what_a_session_left_is_distinguished_from_what_was_listed_before() -> None:
    held = ["Martin's favourite colour is blue"]

    class Listing:
        async def ingest(self, episode: Episode) -> None:
            held.append("Martin's favourite colour is now green, he says")

        async def settle(self) -> None: ...

        async def answer(self, question: Question) -> Answer:
            raise AssertionError

        async def list_stored(self) -> list[StoredEntry]:
            return [StoredEntry(id=text, text=text) for text in held]

        async def close(self) -> None: ...

    point = "Martin's favourite colour changed from blue to green"
    memory = _StoredMemory(Listing(), {"q": point})
    asked = Question(id="q", text="?", asked_at=datetime(2026, 1, 1), scenario="s")
    assert (await memory.answer(asked)).text == held[0]

    await memory.ingest(Episode(id="e", day=1, at=datetime(2026, 1, 1), text="x"))
    await memory.settle()

    assert (await memory.answer(asked)).text == held[1]


@pytest.mark.parametrize("category", STORED.stored_figures)
def test_a_listing_that_failed_counts_against_the_memory(category: str) -> None:
    truth = Truth(reference="x", category=category)
    item = Item(id="a", text="?", truth=truth, known_from=1)
    trial = Trial(scenario="s", item="a", checkpoint="1d")
    failed = NotAnswered(
        at=datetime(2026, 1, 1, tzinfo=UTC), trial=trial, fault="Timeout", message="", seconds=1.0
    )

    assert score_outcome(STORED, item, failed, None) == {STORED.stored_figures[category]: 0.0}


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
