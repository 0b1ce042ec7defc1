"""Turn a request for a behaviour suite into a job."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Declared
from recall_bench.core.fingerprint import build_scenario_card
from recall_bench.core.memory import MemorySystem, SupportsTasks, list_offers
from recall_bench.core.plan import BehaviourCard, Checkpoint, DatasetCard, Lifecycle, Plan
from recall_bench.core.record import digest_content
from recall_bench.core.settings import Settings
from recall_bench.core.suggestion import suggest_or_list
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.engine.assembly import SettingsCheck, build_plan, check_writable, require
from recall_bench.engine.components import Components
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import choose_run_folder, refuse_clashes
from recall_bench.features.suites.behaviour import BehaviourStory
from recall_bench.features.suites.behaviour_run import run_stories
from recall_bench.features.suites.procedures.task_source import PERSONAS
from recall_bench.features.suites.stories import (
    erasure,
    freshness,
    load,
    poisoning,
    procedures,
    tenants,
)
from recall_bench.features.suites.stories.story_writer import StoryRequest
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import NoJudge
from recall_bench.systems.readers import resolve_reader
from recall_bench.systems.reply import is_acting
from recall_bench.systems.resolver import resolve_system

T = TypeVar("T")

SUITE_SETTINGS = frozenset(
    {
        *("adapter", "factory", "config", "env", "in_process", "allow_network", "sandbox"),
        *(
            "allow_read",
            "endpoint",
            "system_model",
            "system_embedder",
            "system_reranker",
            "embedding_cache",
        ),
        *("timeout_ms", "grpc_timeout_ms", "grpc_ca", "ingest_timeout_ms", "reader", "top_k"),
        *("max_context_tokens", "seed", "executor", "into", "resume"),
        *("agent_model", "max_steps", "agent_tokens", "max_cost_usd", "max_tokens"),
    }
)
"""The settings that a suite uses; others are of runs over personas."""
PROTOCOL = "suite/"
"""The protocol of a behaviour suite begins like this."""


class StorySource(Protocol):
    """A module of `stories`: what it draws, and how that is named."""

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


@dataclass(frozen=True, slots=True)
class BehaviourSuite:
    """One suite, and where its stories come from."""

    name: str
    source: StorySource
    about: str
    stories: int
    """How many stories of each kind are played unless a number is given."""
    gives_tasks: bool = False
    """Whether its questions are tasks, which an agent over a memory may do too."""


SUITES: Mapping[str, BehaviourSuite] = {
    suite.name: suite
    for suite in (
        BehaviourSuite("erasure", erasure, "what remains of facts that were to be forgotten", 4),
        BehaviourSuite(
            "poisoning",
            poisoning,
            "whether hostile content replaces what is true, and for how long",
            2,
        ),
        BehaviourSuite("tenants", tenants, "whether one user's facts reach another", 2),
        BehaviourSuite(
            "freshness", freshness, "how soon a write can be read, and whether it stays", 4
        ),
        BehaviourSuite("load", load, "times, errors and recall at rising rates of arrivals", 1),
        BehaviourSuite(
            "procedures",
            procedures,
            "whether tasks follow the conventions stated earlier",
            len(PERSONAS),
            gives_tasks=True,
        ),
    )
}


def find_suite(name: str) -> BehaviourSuite:
    """Return the suite with this name."""
    if name not in SUITES:
        hint = suggest_or_list(name, SUITES, f"there is {', '.join(SUITES)}")
        raise UsageError(f"no suite is named {name!r}; {hint}")
    return SUITES[name]


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
    suite = find_suite(request.suite)
    _refuse_unknown(suite, request.only)
    settings = replace(request.settings, heatmap_png=False)
    if settings.adapter.startswith(LOOP_PREFIX) and not suite.gives_tasks:
        memory = settings.adapter.removeprefix(LOOP_PREFIX)
        raise UsageError(
            f"--adapter {settings.adapter}: a suite measures a memory, not the agent over it; "
            f"write --adapter {memory}"
        )
    if suite.name == "load" and not request.is_owned:
        refuse_remote_server(settings.adapter)
    check = SettingsCheck(settings)
    system = own or check.try_call(resolve_system, settings)
    reader = check.try_call(resolve_reader, settings, None if system is None else system.card)
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    if suite.gives_tasks:
        system, reader = _prepare_tasks(require(system)), _prepare_tasks(reader)
    card = require(system).card
    # What only computes has no model, so its answers are quotations.
    can_act = is_acting(reader) or (card.answers and not card.computes)
    wanted = _make_story_request(request, suite, require(system), can_act=can_act)
    drawn = tuple(suite.source.draw_stories(wanted))
    if not drawn:
        raise UsageError(f"{require(system).card.name} offers nothing that {suite.name} measures")
    stories = {story.scenario.id: story for story in drawn}
    fed = build_plan(
        settings,
        cards=tuple(build_scenario_card(story.scenario) for story in drawn),
        checkpoints=_list_checkpoints(suite, drawn),
        system=require(system),
        judges=Judges(judge=NoJudge()),
        reader=reader,
        lifecycle=Lifecycle.GROWING,
    )
    plan = _add_suite(fed, suite, wanted, drawn)
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan, f"{suite.name}-"),
        components=Components(
            system=require(system),
            judges=Judges(judge=NoJudge()),
            load=lambda name: stories[name].scenario,
            reader=reader,
        ),
        questions={name: _declare(story) for name, story in stories.items()},
        own_runner=partial(run_stories, stories),
    )
    return check_writable(job)


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


def _add_suite(
    plan: Plan, suite: BehaviourSuite, wanted: StoryRequest, drawn: tuple[BehaviourStory, ...]
) -> Plan:
    """The plan with what belongs to the suite."""
    return plan.replace(
        unjudged=True,
        dataset=DatasetCard(
            name=suite.name,
            files=(),
            protocol=f"{PROTOCOL}{suite.name}",
            eval_version=suite.source.VERSION,
        ),
        behaviour=BehaviourCard(
            suite=suite.name,
            version=suite.source.VERSION,
            steps_digest=_digest_steps(drawn),
            offers=tuple(sorted(wanted.offers)),
            not_offered=suite.source.list_missing_parts(wanted),
        ),
    )


def _prepare_tasks(actor: T) -> T:
    """The system or the reader with the prompts for tasks, if it has a model of ours."""
    return actor.prepare_tasks() if isinstance(actor, SupportsTasks) else actor


def _make_story_request(
    request: BehaviourRequest, suite: BehaviourSuite, system: MemorySystem, *, can_act: bool
) -> StoryRequest:
    return StoryRequest(
        seed=request.settings.seed,
        each=request.stories or suite.stories,
        system=system.card,
        offers=list_offers(system),
        patience_s=request.patience_s,
        load_s=request.load_s,
        only=request.only,
        can_act=can_act,
    )


def _refuse_unknown(suite: BehaviourSuite, only: tuple[str, ...]) -> None:
    for name in only:
        if name not in suite.source.VARIANTS:
            hint = suggest_or_list(
                name, suite.source.VARIANTS, f"it has {', '.join(suite.source.VARIANTS)}"
            )
            raise UsageError(f"--only: {suite.name} has no {name!r}; {hint}")


def _declare(story: BehaviourStory) -> Declared:
    return Declared(
        at=datetime.now(UTC),
        scenario=story.scenario.id,
        items=story.scenario.items,
        days=tuple(episode.day for episode in story.scenario.episodes),
        asked=story.asked,
    )


def _list_checkpoints(
    suite: BehaviourSuite, stories: tuple[BehaviourStory, ...]
) -> tuple[Checkpoint, ...]:
    """One checkpoint for each phase that occurs; all lie at the end of the longest story."""
    last = max(story.scenario.last_day for story in stories)
    found = {phase for story in stories for phase in story.phases}
    return tuple(
        Checkpoint(label=phase, days=last) for phase in suite.source.PHASES if phase in found
    )


def _digest_steps(stories: tuple[BehaviourStory, ...]) -> str:
    lanes = [story.lanes for story in stories]
    return digest_content(lanes)


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
    request = BehaviourRequest(suite=suite, settings=settings, stories=stories, is_owned=is_owned)
    if patience_s is not None:
        request = replace(request, patience_s=patience_s)
    if load_s is not None:
        request = replace(request, load_s=load_s)
    return assemble_behaviour(request)
