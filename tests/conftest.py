"""Fixtures shared by every test: one tiny world, spelled out."""

import faulthandler
import gc
import io
import os
import ssl
import sys
import time
from asyncio import AbstractEventLoop
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import date
from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import Any

import certifi
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from anyio._backends._asyncio import TestRunner
from hypothesis import HealthCheck, settings

from recall_bench.cli.main import main
from recall_bench.core import retry
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Checkpoint, Plan, ScenarioCard, digest_questions
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth, compute_story_date
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.verdict import JudgeCard
from recall_bench.stories import shipped
from tests.ada_trials import declare_trials
from tests.commands import Invoke, Shown
from tests.flushing import skip_flushes
from tests.short_stories import share_short_stories
from tests.sketched_pictures import RUN_MODULES, sketch_pictures, write_pictures
from tests.thoroughness import choose_number

EPOCH = date(2024, 1, 1)

# Tests that name no persona are about something else: thirty days of one do for them.
shipped.DEMO = (shipped.SAMPLE,)

# Tests that look at the picture of a run ask for `real_pictures`.
sketch_pictures()

# Busy systems are asked again as often as ever, but a run need not wait seconds for each.
RELEASED_PAUSES_S = retry.RETRY_PAUSES_S
retry.RETRY_PAUSES_S = (0.05, 0.1, 0.2)

skip_flushes()

# Clients read the file that this names, and others that of certifi.
os.environ.setdefault("SSL_CERT_FILE", certifi.where())
_AUTHORITIES = {certifi.where(), os.environ["SSL_CERT_FILE"]}
_create_context = ssl.create_default_context


@cache
def _read_authorities(cafile: str) -> ssl.SSLContext:
    return _create_context(cafile=cafile)


def _share_context(*args: Any, **options: Any) -> ssl.SSLContext:
    """Every HTTP client reads the certificates of all authorities: here they are read once."""
    if not args and set(options) == {"cafile"} and options["cafile"] in _AUTHORITIES:
        return _read_authorities(options["cafile"])
    return _create_context(*args, **options)


ssl.create_default_context = _share_context

# A busy machine is no fault of a test: the first text in a fresh clone builds tables for seconds.
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=choose_number(50, 500),
)
settings.load_profile("busy")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the gRPC services again if a `.proto` file changed since the last installation."""
    folder = Path(__file__).parent.parent / "src" / "recall_bench" / "systems" / "grpc"
    compiled = folder / "services.binpb"
    changed = max(path.stat().st_mtime for path in folder.glob("*.proto"))
    is_worker = hasattr(config, "workerinput")
    if is_worker or not compiled.is_file() or compiled.stat().st_mtime >= changed:
        return
    with suppress(ImportError):
        from hatch_build import compile_services

        compile_services(folder.parents[3])


def pytest_collectstart() -> None:
    """What is collected stays to the end: there is no rubbish to look for until it is."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the modules that take long: the last test to end should not be one of them."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Nor is it looked through again, which took a seventh of the time of a test in memory.

    What is rubbish already stays with it: to look for that takes half a second.
    """
    gc.freeze()
    # Lists of thousands of rows are no reason to look either: a tenth of the time of such a test.
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


HANG_S = 900
"""A test that takes longer ends its process, is reported as failed and run once more alone."""
REARM_S = 60
_ARMED_AT = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Limit the time of a test, to within a minute.

    The setting `faulthandler_timeout` starts and ends a thread for each test, which takes more time
    than half of the tests.
    """
    stash, now = item.config.stash, time.monotonic()
    if now - stash.get(_ARMED_AT, -REARM_S) >= REARM_S:
        stderr = stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(HANG_S, exit=True, file=stderr)
        stash[_ARMED_AT] = now


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Limit the next test anew: pytest ends every limit when a test fails."""
    node.config.stash[_ARMED_AT] = -REARM_S


def pytest_unconfigure() -> None:
    """What follows the last test has no limit."""
    faulthandler.cancel_dump_traceback_later()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what no run without a browser can vouch for."""
    skipped = terminalreporter.stats.get("skipped", [])
    missing = [report for report in skipped if "needs a browser" in str(report.longrepr)]
    if missing:
        terminalreporter.section("NO BROWSER", sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(missing)} tests of the report page were left out")


_usual_handler = TestRunner._exception_handler


def _is_late_news_of_grpc(error: object) -> bool:
    """Whether gRPC, which polls for all loops of a process at once, spoke to one that is closed."""
    if not isinstance(error, RuntimeError) or str(error) != "Event loop is closed":
        return False
    places = [frame.filename for frame in extract_tb(error.__traceback__)]
    return any(place.endswith("completion_queue.pyx.pxi") for place in places)


def _handled(self: TestRunner, loop: AbstractEventLoop, context: dict[str, Any]) -> None:
    """What an earlier test left under way at a server is no failure of the test that runs now."""
    if not _is_late_news_of_grpc(context.get("exception")):
        _usual_handler(self, loop, context)


TestRunner._exception_handler = _handled  # type: ignore[method-assign]

SHARED_DATA = Path(
    os.environ.get("RECALL_BENCH_DATA", Path(__file__).parents[2] / "shared" / "data")
)


def shared_data(name: str) -> Path:
    """A path below the real data beside the checkout; skips the test where there is none."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"needs the real data {name}; say where with RECALL_BENCH_DATA")
    return path


def episode(day: int, text: str) -> Episode:
    return Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)


def card_of(scenario: Scenario) -> ScenarioCard:
    return ScenarioCard(
        id=scenario.id,
        epoch=scenario.epoch,
        episodes=len(scenario.episodes),
        last_day=scenario.last_day,
        items=len(scenario.items),
        history_digest="h",
        questions_digest=digest_questions(scenario.items),
    )


@pytest.fixture(scope="session", autouse=True)
def _shared_stories(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Several processes have their folders beside each other."""
    base = tmp_path_factory.getbasetemp()
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ
    share_short_stories((base if is_alone else base.parent) / "short-stories")


@pytest.fixture
def scenario() -> Scenario:
    """Ada adopts a cat on day 1 and renames it on day 3."""
    return Scenario(
        id="ada",
        epoch=EPOCH,
        episodes=(
            episode(1, "The cat is Fig."),
            episode(2, "Rain."),
            episode(3, "The cat is now Plum."),
        ),
        items=(
            Item(
                id="old-name",
                text="What is the cat called?",
                known_from=1,
                known_until=2,
                truth=Truth(
                    reference="Fig",
                    category="contradiction-resolution",
                    difficulty="easy",
                    evidence=(Evidence(day=1),),
                ),
            ),
            Item(
                id="new-name",
                text="What is the cat called?",
                known_from=3,
                truth=Truth(
                    reference="Plum",
                    category="contradiction-resolution",
                    difficulty="hard",
                    evidence=(Evidence(day=3),),
                ),
            ),
        ),
    )


@pytest.fixture
def plan(scenario: Scenario) -> Plan:
    return Plan(
        scenarios=(card_of(scenario),),
        checkpoints=(Checkpoint(label="2d", days=2), Checkpoint(label="3d", days=3)),
        system=SystemCard(name="scripted", version="1"),
        judge=JudgeCard(name="exact", version="1"),
    )


@pytest.fixture
def states(plan: Plan, scenario: Scenario) -> TrialStates:
    return declare_trials(plan, scenario)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def real_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the pictures of runs, of which other tests get sketches."""
    for module in RUN_MODULES:
        monkeypatch.setattr(module, "write_views", write_pictures)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Run `recall-bench` with these words, in an empty folder.

    `run` writes no page unless it is told to: hundreds of tests would wait for one each.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("recall_bench.cli.run.MAX_PAGE_TRIALS", -1)

    def run(*words: object) -> Shown:
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["recall-bench", *map(str, words)])
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        shown = Shown(ended.value.code, out.getvalue(), err.getvalue())
        assert "Traceback" not in shown.err
        return shown

    return run
