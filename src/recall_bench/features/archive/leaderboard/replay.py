"""Repeat a random part of a run, and see whether the system gives the same answers.

Of each persona one checkpoint and repeat is drawn. The engine of a run feeds a new memory up to it
and asks a random part of what the run asked there; reader and judges are those of the plan. A
memory that grows and is asked in place is asked everything up to there, because questions may
change it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Self

import msgspec

from recall_bench.core import user_code
from recall_bench.core.errors import UsageError
from recall_bench.core.event import Answered, Event, Judged, TrialResult
from recall_bench.core.event_loop import run_to_end
from recall_bench.core.memory import IsolationCard, SystemCard
from recall_bench.core.plain_text import clean_text
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.core.trial_states import ScenarioStates, TrialStates
from recall_bench.core.untrusted_file import read_regular_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.verdict import PEOPLE, Verdict
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import Components, RunContext
from recall_bench.engine.lifecycle import list_open_trials, run_lifecycle
from recall_bench.engine.local_engine import LocalEngine
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.scenario_run import AnswerQueue
from recall_bench.engine.scheduler import Scheduler
from recall_bench.judging.judges import resolve_judges
from recall_bench.stories.drawn import BuildProgress
from recall_bench.stories.story_folders import FoundStory, find_stories
from recall_bench.systems.readers import EXTRACTIVE, resolve_reader
from recall_bench.systems.resolver import resolve_system

MIN_SAME_MARKS: Final = 0.95
"""The share of equal marks from which a replay confirms a run: models do not always repeat."""


@dataclass(frozen=True, slots=True)
class ReplaySample:
    """The trials of one persona that are repeated, all of one checkpoint and repeat."""

    checkpoint: str
    repeat: int
    results: tuple[TrialResult, ...]


@dataclass(slots=True)
class ReplayedTrial:
    """The answer to a trial that was repeated, and its verdict; None where there is none."""

    answered: Answered | None = None
    judged: Judged | None = None


class Replay(ComputedRecord, frozen=True, kw_only=True):
    """What came out when a random part of a run was repeated."""

    link: str | None
    """The checksum of the last line of the journal: it is of this run and no other."""
    system: str
    trials: int
    same_answers: int
    """To the letter."""
    same_marks: int
    differing: tuple[str, ...]
    """The trials with other marks."""

    @property
    def is_confirmed(self) -> bool:
        """Whether nearly all marks were the same."""
        return self.trials > 0 and self.same_marks >= MIN_SAME_MARKS * self.trials


def choose_settings(plan: Plan, given: Mapping[str, Any]) -> Settings:
    """The settings that repeat a plan: those given, and what follows from the plan.

    A plan may come from a stranger: it names built-in and installed systems, judges and readers.
    UsageError if it needs code, or a model that receives the user's key; the user has to name them.
    """
    if "adapter" not in given and not is_plain_name(plan.system.name):
        raise UsageError(
            f"--adapter: the run is of {clean_text(plan.system.name)!r}, which no installed system "
            "is called; name its adapter to replay it"
        )
    built_in = [entry.name for entry in user_code.list_plugins("judges")]
    parts = {
        "reader": (plan.reader, [EXTRACTIVE]),
        "judge": (plan.judge, built_in),
        "appellate_judge": (plan.appellate, built_in),
    }
    chosen: dict[str, Any] = {}
    for name, (card, known) in parts.items():
        if card is None or given.get(name) is not None:
            continue
        if card.name not in known:
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag}: the run used {clean_text(card.model or card.name)}. Give --{flag} "
                "yourself: a plan from someone else could make you pay or run code"
            )
        chosen[name] = card.name
    fixed = {
        "calendar": plan.calendar,
        "ingest": plan.ingest,
        # The digests say whether these are the days the run was about, gaps and all.
        "allow_gaps": True,
    }
    return apply_overrides(Settings(), {"adapter": plan.system.name, **given, **chosen, **fixed})


def is_plain_name(target: str) -> bool:
    """Whether a target can only be the name of an installed system: no path, address or program."""
    return re.fullmatch(r"[A-Za-z0-9_-]+", target) is not None


def replay_run(
    folder: RunFolder,
    settings: Settings,
    *,
    share: float = 0.1,
    seed: int | None = None,
    building: BuildProgress | None = None,
) -> Replay:
    """Ask the system of the settings a random part of what the run asked, and compare.

    UsageError if system, reader or judges are not those of the plan, or nothing can be repeated.
    """
    plan = folder.plan
    if plan.imported is not None or plan.dataset is not None:
        raise UsageError(
            f"{folder.path}: only runs about personas can be replayed, and this one is imported or "
            "about a public dataset; run it again instead"
        )
    rng = Random(seed)  # noqa: S311 - a choice of questions, not a secret
    samples = {card.id: _draw_trials(folder, card.id, share, rng) for card in plan.scenarios}
    drawn = {name: sample for name, sample in samples.items() if sample is not None}
    if not drawn:
        raise UsageError(f"{folder.path}: holds no verdict of a judge, so nothing can be replayed")
    stories = find_stories(plan, settings.data, building)
    outcomes = run_to_end(_ask_again, settings, plan, drawn, stories)
    return _compare(
        folder, [result for each in drawn.values() for result in each.results], outcomes
    )


def _draw_trials(
    folder: RunFolder, scenario: str, share: float, rng: Random
) -> ReplaySample | None:
    """Draw trials of one checkpoint and repeat; None if no judge decided any."""
    places: dict[tuple[str, int], list[TrialResult]] = {}
    for result in folder.results(scenario):
        decided = isinstance(result.outcome, Judged) and result.outcome.judge != PEOPLE
        if decided and result.answered is not None:
            place = result.trial.checkpoint, result.trial.repeat
            places.setdefault(place, []).append(result)
    if not places:
        return None
    checkpoint, repeat = place = rng.choice(list(places))
    results = places[place]
    count = min(len(results), max(1, round(share * sum(map(len, places.values())))))
    return ReplaySample(checkpoint, repeat, tuple(rng.sample(results, count)))


async def _ask_again(
    settings: Settings,
    plan: Plan,
    drawn: Mapping[str, ReplaySample],
    found: Mapping[str, FoundStory],
) -> dict[Trial, ReplayedTrial]:
    system = resolve_system(settings)
    try:
        components = Components(
            system=system,
            judges=resolve_judges(settings),
            reader=resolve_reader(settings, system.card),
            load=lambda name: found[name][0].load(settings),
        )
        _refuse_others(components, plan)
    except BaseException:
        await system.close()
        raise
    try:
        engine = _ReplayEngine.make(plan, components)
        for name, sample in drawn.items():
            engine.states.apply_event(found[name][1])
            await engine.run(name, sample)
        return engine.outcomes
    finally:
        await components.close()


def _refuse_others(components: Components, plan: Plan) -> None:
    """UsageError unless system, reader and judges are those of the plan.

    A system may be isolated more, or less, than in the run, but it is given the same.
    """
    card = components.system.card
    planned = plan.system.replace(isolation=card.isolation)
    for role, here, there in components.list_others(plan.replace(system=planned, other_judges=())):
        if isinstance(here, SystemCard) and isinstance(there, SystemCard):
            raise UsageError(f"--adapter: {_explain_system(here, there)}")
        flag = role.replace(" ", "-")
        raise UsageError(
            f"--{flag}: here it is {_format_part(here)}, and the run has {_format_part(there)}; "
            "use the same version and settings to replay it"
        )
    _refuse_missing_access(card.isolation, plan.system.isolation)


def _refuse_missing_access(here: IsolationCard | None, there: IsolationCard | None) -> None:
    if here is None or there is None:
        return
    missing = [f"--env {name}" for name in there.env if name not in here.env]
    missing += [f"--allow-read {path}" for path in there.reads if path not in here.reads]
    if there.network and not here.network:
        missing.append("--allow-network")
    if missing:
        raise UsageError(f"--adapter: the run had {' '.join(missing)}; add what is missing")


def _explain_system(here: SystemCard, there: SystemCard) -> str:
    if (here.name, here.version) != (there.name, there.version):
        return (
            f"is {here.name} {here.version}, and the run is of {there.name} {there.version}; "
            "install that version to replay it"
        )
    for key in sorted({*here.config, *there.config}):
        if (one := here.config.get(key)) != (two := there.config.get(key)):
            return (
                f"its setting {key} is {one!r}, and in the run it is {two!r}; set it with --config"
            )
    differing = (
        name for name in SystemCard.__struct_fields__ if getattr(here, name) != getattr(there, name)
    )
    return f"declares another {', another '.join(differing)} than in the run; use the same adapter"


def _format_part(card: object) -> str:
    if card is None:
        return "none"
    words = (getattr(card, name, None) for name in ("name", "model", "version"))
    digest = str(getattr(card, "digest", ""))[:8]
    return " ".join(map(str, (*filter(None, words), digest)))


@dataclass(frozen=True, slots=True)
class _ReplayEngine:
    """Asks and judges samples as the engine of a run does."""

    states: TrialStates
    engine: LocalEngine
    outcomes: dict[Trial, ReplayedTrial]

    @classmethod
    def make(cls, plan: Plan, components: Components) -> Self:
        """Make the engine of a plan, with nothing asked."""
        states, cards = TrialStates(plan), {card.id: card for card in plan.scenarios}
        outcomes: dict[Trial, ReplayedTrial] = {}

        def record(event: Event) -> None:
            states.apply_event(event)
            if isinstance(event, Answered):
                outcomes[event.trial] = ReplayedTrial(event)
            elif isinstance(event, Judged):
                outcomes[event.trial].judged = event

        context = RunContext(
            system=components.system,
            judges=components.judges,
            load=lambda name: components.load_planned(cards[name]),
            record=record,
            find_answers=lambda *_: (),
            find_verdicts=lambda _: (),
            reader=components.reader,
            meter=components.meter,
        )
        return cls(states, LocalEngine(Scheduler(plan, states, context)), outcomes)

    async def run(self, scenario: str, sample: ReplaySample) -> None:
        """Feed a memory, ask the sample, and judge and review the answers."""
        rounds = self._list_rounds(self.states.scenarios[scenario], sample)
        queue = AnswerQueue(capacity=sum(len(each.items) for each in rounds))
        work = self.engine.open(scenario, queue)
        await run_lifecycle(work.run, rounds)
        queue.close()
        grader = work.make_grader()
        await grader.run((), queue, tuple, 1)
        await grader.review(list(self._list_due_reviews(sample)), 1)
        work.run.budget.check()

    def _list_rounds(self, trials: ScenarioStates, sample: ReplaySample) -> list[OpenTrials]:
        rounds = list(list_open_trials(trials))
        places = [(each.point.checkpoint.label, each.repeat) for each in rounds]
        last = places.index((sample.checkpoint, sample.repeat))
        if self.engine.scheduler.plan.lifecycle is Lifecycle.GROWING:
            return rounds[: last + 1]
        wanted = {result.item.id for result in sample.results}
        items = [i for i in rounds[last].items if trials.items[i].id in wanted]
        return [OpenTrials(rounds[last].point, sample.repeat, items)]

    def _list_due_reviews(self, sample: ReplaySample) -> Iterator[tuple[Answered, Verdict]]:
        """Passes that the run had reviewed; failures were reviewed when they were judged."""
        for result in sample.results:
            before, now = result.outcome, self.outcomes.get(result.trial, ReplayedTrial())
            if not isinstance(before, Judged) or before.primary is None:
                continue
            if now.answered is not None and now.judged is not None and now.judged.primary is None:
                yield now.answered, now.judged.verdict


def _compare(
    folder: RunFolder,
    results: Sequence[TrialResult],
    outcomes: Mapping[Trial, ReplayedTrial],
) -> Replay:
    same_answers, same_marks, differing = 0, 0, []
    for result in results:
        before, outcome = result.answered, result.outcome
        now = outcomes.get(result.trial, ReplayedTrial())
        if before is not None and now.answered is not None:
            same_answers += before.answer.text == now.answered.answer.text
        is_same = (
            isinstance(outcome, Judged)
            and now.judged is not None
            and outcome.verdict.marks == now.judged.verdict.marks
        )
        same_marks += is_same
        if not is_same:
            differing.append(str(result.trial))
    return Replay(
        link=folder.last_link,
        system=f"{folder.plan.system.name} {folder.plan.system.version}",
        trials=len(results),
        same_answers=same_answers,
        same_marks=same_marks,
        differing=tuple(differing),
    )


def locate_replay(place: Path) -> Path:
    """The file beside a bundle or run folder that holds its replay."""
    return place.with_name(f"{place.name}.replay.json")


def read_replay(place: Path, link: str | None) -> Replay | None:
    """The replay of a bundle or run; None if there is none, or it is of another run."""
    try:
        replay = decode_untrusted_json(read_regular_file(locate_replay(place)), Replay)
    except (OSError, msgspec.DecodeError):
        return None
    return replay if link is not None and replay.link == link else None
