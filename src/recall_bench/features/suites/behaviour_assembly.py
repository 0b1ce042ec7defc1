"""Turn a request for a behaviour suite into a job."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Declared
from recall_bench.core.memory import MemorySystem, Reader, SupportsTasks, list_offers
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.plan import (
    BehaviourCard,
    Checkpoint,
    DatasetCard,
    Lifecycle,
    Plan,
    build_scenario_card,
)
from recall_bench.core.record import digest_content
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.engine.assembly import SettingsCheck, build_plan, check_writable, require
from recall_bench.engine.components import Components
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import choose_run_folder, refuse_clashes
from recall_bench.features.suites import erasure, freshness, load, poisoning, tenants
from recall_bench.features.suites.behaviour import BehaviourStory
from recall_bench.features.suites.behaviour_run import run_stories
from recall_bench.features.suites.procedures import suite as procedures
from recall_bench.features.suites.procedures.task_source import PERSONAS
from recall_bench.features.suites.story_writer import StoryRequest
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import NoJudge
from recall_bench.systems.readers import resolve_reader
from recall_bench.systems.reply import is_acting
from recall_bench.systems.resolver import resolve_system

T = TypeVar("T")

SUITE_SETTINGS = frozenset(
    (
        *("adapter", "factory", "config", "env", "in_process", "allow_network", "sandbox"),
        *("allow_read", "endpoint", "system_model", "system_embedder", "system_reranker"),
        *("embedding_cache", "timeout_ms", "grpc_timeout_ms", "grpc_ca", "ingest_timeout_ms"),
        *("reader", "top_k", "max_context_tokens", "seed", "executor", "into", "resume"),
        *("agent_model", "max_steps", "agent_tokens", "max_cost_usd", "max_tokens"),
    )
)
"""The settings that a suite uses; others are of runs over personas."""
PROTOCOL = "suite/"
"""The protocol of a behaviour suite begins like this."""


class StorySource(Protocol):
    """The module of a suite: what it draws, and how that is named."""

    VERSION: str

    @property
    def PHASES(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The parts of a story, in order."""
        ...

    @property
    def VARIANTS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The kinds of stories."""
        ...

    def draw_stories(self, request: StoryRequest) -> Iterator[BehaviourStory]:
        """Draw the stories that a system can be measured with."""
        ...

    def list_missing_parts(self, request: StoryRequest) -> tuple[str, ...]:
        """List what of the suite a system does not offer."""
        ...


class BehaviourSuite(NamedTuple):
    """One suite, and where its stories come from."""

    name: str
    source: StorySource
    stories: int
    """How many stories of each kind are played unless a number is given."""
    gives_tasks: bool = False
    """Whether its questions are tasks, which an agent over a memory may do too."""


SUITES: Mapping[str, BehaviourSuite] = {
    suite.name: suite
    for suite in (
        BehaviourSuite("erasure", erasure, 4),
        BehaviourSuite("poisoning", poisoning, 2),
        BehaviourSuite("tenants", tenants, 2),
        BehaviourSuite("freshness", freshness, 4),
        BehaviourSuite("load", load, 1),
        BehaviourSuite("procedures", procedures, len(PERSONAS), gives_tasks=True),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourRequest:
    """A suite, and the settings it is run with."""

    suite: str
    settings: Settings = field(default_factory=Settings)
    stories: int | None = None
    """Stories of each kind; None for the suite's own number."""
    patience_s: float = 5.0
    """How long something may take to become known or to be gone."""
    load_s: float = 5.0
    """How long each rate of the load suite lasts."""
    only: tuple[str, ...] = ()
    """The kinds of stories to tell; empty for all."""
    is_owned: bool = False
    """Whether a server that is not on this machine may be put under load."""


def assemble_behaviour(request: BehaviourRequest, own: MemorySystem | None = None) -> Job:
    """Build the job of a suite; nothing is fed or asked yet. `own` replaces the named system."""
    suite = _find_suite(request)
    settings = replace(request.settings, heatmap_png=False)
    check = SettingsCheck(settings)
    system = own or check.try_call(resolve_system, settings)
    reader = check.try_call(resolve_reader, settings, None if system is None else system.card)
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    system = require(system)
    if suite.gives_tasks:
        system, reader = _prepare_tasks(system), _prepare_tasks(reader)
    card = system.card
    wanted = StoryRequest(
        seed=settings.seed,
        each=request.stories or suite.stories,
        system=card,
        offers=list_offers(system),
        patience_s=request.patience_s,
        load_s=request.load_s,
        only=request.only,
        # What only computes has no model, so its answers are quotations.
        can_act=is_acting(reader) or (card.answers and not card.computes),
    )
    stories = {story.scenario.id: story for story in suite.source.draw_stories(wanted)}
    if not stories:
        raise UsageError(f"{card.name} offers nothing that {suite.name} measures")
    plan = _build_suite_plan(
        suite, wanted, tuple(stories.values()), settings, system=system, reader=reader
    )
    judges = Judges(judge=NoJudge())
    now = datetime.now(UTC)
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan, f"{suite.name}-"),
        components=Components(
            system=system,
            judges=judges,
            load=lambda name: stories[name].scenario,
            reader=reader,
        ),
        questions={
            name: Declared(
                at=now,
                scenario=name,
                items=story.scenario.items,
                days=tuple(episode.day for episode in story.scenario.episodes),
                asked=story.asked,
            )
            for name, story in stories.items()
        },
        own_runner=partial(run_stories, stories),
    )
    return check_writable(job)


def _find_suite(request: BehaviourRequest) -> BehaviourSuite:
    """The suite of a request; UsageError if it cannot measure what is asked for."""
    name, adapter = request.suite, request.settings.adapter
    if name not in SUITES:
        hint = suggest_or_list(name, SUITES, f"there is {', '.join(SUITES)}")
        raise UsageError(f"no suite is named {name!r}; {hint}")
    suite = SUITES[name]
    variants = suite.source.VARIANTS
    if unknown := next((kind for kind in request.only if kind not in variants), None):
        hint = suggest_or_list(unknown, variants, f"it has {', '.join(variants)}")
        raise UsageError(f"--only: {name} has no {unknown!r}; {hint}")
    if adapter.startswith(LOOP_PREFIX) and not suite.gives_tasks:
        raise UsageError(
            f"--adapter {adapter}: a suite measures a memory, not the agent over it; "
            f"write --adapter {adapter.removeprefix(LOOP_PREFIX)}"
        )
    if name == "load" and not request.is_owned:
        refuse_remote_server(adapter)
    return suite


def refuse_remote_server(adapter: str) -> None:
    """UsageError if the target is an address that is not on this machine."""
    address = adapter.removeprefix("openai:").removeprefix("a2a:")
    host = urlsplit(address).hostname if "://" in address else None
    if host is None or host == "localhost":
        return
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise UsageError(
            f"--adapter: {host} is not this machine, and the load suite sends many requests. If "
            "this server is yours, add --i-own-this-server, or iOwnThisServer: true in a matrix"
        )


def _build_suite_plan(
    suite: BehaviourSuite,
    wanted: StoryRequest,
    stories: tuple[BehaviourStory, ...],
    settings: Settings,
    *,
    system: MemorySystem,
    reader: Reader | None,
) -> Plan:
    source = suite.source
    # One checkpoint for each phase that occurs; all lie at the end of the longest story.
    last = max(story.scenario.last_day for story in stories)
    phases = {phase for story in stories for phase in story.phases}
    plan = build_plan(
        settings,
        cards=tuple(build_scenario_card(story.scenario) for story in stories),
        checkpoints=tuple(
            Checkpoint(label=phase, days=last) for phase in source.PHASES if phase in phases
        ),
        system=system,
        judges=Judges(judge=NoJudge()),
        reader=reader,
        lifecycle=Lifecycle.GROWING,
    )
    return plan.replace(
        unjudged=True,
        dataset=DatasetCard(
            name=suite.name,
            files=(),
            protocol=f"{PROTOCOL}{suite.name}",
            eval_version=source.VERSION,
        ),
        behaviour=BehaviourCard(
            suite=suite.name,
            version=source.VERSION,
            steps_digest=digest_content([story.lanes for story in stories]),
            offers=tuple(sorted(wanted.offers)),
            not_offered=source.list_missing_parts(wanted),
        ),
    )


def _prepare_tasks(actor: T) -> T:
    """The system or the reader with the prompts for tasks, if it has a model of ours."""
    return actor.prepare_tasks() if isinstance(actor, SupportsTasks) else actor


def assemble_cell(
    suite: str,
    settings: Settings,
    *,
    stories: int | None = None,
    is_owned: bool = False,
    patience_s: float | None = None,
    load_s: float | None = None,
) -> Job:
    """Build the job of a suite in a matrix; None leaves the suite's own."""
    request = BehaviourRequest(
        suite=suite,
        settings=settings,
        stories=stories,
        patience_s=5.0 if patience_s is None else patience_s,
        load_s=5.0 if load_s is None else load_s,
        is_owned=is_owned,
    )
    return assemble_behaviour(request)
