"""Some facts of a run in words: how a system served, what judging cost, what reviews did."""

from collections.abc import Iterator

from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.event import INGEST, QUERY
from recall_bench.core.memory import Asker, SystemCard
from recall_bench.core.plan import Plan, Review
from recall_bench.core.question import BOUNDARY
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.metrics.marks import Tally
from recall_bench.metrics.refusals import Refusals
from recall_bench.metrics.reviews import Reviews, ReviewTally
from recall_bench.reporting.boundary import Boundary
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.money import Costs, dollars
from recall_bench.reporting.service import Deliveries, Service

NO_DATA = "--"

_DIGEST = 12


def percent(share: float | None) -> str:
    """A share of one as people read it."""
    return NO_DATA if share is None else f"{share * 100:.1f} %"


def system_facts(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """What the system knows, who reads for it, what it delivered, how fast, and its health."""
    plan, service = folder.plan, folder.service
    yield "Knows", _knows(plan.system)
    if plan.reader is not None:
        model = f" ({plan.reader.model})" if plan.reader.model else ""
        cost = "" if service.reading == Usage() else f" · {_usage_words(service.reading)}"
        yield "Reader", f"{plan.reader.name} {plan.reader.version}{model}{cost}"
    if service.deliveries.answers:
        yield "Delivered", _delivered(service.deliveries, plan)
    if (middle := service.latency_s(0.5)) is not None:
        slow = service.latency_s(0.95)
        yield "Latency", f"p50 {_milliseconds(middle)} · p95 {_milliseconds(slow or middle)}"
    if service.spent != Usage():
        yield "Spent", _spent(service)
    yield "Doctor", _health(folder.diagnosis)


def _knows(card: SystemCard) -> str:
    date = "not declared" if card.clock is None else card.clock.value
    words = f"date {date} · asker {card.asker.value}"
    if card.asker is Asker.UNTOLD:
        words += f" ({BOUNDARY} not applicable: it cannot know who asks)"
    return words


def _delivered(found: Deliveries, plan: Plan) -> str:
    limit = f"top {plan.top_k}"
    if plan.max_context_tokens is not None:
        limit += f", {plan.max_context_tokens:,} tokens"
    return (
        f"{found.kept / found.answers:.1f} of {found.offered / found.answers:.1f} passages an "
        f"answer ({limit}) · {found.tokens / found.answers:,.0f} tokens · "
        f"{percent(found.traced_share)} traced"
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def _spent(service: Service) -> str:
    return " · ".join(
        f"{stage}: {_calls(usage.calls)}, {usage.input_tokens:,} tokens in, "
        f"{usage.output_tokens:,} out, {_price(usage)}"
        for stage in (INGEST, QUERY)
        if (usage := service.metered.get(stage)) is not None
    )


def _health(diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return "not examined (recall-bench doctor examines it)"
    checks = ", ".join(dict.fromkeys(each.check for each in diagnosis.complaints))
    said = f"{diagnosis.health.value}, examined {diagnosis.at:%Y-%m-%d}"
    return f"{said}: {checks} (recall-bench doctor says why)" if checks else said


def cost_words(costs: Costs) -> str:
    """Calls, tokens and money, and the appellate judge's part of them."""
    total, reviewing = costs.total, costs.reviewing
    words = _usage_words(total)
    if total.cached:
        words += f" · {total.cached:,} {'reply' if total.cached == 1 else 'replies'} from the cache"
    if reviewing != Usage():
        words += f" · of this for reviews {_calls(reviewing.calls)}, {_price(reviewing)}"
    return words


def _usage_words(usage: Usage) -> str:
    return (
        f"{_calls(usage.calls)} · {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out · "
        f"{_price(usage)}"
    )


def _price(usage: Usage) -> str:
    if usage.unpriced and usage.unpriced == usage.calls:
        return "price unknown"
    return dollars(usage) + (f" ({_calls(usage.unpriced)} unpriced)" if usage.unpriced else "")


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"


def review_words(reviews: Reviews, plan: Plan, overall: Tally) -> str:
    """How the appellate judge changed the first verdicts, on either side, and the mean."""
    parts = [f"of failures {_changes(reviews.failures)}"]
    if plan.review is Review.BALANCED:
        parts.append(f"of passes {_changes(reviews.passes)}")
    else:
        parts.append("of passes none, by the plan")
    if overall.mean is not None and reviews.total.done:
        before = (overall.points - reviews.total.points) / overall.counted
        parts.append(f"mean {before:.2f} → {overall.mean:.2f}")
    if reviews.open:
        parts.append(f"{reviews.open} still to do")
    return " · ".join(parts)


def _changes(tally: ReviewTally) -> str:
    words = f"{tally.done}"
    if tally.done:
        words += f": {tally.raised} raised, {tally.lowered} lowered, {tally.same} same"
    return words + (f", {tally.failed} failed" if tally.failed else "")


def rubric_words(*cards: JudgeCard | None) -> str:
    """Every rubric that was judged by, with its version and digest; empty if there is none."""
    rubrics = dict.fromkeys(rubric for card in cards if card for rubric in card.rubrics)
    return " · ".join(
        f"{rubric.name} {rubric.version} ({rubric.digest[:_DIGEST]})" for rubric in rubrics
    )


def boundary_facts(boundary: Boundary) -> Iterator[tuple[str, str]]:
    """Leaks and over-refusal, apart; nothing where no such question was answered."""
    leaks = boundary.leaks
    if leaks.answers:
        share = percent(leaks.share)
        told = f"{leaks.leaked} of {leaks.answers} guarded answers told the secret ({share})"
        yield "Leaks", told
    if boundary.refusals:
        yield "Over-refusal", _refusals(boundary)


def _refusals(boundary: Boundary) -> str:
    together = boundary.over_refusal
    if not together.measured:
        return f"not measured: the judge does not say what it noticed ({together.judged} answers)"
    kinds = [(kind.value, found) for kind, found in boundary.refusals.items()]
    if len(kinds) > 1:
        kinds.append(("together", together))
    return " · ".join(f"{name} {_refused(found)}" for name, found in kinds)


def _refused(found: Refusals) -> str:
    if not found.measured:
        return f"not measured ({found.judged} answers)"
    words = f"{found.refused} of {found.measured} ({percent(found.share)})"
    return words + (f", {found.unmeasured} not measured" if found.unmeasured else "")
