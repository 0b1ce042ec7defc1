"""Tokens and money of a plan: as measured before, else estimated from prompts.

A prompt is built as the judge or the reader builds it, for a sample of the answers of an earlier
run, or for the reference answers if there is none. Replies that were never measured count with
their greatest length.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeVar

from recall_bench.core.event import Answered
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan, ReviewMode, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.core.verdict import SCALES, Exhibit
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.reporting.plan_report import RoleSpending
from recall_bench.running.measured_runs import EarlierRuns
from recall_bench.running.plan_schedule import ScenarioWork, Workload

T = TypeVar("T")

_SAMPLE_SIZE = 24
"""The number of prompts that are built to measure their length: enough for a mean."""
_NO_TIME = datetime.min.replace(tzinfo=UTC)
_REASON = 400
"""The most characters of a reason, by the schema of a verdict."""


class RoleRate(Record, frozen=True, kw_only=True):
    """Usage of one role for each trial and for each ingested day."""

    role: str
    who: str
    calls: float
    input_tokens: float
    output_tokens: float
    cost_usd: float | None
    """For each trial; None if the price of the model is unknown."""
    source: str
    day_tokens: float = 0.0
    day_cost_usd: float | None = 0.0
    is_limit: bool = False
    """Whether it is an upper bound, not an expectation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledAnswers:
    """Answers as the judge and the reader would see them."""

    exhibits: tuple[Exhibit, ...]
    are_real: bool
    """Whether they come from a system; else they are the reference answers."""


def compute_spending(rate: RoleRate, work: Workload) -> RoleSpending:
    """Compute the usage of a role for a workload."""
    costs = (rate.cost_usd, rate.day_cost_usd)
    known = None
    if costs[0] is not None and costs[1] is not None:
        known = work.trials * costs[0] + work.ingests * costs[1]
    return RoleSpending(
        role=rate.role,
        who=rate.who,
        calls=round(work.trials * rate.calls),
        input_tokens=round(work.trials * rate.input_tokens + work.ingests * rate.day_tokens),
        output_tokens=round(work.trials * rate.output_tokens),
        cost_usd=known,
        source=rate.source,
        is_limit=rate.is_limit,
    )


def find_rates(
    plan: Plan, settings: Settings, earlier: EarlierRuns, sampled: SampledAnswers
) -> list[RoleRate]:
    """The rates of all roles that may cost money."""
    found = [
        _find_judge_rate(plan, settings, earlier, sampled),
        *_find_other_rates(plan, settings, sampled),
        _find_second_rate(plan, settings, earlier, sampled),
        _find_reader_rate(plan, settings, earlier, sampled),
        _find_system_rate(plan, earlier),
    ]
    return [each for each in found if each is not None]


def _find_judge_rate(
    plan: Plan, settings: Settings, earlier: EarlierRuns, sampled: SampledAnswers
) -> RoleRate | None:
    if plan.unjudged or plan.judge.computes:
        return None
    who = plan.judge.model or plan.judge.name
    runs = [each for each in earlier.of_judge if each.judging.calls > each.reviewing.calls]
    if runs:
        usage, verdicts = Usage(), sum(each.verdicts for each in runs)
        for each in runs:
            usage += each.judging - each.reviewing
        return _make_measured_rate("judge", who, usage, verdicts)
    return _estimate_from_prompts("judge", who, settings.judge, settings, sampled)


def _find_other_rates(
    plan: Plan, settings: Settings, sampled: SampledAnswers
) -> Iterator[RoleRate]:
    """The other judges of the plan that cost something: every answer, as the first."""
    for number, (card, target) in enumerate(
        zip(plan.other_judges, settings.judges[1:], strict=True), start=2
    ):
        if not card.computes:
            who = card.model or card.name
            yield _estimate_from_prompts(f"judge {number}", who, target, settings, sampled)


def _find_second_rate(
    plan: Plan, settings: Settings, earlier: EarlierRuns, sampled: SampledAnswers
) -> RoleRate | None:
    """The appellate judge: every failure, and as many passes, at the rate failures were seen."""
    if plan.appellate is None or plan.appellate.computes or settings.appellate_judge is None:
        return None
    who = plan.appellate.model or plan.appellate.name
    one = _estimate_from_prompts("second judge", who, settings.appellate_judge, settings, sampled)
    verdicts = sum(each.verdicts for each in earlier.of_judge)
    if not verdicts:
        return one.replace(is_limit=True, source=f"{one.source}, every verdict reviewed")
    failed = sum(each.failures for each in earlier.of_judge) / verdicts
    share = failed if plan.review is ReviewMode.FAILURES else min(1.0, 2 * failed)
    return one.replace(
        calls=share * one.calls,
        input_tokens=share * one.input_tokens,
        output_tokens=share * one.output_tokens,
        cost_usd=None if one.cost_usd is None else share * one.cost_usd,
        source=f"{one.source}, {share:.0%} reviewed",
    )


def _find_reader_rate(
    plan: Plan, settings: Settings, earlier: EarlierRuns, sampled: SampledAnswers
) -> RoleRate | None:
    from recall_bench.systems.readers import build_reader_prompt

    if plan.reader is None or plan.reader.model is None or settings.reader is None:
        return None
    who = plan.reader.model
    runs = [
        each
        for each in earlier.of_system
        if each.plan.reader is not None and each.plan.reader.model == who and each.reading.calls
    ]
    if runs:
        usage = Usage()
        for each in runs:
            usage += each.reading
        return _make_measured_rate("reader", who, usage, sum(each.answers for each in runs))
    prompts = []
    for shown in sampled.exhibits:
        question = shown.item.ask(shown.scenario, shown.asked_at, plan.top_k)
        prompt = build_reader_prompt(question, shown.answer.passages)
        prompts.append(estimate_tokens(prompt.system) + estimate_tokens(prompt.user))
    has_passages = any(each.answer.passages for each in sampled.exhibits)
    room = 0 if has_passages else plan.max_context_tokens
    source = (
        f"prompts of {len(prompts)} answers"
        if has_passages
        else "prompts without passages"
        if room is None
        else f"prompts and {room:,} tokens of passages, the most allowed"
    )
    replies = [estimate_tokens(each.item.truth.reference) for each in sampled.exhibits]
    return _price_rate(
        "reader",
        who,
        settings.reader,
        (_average(prompts) + (room or 0), _average(replies)),
        source,
    )


def _find_system_rate(plan: Plan, earlier: EarlierRuns) -> RoleRate | None:
    """The usage of the system in earlier runs; None if there is none, never a guess."""
    runs = earlier.of_system
    asking, feeding = Usage(), Usage()
    for each in runs:
        asking, feeding = asking + each.asking, feeding + each.feeding
    if not asking.tokens and not feeding.tokens:
        return None
    answers = max(1, sum(each.answers for each in runs))
    days = max(1, sum(each.days_fed for each in runs))
    return RoleRate(
        role="system",
        who=plan.system.name,
        calls=asking.calls / answers,
        input_tokens=asking.input_tokens / answers,
        output_tokens=asking.output_tokens / answers,
        cost_usd=None if asking.unpriced else asking.cost_usd / answers,
        day_tokens=feeding.tokens / days,
        day_cost_usd=None if feeding.unpriced else feeding.cost_usd / days,
        source=f"{answers:,} answers and {days:,} days metered",
    )


def _make_measured_rate(role: str, who: str, usage: Usage, times: int) -> RoleRate:
    return RoleRate(
        role=role,
        who=who,
        calls=usage.calls / times,
        input_tokens=usage.input_tokens / times,
        output_tokens=usage.output_tokens / times,
        cost_usd=None if usage.unpriced else usage.cost_usd / times,
        source=f"measured, {usage.calls:,} calls",
    )


def _estimate_from_prompts(
    role: str, who: str, target: str, settings: Settings, sampled: SampledAnswers
) -> RoleRate:
    """Estimate from the prompts of the rubric, as if no verdict were cached."""
    from recall_bench.judging.judges import split_reading
    from recall_bench.judging.rubric.passages import ExcerptMode, RubricOptions
    from recall_bench.judging.rubric.prompt import build_case

    target, reading = split_reading(target)
    options = RubricOptions(
        showing=ExcerptMode(settings.judge_shows),
        budget_tokens=settings.judge_budget_tokens,
        reading=reading,
    )
    prompts = [build_case(each, options).prompt for each in sampled.exhibits]
    asked = _average(
        [estimate_tokens(each.system) + estimate_tokens(each.user) for each in prompts]
    )
    reply = json.dumps({"reason": "." * _REASON, **SCALES})
    real = "answers" if sampled.are_real else "reference answers"
    rate = _price_rate(
        role, who, target, (asked, estimate_tokens(reply)), f"prompts of {len(prompts)} {real}"
    )
    return rate.replace(is_limit=True)


def _price_rate(
    role: str, who: str, target: str, size: tuple[float, float], source: str
) -> RoleRate:
    from recall_bench.core.errors import UsageError
    from recall_bench.models.model_target import estimate_target_cost

    try:
        cost = estimate_target_cost(
            target, input_tokens=round(size[0]), output_tokens=round(size[1])
        )
    except UsageError:
        cost = None  # not a model spec but a Python target: its price is unknown
    return RoleRate(
        role=role,
        who=who,
        calls=1.0,
        input_tokens=size[0],
        output_tokens=size[1],
        cost_usd=cost,
        source=source,
    )


def sample_answers(
    scenario: Scenario, story: ScenarioWork, plan: Plan, answered: Sequence[Answered]
) -> SampledAnswers:
    """Some answers to the scenario's questions, as a judge would see them under this plan."""
    asked = {
        story.items[place].id: point.checkpoint.label
        for point in story.points
        for place in point.asked
    }
    labels = {point.checkpoint.label for point in story.points}
    real = [
        each
        if each.trial.checkpoint in labels
        else each.replace(trial=each.trial.replace(checkpoint=asked[each.trial.item]))
        for each in _sample_evenly([each for each in answered if each.trial.item in asked])
    ]
    trials = ScenarioStates(story.items, story.points, plan.repeats)
    exhibits = ExhibitFactory(scenario, trials, window=plan.judge_memory_window)
    return SampledAnswers(
        exhibits=tuple(
            exhibits.build(each, _ignore_usage) for each in real or _make_references(story)
        ),
        are_real=bool(real),
    )


def _make_references(story: ScenarioWork) -> list[Answered]:
    """The reference answers of some trials, as if a system had given them."""
    trials = [(point.checkpoint.label, place) for point in story.points for place in point.asked]
    return [
        Answered(
            at=_NO_TIME,
            trial=Trial(scenario=story.scenario, item=story.items[place].id, checkpoint=label),
            answer=Answer(text=story.items[place].truth.reference),
            seconds=0.0,
        )
        for label, place in _sample_evenly(trials)
    ]


def _sample_evenly(found: Sequence[T]) -> Sequence[T]:
    """Pick a sample, evenly spread."""
    step = max(1, math.ceil(len(found) / _SAMPLE_SIZE))
    return found[::step]


def _ignore_usage(usage: Usage) -> None:
    """Do nothing: a prompt that is only measured costs nothing."""


def _average(sizes: Sequence[int]) -> float:
    return fmean(sizes) if sizes else 0.0
