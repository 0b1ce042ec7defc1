"""Whatever would make a system's numbers mean nothing is found before they are believed."""

import itertools
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

import recall_bench
from recall_bench.cli.main import cli
from recall_bench.core.diagnosis import (
    Diagnosis,
    SystemHealth,
    identify_system,
    load_diagnosis,
    save_diagnosis,
)
from recall_bench.core.memory import Answer, Isolation, IsolationCard, MemorySystem, SystemCard
from recall_bench.core.scenario import Question, Scenario
from recall_bench.core.settings import Settings
from recall_bench.features.doctor import doctor as examination
from recall_bench.features.doctor import doctor_command as doctor
from recall_bench.features.doctor.doctor import (
    DoctorResult,
    build_doctor_setup,
    collect_temporary_files,
    examine_system,
    spread_items,
)
from recall_bench.features.doctor.doctor_probe import check_growth, check_latency
from recall_bench.library import load_persona
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.resolver import resolve_system
from recall_bench.testing import CHECKS, Honest, check_system
from tests.faulty.fakes import ScriptedMemory
from tests.faulty.faults import (
    BuriesFinds,
    CrashesOnSeventh,
    Faulty,
    Hallucinates,
    RefusesFinds,
    SlowsDown,
)
from tests.loops import loop_over_rows
from tests.thoroughness import IS_EXHAUSTIVE, choose_number


@pytest.fixture(scope="module")
def story() -> Scenario:
    return load_persona(unpack_story("harbour-office"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(folder))
    return folder


def examined(made: Callable[[], MemorySystem], story: Scenario, timeout_s: float = 30) -> Diagnosis:
    async def examination() -> Diagnosis:
        with collect_temporary_files() as files:
            system = made()
            try:
                clinic = build_doctor_setup(story, "code")
                return (await examine_system(system, clinic, files, timeout_s=timeout_s)).diagnosis
            finally:
                await system.close()

    return anyio.run(examination)


@pytest.fixture
def short_days(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the day of megabytes, which an honest memory has: it takes as long as the rest."""
    if not IS_EXHAUSTIVE:
        only = [check.name for check in CHECKS if check.name != "large-day"]
        monkeypatch.setattr(examination, "check_system", partial(check_system, only=only))


@pytest.fixture
def few_questions(short_days: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a third of the questions of a story, where its score is not what is looked at."""
    monkeypatch.setattr(examination, "QUESTIONS", choose_number(16, examination.QUESTIONS))


def checks(diagnosis: Diagnosis) -> set[str]:
    return {complaint.check for complaint in diagnosis.complaints}


def test_an_honest_memory_is_valid_and_seen_for_what_it_is(story: Scenario) -> None:
    found = examined(lambda: build_python_system(Honest), story)

    assert found.complaints == ()
    assert found.health is SystemHealth.VALID
    assert (found.clock, found.asker) == ("native", "honoured")
    assert (
        found.figures["score of random"] < found.figures["score"] < found.figures["score of oracle"]
    )


@pytest.mark.usefixtures("short_days")
@pytest.mark.parametrize(
    ("fault", "complained"),
    [
        (SlowsDown, {"latency"}),
        (Hallucinates, {"empty-control"}),
        (BuriesFinds, {"random-control"}),
        (RefusesFinds, {"random-control", "shuffled-time"}),
    ],
)
def test_what_the_contract_cannot_see_is_caught_all_the_same(
    fault: type[Faulty], complained: set[str], story: Scenario
) -> None:
    found = examined(lambda: build_python_system(fault), story)

    assert found.health is SystemHealth.SUSPECT
    assert checks(found) == complained


KEY = "sk-proj-0123456789abcdef0"


class QuotesItsKey(Honest):
    """A memory whose service refuses every question, and quotes the key that it was given."""

    def query(self, question: str, context: object) -> object:
        raise RuntimeError(f"401: the key {KEY} has expired")


@pytest.mark.usefixtures("few_questions")
def test_a_diagnosis_holds_no_key(story: Scenario) -> None:
    found = examined(lambda: build_python_system(QuotesItsKey), story)

    words = " ".join(each.message for each in found.complaints)
    assert "[redacted]" in words
    assert KEY not in words


@pytest.mark.usefixtures("few_questions")
def test_a_broken_contract_makes_every_number_invalid(story: Scenario) -> None:
    found = examined(lambda: build_python_system(CrashesOnSeventh), story)

    assert found.health is SystemHealth.INVALID
    assert {"round-trip", "answers"} <= checks(found)


class Cheats(Honest):
    """Has read the questions beforehand."""

    key: dict[str, str]

    def query(self, question: str, context: object) -> object:
        known = self.key.get(question)
        return known if known is not None else super().query(question, context)  # type: ignore[arg-type]


@pytest.mark.usefixtures("few_questions")
def test_one_who_knows_the_references_is_found_out_by_the_empty_control(story: Scenario) -> None:
    Cheats.key = {item.text: item.truth.reference for item in story.items}

    found = examined(lambda: build_python_system(Cheats), story)

    assert found.health is SystemHealth.INVALID
    assert "empty-control" in checks(found)


@pytest.mark.usefixtures("few_questions")
def test_the_floor_is_not_above_suspicion(story: Scenario) -> None:
    found = examined(lambda: resolve_system(Settings(adapter="none")), story)

    assert {"round-trip", "random-control"} <= checks(found)


class Hangs(ScriptedMemory):
    """Never answers."""

    async def answer(self, question: Question) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.anyio
async def test_a_system_that_hangs_does_not_hang_the_doctor(story: Scenario) -> None:
    clinic = build_doctor_setup(story, "code")
    room = clinic.make_probe(SystemCard(name="hangs", version="1"), timeout_s=0.01)

    sat = await room.ask(Hangs(lambda lived, question: ""), story.episodes)

    assert sat.replies == [None] * len(room.items)
    assert {fault.partition(":")[0] for fault in sat.faults} == {"SystemTimeout"}


@loop_over_rows(
    ("seconds", "is_slow"),
    [((0.001, 0.002), False), ((0.1, 0.11), False), ((0.01, 0.06), True), ((1.0, 3.0), True)],
)
def test_only_growth_beyond_the_noise_of_a_machine_is_growth(
    seconds: tuple[float, float], is_slow: bool
) -> None:
    assert bool(list(check_latency(seconds))) is is_slow


def test_nothing_is_said_of_the_pace_of_answers_that_never_came() -> None:
    assert not list(check_latency((None, 1.0)))
    assert not list(check_latency((0.001, None)))


class Mute(Honest):
    """Takes everything in and fails at every question."""

    def query(self, question: str, context: object) -> object:
        raise RuntimeError("no voice")


@pytest.mark.usefixtures("few_questions")
def test_of_a_system_that_never_answers_no_answer_is_timed(story: Scenario) -> None:
    found = examined(lambda: build_python_system(Mute, {}), story)

    assert found.health is SystemHealth.INVALID
    assert not [name for name in found.figures if name.startswith("ms an answer")]


@loop_over_rows(("number", "count"), [(95, 48), (48, 48), (49, 48), (10, 48), (0, 4)])
def test_questions_are_spread_over_the_whole_story(number: int, count: int) -> None:
    """Of 95 questions the first 48 were taken, so that the later half was never asked."""
    taken = spread_items(range(number), count)

    steps = {after - before for before, after in itertools.pairwise(taken)}
    assert len(taken) == len(set(taken)) == min(number, count)
    assert not steps or max(steps) - min(steps) <= 1
    assert not taken or number - taken[-1] <= math.ceil(number / len(taken))


def test_an_index_that_grows_with_the_story_is_none_that_outgrows_it() -> None:
    assert not list(check_growth([1_000_000, 2_000_000, 3_000_000]))
    assert list(check_growth([1_000_000, 2_000_000, 9_000_000]))


def diagnosis(card: SystemCard, health: SystemHealth = SystemHealth.VALID) -> Diagnosis:
    return Diagnosis(health=health, system=identify_system(card), at=datetime.now(UTC), code="1")


def test_the_last_word_on_a_system_is_kept_and_another_system_has_none() -> None:
    card = SystemCard(name="mine", version="1")
    save_diagnosis(diagnosis(card))
    save_diagnosis(diagnosis(card, SystemHealth.SUSPECT))

    assert getattr(load_diagnosis(card), "health", None) is SystemHealth.SUSPECT
    assert load_diagnosis(card.replace(version="2")) is None


def test_a_diagnosis_holds_for_every_isolation() -> None:
    card = SystemCard(name="mine", version="1")
    alone = card.replace(isolation=IsolationCard(kind=Isolation.SANDBOX, network=False))
    save_diagnosis(diagnosis(card, SystemHealth.SUSPECT))

    assert identify_system(card) == identify_system(alone)
    assert getattr(load_diagnosis(alone), "health", None) is SystemHealth.SUSPECT
    assert identify_system(card) != identify_system(card.replace(config={"k": 3}))


def test_a_record_that_cannot_be_read_is_no_diagnosis(cache: Path) -> None:
    card = SystemCard(name="mine", version="1")
    save_diagnosis(diagnosis(card)).write_text("{torn")

    assert load_diagnosis(card) is None


def test_a_diagnosis_that_was_not_touched_is_loaded_as_it_was_saved() -> None:
    card = SystemCard(name="ours", version="1")
    whole = diagnosis(card).replace(figures={"score": 4.5}, story="someone, 30 days")
    save_diagnosis(whole)

    assert load_diagnosis(card) == whole


def test_a_run_carries_what_the_doctor_said_of_its_system(tmp_path: Path) -> None:
    card = resolve_system(Settings(adapter="bm25")).card
    save_diagnosis(diagnosis(card, SystemHealth.SUSPECT))

    seen = recall_bench.run(adapter="bm25", ranges="5d", into=tmp_path / "a", heatmap_png=False)
    unseen = recall_bench.run(adapter="none", ranges="5d", into=tmp_path / "b", heatmap_png=False)

    assert getattr(seen.folder.diagnosis, "health", None) is SystemHealth.SUSPECT
    assert unseen.folder.diagnosis is None


def invoked(*words: str) -> tuple[int, str]:
    """All on one story: to draw another takes longer than to examine a system on it."""
    done = CliRunner().invoke(cli, ["doctor", *words, "--seed", "5"], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.stdout


@pytest.mark.usefixtures("few_questions")
def test_the_command_says_what_is_wrong_and_exits_with_one() -> None:
    code, said = invoked("tests.faulty.faults:DropsWrites")

    assert code == 1
    assert "DropsWrites" in said
    assert "invalid  round-trip: " in said


@pytest.mark.usefixtures("short_days")
def test_a_healthy_system_exits_with_zero_and_is_reported_as_json() -> None:
    code, said = invoked("bm25", "--json")

    assert code == 0
    assert json.loads(said)["health"] == "valid"


@pytest.mark.usefixtures("few_questions")
def test_suspicion_fails_a_gate_only_if_it_is_strict_and_what_a_system_prints_is_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examine, results = doctor._run_doctor, list[DoctorResult]()

    def examine_once(settings: Settings, timeout_s: float, seed: str | None) -> DoctorResult:
        if not results:
            results.append(examine(settings, timeout_s, seed))
        return results[0]

    monkeypatch.setattr(doctor, "_run_doctor", examine_once)
    chatty = "tests.features.doctor.examined_systems:Chatty"

    code, said = invoked(chatty, "--json")

    assert code == 0
    assert json.loads(said)["health"] == "suspect"
    assert invoked(chatty, "--strict")[0] == 1
