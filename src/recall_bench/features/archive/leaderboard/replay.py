"""Repeat a random part of a run, and see whether the system gives the same answers.

Of each persona one checkpoint and repeat is drawn. The engine of a run feeds a new memory up to it
and asks a random part of what the run asked there; reader and judges are those of the plan. A
memory that grows and is asked in place is asked everything up to there, because questions may
change it.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from recall_bench.core import user_code
from recall_bench.core.errors import UsageError
from recall_bench.core.event import Answered, Event, Judged, TrialResult
from recall_bench.core.memory import SystemCard
from recall_bench.core.plain_text import clean_text
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.record import ComputedRecord, group_by
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.core.trial_states import ScenarioStates, TrialStates
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.core.verdict import PEOPLE
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import Components, RunContext
from recall_bench.engine.lifecycle import list_open_trials, run_lifecycle
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.scheduler import LocalEngine, Scheduler
from recall_bench.judging.judges import resolve_judges
from recall_bench.stories.drawn import BuildProgress
from recall_bench.stories.story_folders import FoundStory, find_stories
from recall_bench.systems.readers import EXTRACTIVE, resolve_reader
from recall_bench.systems.resolver import resolve_system

MIN_SAME_MARKS: Final = 0.95
"""The share of equal marks from which a replay confirms a run: models do not always repeat."""

Samples = Mapping[str, Sequence[TrialResult]]
"""The trials of each persona that are repeated, all of one checkpoint and repeat."""


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


def choose_settings(plan: Plan, stated: Mapping[str, Any]) -> Settings:
    """The settings that repeat a plan: those stated, and what follows from the plan.

    A plan may come from a stranger: it names built-in and installed systems, judges and readers.
    UsageError if it needs code, or a model that receives the user's key; the user has to name them.
    """
    if "adapter" not in stated and not is_plain_name(plan.system.name):
        raise UsageError(
            f"--adapter: the run is of {clean_text(plan.system.name)!r}, which no installed system "
            "is called; name its adapter to replay it"
        )
    built_in = [entry.name for entry in user_code.list_plugins("judges")]
    parts = (
        ("reader", plan.reader, [EXTRACTIVE]),
        ("judge", plan.judge, built_in),
        ("appellate_judge", plan.appellate, built_in),
    )
    chosen: dict[str, Any] = {"adapter": plan.system.name, **stated}
    for name, card, harmless in parts:
        if card is None or stated.get(name) is not None:
            continue
        if card.name not in harmless:
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag}: the run used {clean_text(card.model or card.name)}. Give --{flag} "
                "yourself: a plan from someone else could make you pay or run code"
            )
        chosen[name] = card.name
    # The digests say whether these are the days the run was about, gaps and all.
    chosen |= {"calendar": plan.calendar, "ingest": plan.ingest, "allow_gaps": True}
    return apply_overrides(Settings(), chosen)


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
    drawn = ((card.id, _draw_trials(folder, card.id, share, rng)) for card in plan.scenarios)
    samples = {name: results for name, results in drawn if results}
    if not samples:
        raise UsageError(f"{folder.path}: holds no verdict of a judge, so nothing can be replayed")
    stories = find_stories(plan, settings.data, building)
    answers, verdicts = run_to_end(_ask_again, settings, plan, samples, stories)
    same_answers, trials, differing = 0, 0, []
    for result in (result for results in samples.values() for result in results):
        trials += 1
        if result.answered is not None and (answer := answers.get(result.trial)) is not None:
            same_answers += result.answered.answer.text == answer.answer.text
        before, now = result.outcome, verdicts.get(result.trial)
        if (
            not isinstance(before, Judged)
            or now is None
            or before.verdict.marks != now.verdict.marks
        ):
            differing.append(str(result.trial))
    return Replay(
        link=folder.last_link,
        system=f"{plan.system.name} {plan.system.version}",
        trials=trials,
        same_answers=same_answers,
        same_marks=trials - len(differing),
        differing=tuple(differing),
    )


def _draw_trials(
    folder: RunFolder, scenario: str, share: float, rng: Random
) -> Sequence[TrialResult]:
    """Draw trials of one checkpoint and repeat; none if no judge decided any."""
    decided = [
        result
        for result in folder.results(scenario)
        if isinstance(result.outcome, Judged)
        and result.outcome.judge != PEOPLE
        and result.answered is not None
    ]
    if not decided:
        return ()
    places = group_by(decided, lambda result: (result.trial.checkpoint, result.trial.repeat))
    results = places[rng.choice(list(places))]
    return rng.sample(results, min(len(results), max(1, round(share * len(decided)))))


async def _ask_again(
    settings: Settings, plan: Plan, samples: Samples, stories: Mapping[str, FoundStory]
) -> tuple[dict[Trial, Answered], dict[Trial, Judged]]:
    """The answers and verdicts of the engine of a run, on the samples alone."""
    components = await _open_components(settings, plan, stories)
    states = TrialStates(plan)
    answers: dict[Trial, Answered] = {}
    verdicts: dict[Trial, Judged] = {}

    def record(event: Event) -> None:
        states.apply_event(event)
        if isinstance(event, Answered):
            answers[event.trial] = event
        elif isinstance(event, Judged):
            verdicts[event.trial] = event

    cards = {card.id: card for card in plan.scenarios}
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
    engine = LocalEngine(Scheduler(plan, states, context))
    try:
        for name, results in samples.items():
            states.apply_event(stories[name][1])
            rounds = _list_rounds(plan, states.scenarios[name], results)
            work = engine.open(name)
            # Judged afterwards, from what was recorded.
            work.answers.close()
            await run_lifecycle(work.run, rounds)
            await work.end_asking()
            grader = work.run.make_grader()
            recorded = [answers[trial] for trial in answers if trial.scenario == name]
            await grader.judge_answers(recorded, 1)
            # Failures were reviewed when they were judged; the run also had passes reviewed.
            due = [
                (answers[result.trial], now.verdict)
                for result in results
                if isinstance(result.outcome, Judged)
                and result.outcome.primary is not None
                and (now := verdicts.get(result.trial)) is not None
                and now.primary is None
            ]
            await grader.review(due, 1)
            work.run.budget.check()
    finally:
        await components.close()
    return answers, verdicts


async def _open_components(
    settings: Settings, plan: Plan, stories: Mapping[str, FoundStory]
) -> Components:
    system = resolve_system(settings)
    try:
        components = Components(
            system=system,
            judges=resolve_judges(settings),
            reader=resolve_reader(settings, system.card),
            load=lambda name: stories[name][0].load(settings),
        )
        _refuse_others(components, plan)
    except BaseException:
        await system.close()
        raise
    return components


def _list_rounds(
    plan: Plan, trials: ScenarioStates, results: Sequence[TrialResult]
) -> list[OpenTrials]:
    rounds = list(list_open_trials(trials))
    first = results[0].trial
    places = [(round_.point.checkpoint.label, round_.repeat) for round_ in rounds]
    last = places.index((first.checkpoint, first.repeat))
    if plan.lifecycle is Lifecycle.GROWING:
        return rounds[: last + 1]
    ids = {result.item.id for result in results}
    items = [number for number in rounds[last].items if trials.items[number].id in ids]
    return [OpenTrials(rounds[last].point, first.repeat, items)]


def _refuse_others(components: Components, plan: Plan) -> None:
    """UsageError unless system, reader and judges are those of the plan.

    A system may be isolated more, or less, than in the run, but it is given the same.
    """
    here, there = components.system.card.isolation, plan.system.isolation
    planned = plan.replace(system=plan.system.replace(isolation=here), other_judges=())
    for role, card, planned_card in components.list_others(planned):
        if isinstance(card, SystemCard) and isinstance(planned_card, SystemCard):
            raise UsageError(f"--adapter: {_explain_system(card, planned_card)}")
        raise UsageError(
            f"--{role.replace(' ', '-')}: here it is {_format_part(card)}, and the run has "
            f"{_format_part(planned_card)}; use the same version and settings to replay it"
        )
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
