"""The behaviour suites: a memory that behaves passes, and every fault is shown by its figure."""

from pathlib import Path

import msgspec
import pytest

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.core.event import Answered, Ingested, NotAnswered, Observed, Settled
from recall_bench.core.memory import MemorySystem
from recall_bench.core.settings import Settings
from recall_bench.engine.experiment import RunResult, execute
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.features.suites.behaviour_assembly import (
    SUITES,
    BehaviourRequest,
    assemble_behaviour,
)
from recall_bench.reporting.suites.figures import BehaviourReport, Figure
from recall_bench.reporting.suites.report_text import render_behaviour
from recall_bench.reporting.suites.suite_report import build_behaviour_report
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest
from tests.commands import Invoke
from tests.engine.suite_figures import get_value
from tests.faulty.behaviour_faults import BEHAVIOUR_FAULTS, MisbehavingMemory
from tests.faulty.behaviour_reference import ReferenceMemory
from tests.loops import loop_over_rows

_FAR = 0.3
"""A fault must move its figure at least this far from that of the reference."""
_REFERENCES: dict[tuple[str, tuple[str, ...]], BehaviourReport] = {}
"""The reports of the reference memory, by suite and kinds of stories."""


def run_suite(
    into: Path, suite: str, system: MemorySystem, **wanted: object
) -> tuple[RunResult, BehaviourReport]:
    """Run a suite in this process."""
    request = BehaviourRequest(
        suite=suite,
        settings=Settings(into=into),
        stories=1,
        patience_s=0.6,
        load_s=0.2,
        **wanted,  # type: ignore[arg-type]
    )
    result = execute(assemble_behaviour(request, system))
    return result, build_behaviour_report(result.folder)


def make_system(kind: type, folder: Path) -> MemorySystem:
    """A system of one adapter class with a folder for its files."""
    folder.mkdir()
    return build_python_system(kind, state_dir=folder)


@pytest.mark.parametrize("suite", ["erasure", "poisoning", "tenants", "freshness"])
def test_reference_memory_behaves(suite: str, tmp_path: Path) -> None:
    result, report = run_suite(
        tmp_path / "run", suite, make_system(ReferenceMemory, tmp_path / "state")
    )
    assert result.exit_code == 0
    assert report.is_finished
    assert report.not_offered == ()
    known = next(each for each in report.figures if each.best == 1.0)
    assert known.estimate is not None
    assert known.estimate.value > 0.8
    for figure in report.figures:
        if figure.best == 0.0 and figure.estimate is not None:
            assert figure.estimate.value == 0.0, figure.name


@pytest.mark.parametrize("fault", BEHAVIOUR_FAULTS, ids=lambda fault: fault.__name__)
def test_fault_is_shown_by_its_figure(fault: type[MisbehavingMemory], tmp_path: Path) -> None:
    suite, name = fault.caught_by
    if suite == "load":
        pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    key = (suite, fault.shown_in)
    if key not in _REFERENCES:
        system = make_system(ReferenceMemory, tmp_path / "reference-state")
        _REFERENCES[key] = run_suite(tmp_path / "reference", suite, system, only=fault.shown_in)[1]
    system = make_system(fault, tmp_path / "state")
    report = run_suite(tmp_path / "run", suite, system, only=fault.shown_in)[1]
    ours, theirs = get_value(report, name), get_value(_REFERENCES[key], name)
    figure = report.get_figure(name)
    assert figure is not None
    if figure.unit == "share":
        assert abs(ours - theirs) >= _FAR, (ours, theirs)
    else:
        # Rates and times: how fast the machine is does not matter, only the order.
        assert ours < theirs if figure.unit == "/s" else ours > theirs


def test_each_suite_has_four_faults_that_it_shows() -> None:
    shown = [fault.caught_by[0] for fault in BEHAVIOUR_FAULTS]
    # Tasks go wrong by the fault of who does them: see test_procedures.py.
    planting = [name for name, suite in SUITES.items() if not suite.gives_tasks]
    assert all(shown.count(suite) >= 4 for suite in planting)


def test_what_is_not_offered_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    result, report = run_suite(tmp_path / "run", "erasure", build_python_system(Honest))
    assert result.exit_code == 0
    missing = {"forget", "delete", "session", "person", "retention", "stored", "reopen"}
    assert missing <= set(report.not_offered)
    figures: dict[str, Figure] = {each.name: each for each in report.figures}
    assert not figures["residue/by-forget"].is_offered
    assert figures["residue/by-forget"].estimate is None
    assert figures["residue/by-request"].is_offered
    assert "not offered" in render_behaviour(report, is_verbose=True)


class _ReturnsAndNeverQuotes(ReferenceMemory):
    def query(self, question: str, context: QueryContext) -> object:
        passages = [{"text": entry.text} for entry in self.rank(question, context)]
        return {"answer": "See what I found.", "passages": passages}


def test_a_note_that_is_returned_is_known_though_no_reader_quotes_it(tmp_path: Path) -> None:
    system = make_system(_ReturnsAndNeverQuotes, tmp_path / "state")
    report = run_suite(tmp_path / "run", "freshness", system)[1]
    assert get_value(report, "known-settled") == 0.0
    assert get_value(report, "read-your-writes/quiet") == 0.0
    assert get_value(report, "lost-at-restart") == 0.0


def test_one_seed_gives_the_same_events_but_for_times(tmp_path: Path) -> None:
    events = []
    for name in ("one", "two"):
        system = make_system(ReferenceMemory, tmp_path / f"state-{name}")
        run_suite(tmp_path / name, "erasure", system, only=("forget", "session"))
        events.append([_drop_times(each) for each in read_events(tmp_path / name / JOURNAL)][1:])
    assert events[0] == events[1]
    assert len(events[0]) > 100


def _drop_times(event: object) -> object:
    plain = msgspec.to_builtins(event)
    assert isinstance(plain, dict)
    if isinstance(event, Answered | NotAnswered | Ingested | Settled | Observed):
        plain.pop("seconds", None)
        plain.pop("reading_s", None)
    plain.pop("at")
    return plain


def test_another_seed_is_another_test() -> None:
    system = build_python_system(Honest)
    plans = [
        assemble_behaviour(
            BehaviourRequest(suite="poisoning", settings=Settings(seed=seed), stories=1), system
        ).plan
        for seed in (Settings().seed, 2)
    ]
    first, second = ({card.questions_digest for card in plan.scenarios} for plan in plans)
    assert not first & second


class _Dies(ReferenceMemory):
    """Loses its backend in the third memory, until it is allowed to live."""

    opened = 0
    lives = False

    def setup(self) -> None:
        super().setup()
        type(self).opened += 1

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        if type(self).opened == 3 and not self.lives and day > 2:
            raise ConnectionError("the backend is gone")
        super().ingest_day(day, content, metadata)


def test_cut_off_story_is_done_again_and_others_are_not(tmp_path: Path) -> None:
    wanted = {"only": ("forget", "delete", "session")}
    into, state = tmp_path / "run", tmp_path / "state"
    _Dies.opened, _Dies.lives = 0, False
    result, report = run_suite(into, "erasure", make_system(_Dies, state), **wanted)
    assert isinstance(result.stopped_by, SystemGone)
    assert not report.is_finished
    known = report.get_figure("known-before")
    assert known is not None
    assert known.estimate is not None
    assert (known.estimate.value, known.estimate.trials) == (1.0, 6), "of two stories that ended"
    done = len(list(read_events(into / JOURNAL)))
    _Dies.lives = True
    result, report = run_suite(
        into, "erasure", build_python_system(_Dies, state_dir=state), **wanted
    )
    assert result.exit_code == 0
    assert report.is_finished
    assert _Dies.opened == 4
    undisturbed = run_suite(
        tmp_path / "other", "erasure", make_system(_Dies, tmp_path / "other-state"), **wanted
    )[1]
    drop = ("time-until-gone",)
    assert [each for each in report.figures if each.name not in drop] == [
        each for each in undisturbed.figures if each.name not in drop
    ]
    assert done < len(list(read_events(into / JOURNAL)))


def test_kind_that_is_not_there_is_named() -> None:
    request = BehaviourRequest(suite="erasure", only=("forgt",))
    with pytest.raises(UsageError, match="forget"):
        assemble_behaviour(request)


@loop_over_rows(
    ("adapter", "is_refused"),
    [
        ("http://192.0.2.7:8000", True),
        ("grpc://memory.example:1", True),
        ("openai:http://192.0.2.7:8000/v1", True),
        ("a2a:https://agent.example", True),
        ("openai:http://127.0.0.1:8000/v1", False),
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
        ("bm25", False),
    ],
)
def test_load_goes_to_foreign_servers_only_with_their_owners_word(
    adapter: str, is_refused: bool
) -> None:
    from recall_bench.features.suites.behaviour_assembly import refuse_remote_server

    if not is_refused:
        refuse_remote_server(adapter)
        return
    with pytest.raises(UsageError, match="--i-own-this-server"):
        refuse_remote_server(adapter)


def test_a_suite_measures_the_memory_and_not_an_agent_over_it(invoke: Invoke) -> None:
    shown = invoke("suite", "erasure", "--adapter", "loop:bm25")

    assert shown.code == 2
    assert "write --adapter bm25" in shown.err


def test_a_run_of_another_seed_is_named_by_suite_and_version(
    tmp_path: Path, invoke: Invoke
) -> None:
    place = str(tmp_path / "run")
    command = ("suite", "procedures", "--adapter", "none", "--stories", "1", "--into", place)
    assert invoke(*command).code == 0

    refused = invoke(*command, "--seed", "7").err

    assert "other behaviour (procedures 1." in refused
    assert "BehaviourCard" not in refused
