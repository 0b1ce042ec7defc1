"""Repeat a random part of a run, and see whether the system gives the same answers.

Of each persona one checkpoint is drawn: a new memory is fed up to it and asked a random part of
what the run asked there.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Judged, TrialResult
from recall_bench.core.event_loop import run_to_end
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.record import ComputedRecord
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.verdict import Verdict
from recall_bench.datasets.supporting_passages import share_evidence
from recall_bench.generate.shipped_personas import BuildProgress, find_stories
from recall_bench.judging.judges import resolve_judges
from recall_bench.runs.run_folder import RunFolder
from recall_bench.systems.readers import ExtractiveReader, resolve_reader
from recall_bench.systems.resolver import resolve_system
from recall_bench.testing.doctor_probe import ProbeResult, StoryProbe

ENOUGH: Final = 0.95
"""The share of equal marks from which a replay confirms a run: models do not always repeat."""


TrialSample = tuple[Scenario, list[TrialResult]]
ReplayedTrial = tuple[TrialResult, str | None, Verdict | None]


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
        return self.trials > 0 and self.same_marks >= ENOUGH * self.trials


def replay_run(
    folder: RunFolder,
    settings: Settings,
    *,
    share: float = 0.1,
    seed: int | None = None,
    building: BuildProgress | None = None,
) -> Replay:
    """Ask the system of the settings a random part of what the run asked, and compare."""
    plan = folder.plan
    chance = Random(seed)  # noqa: S311 - a choice of questions, not a secret
    drawn = [
        (story.load(settings), _draw_trials(folder, name, share, chance))
        for name, (story, _) in find_stories(plan, settings.data, building).items()
    ]
    return _compare(folder, run_to_end(_ask_again, settings, plan, drawn))


async def _ask_again(
    settings: Settings, plan: Plan, drawn: Sequence[TrialSample]
) -> list[ReplayedTrial]:
    system = resolve_system(settings)
    try:
        if (system.card.name, system.card.version) != (plan.system.name, plan.system.version):
            raise UsageError(
                f"--adapter: is {system.card.name} {system.card.version}, and the run is of "
                f"{plan.system.name} {plan.system.version}; install that version to replay it"
            )
        asked: list[ReplayedTrial] = []
        for scenario, results in drawn:
            if results:
                found = await _ask_scenario(system, settings, plan, scenario, results)
                asked += zip(results, found.replies, found.verdicts, strict=True)
        return asked
    finally:
        await system.close()


async def _ask_scenario(
    system: MemorySystem,
    settings: Settings,
    plan: Plan,
    scenario: Scenario,
    results: list[TrialResult],
) -> ProbeResult:
    label = results[0].trial.checkpoint
    days = next(each.days for each in plan.checkpoints if each.label == label)
    judge, _ = resolve_judges(settings)
    judge.study(scenario)
    share_evidence(system, scenario)
    probe = StoryProbe(
        scenario=scenario,
        items=tuple(result.item for result in results),
        reader=resolve_reader(settings, system.card) or ExtractiveReader(),
        judge=judge,
        timeout_s=plan.answer_timeout_s,
        top_k=plan.top_k,
        asked_on=min(days, scenario.last_day),
    )
    fed = tuple(episode for episode in scenario.fed_episodes if episode.day <= days)
    return await probe.run(system, fed)


def _draw_trials(
    folder: RunFolder, scenario: str, share: float, chance: Random
) -> list[TrialResult]:
    judged = [
        result
        for result in folder.results(scenario)
        if isinstance(result.outcome, Judged) and result.answered is not None
    ]
    labels = list(dict.fromkeys(result.trial.checkpoint for result in judged))
    if not labels:
        return []
    chosen = chance.choice(labels)
    there = [result for result in judged if result.trial.checkpoint == chosen]
    count = min(len(there), max(1, round(share * len(judged))))
    return chance.sample(there, count)


def _compare(folder: RunFolder, pairs: Sequence[ReplayedTrial]) -> Replay:
    same_answers, same_marks, differing = 0, 0, []
    for result, text, verdict in pairs:
        before, outcome = result.answered, result.outcome
        same_answers += before is not None and before.answer.text == text
        is_same = (
            isinstance(outcome, Judged)
            and verdict is not None
            and outcome.verdict.marks == verdict.marks
        )
        same_marks += is_same
        if not is_same:
            differing.append(str(result.trial))
    return Replay(
        link=folder.last_link,
        system=f"{folder.plan.system.name} {folder.plan.system.version}",
        trials=len(pairs),
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
        found = msgspec.json.decode(locate_replay(place).read_bytes(), type=Replay)
    except (OSError, msgspec.DecodeError, ValueError):
        return None
    return found if link is not None and found.link == link else None
