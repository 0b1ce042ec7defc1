"""Facts of a run in words: service, costs of judging, reviews, leaks and refusals."""

from collections.abc import Iterator

from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.event import INGEST, QUERY
from recall_bench.core.memory import Asker, Isolation, IsolationCard, SystemCard
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import Plan, ReviewMode
from recall_bench.core.scenario import BOUNDARY
from recall_bench.core.usage import JudgingCosts, Usage, format_dollars
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.leak_counts import BoundaryCounts
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.service_stats import DeliveryCounts, ServiceStats
from recall_bench.metrics.leaks import Refusals
from recall_bench.metrics.marks import ReviewCounts, ReviewTally, TrialTally
from recall_bench.reporting.formats import (
    format_card,
    format_number,
    format_percent,
    format_score,
    format_seconds,
)

_DIGEST_LENGTH = 12


def list_system_facts(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """What the system sees, its reader, deliveries, latency, spending and health."""
    plan, service = folder.plan, folder.service
    if plan.system.isolation is not None:
        yield "Isolation", _describe_isolation(plan.system.isolation)
    if plan.system.caveats:
        yield "Caveats", " · ".join(plan.system.caveats)
    yield "Knows", _describe_knowledge(plan.system)
    if service.messages:
        yield "Messages", _describe_messages(service)
    if plan.reader is not None:
        cost = (
            "" if service.reader_usage == Usage() else f" · {_describe_usage(service.reader_usage)}"
        )
        yield "Reader", f"{format_card(plan.reader, plan.reader.model)}{cost}"
    if service.deliveries.answers:
        yield "Delivered", _describe_deliveries(service.deliveries, plan)
    if (middle := service.compute_latency(0.5)) is not None:
        slow = service.compute_latency(0.95)
        yield (
            "Latency",
            f"p50 {format_seconds(middle)} · p95 {format_seconds(slow or middle)}",
        )
    if service.metered_total != Usage():
        yield "Spent", _describe_spending(service)
    yield "Doctor", _describe_health(folder.diagnosis)


def list_suite_facts(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """What a behaviour suite cost; nothing if it was free and no agent was sent messages."""
    service, paid = folder.service, folder.states.reading_usage
    if service.messages:
        yield "Messages", _describe_messages(service)
    if service.metered_total != Usage():
        yield "Spent", _describe_spending(service)
    if paid != Usage():
        yield "Cost", f"reader and loop agent: {_describe_usage(paid)}"


def _describe_messages(service: ServiceStats) -> str:
    lost = service.lost_messages
    failed = f" · {lost:,} without a reply" if lost else ""
    return f"{service.messages:,}{failed}"


_ISOLATION_WORDS = {
    Isolation.IN_PROCESS: "in-process: it could reach truth, judge and journal",
    Isolation.PROCESS: "process: it could read the files of this user",
    Isolation.SANDBOX: "sandbox: it could read neither dataset nor run folder nor cache",
}


def _describe_isolation(card: IsolationCard) -> str:
    words = _ISOLATION_WORDS[card.kind]
    if card.kind is Isolation.SANDBOX:
        words += f" · network {'allowed' if card.network else 'refused'}"
    return f"{words} · given {', '.join(card.env)}" if card.env else words


def _describe_knowledge(card: SystemCard) -> str:
    date = "not declared" if card.clock is None else card.clock.value
    words = f"date {date} · asker {card.asker.value}"
    if card.asker is Asker.UNTOLD:
        words += f" ({BOUNDARY} not applicable: it cannot know who asks)"
    return words


def _describe_deliveries(found: DeliveryCounts, plan: Plan) -> str:
    limit = f"top {plan.top_k}"
    if plan.max_context_tokens is not None:
        limit += f", {plan.max_context_tokens:,} tokens"
    delivered, offered = (
        format_number(count / found.answers, 1) for count in (found.kept, found.offered)
    )
    share = found.summaries / found.kept if found.kept else 0.0
    summaries = f" · {format_percent(share)} summaries, which count as no day" if share else ""
    return (
        f"{delivered} of {offered} passages an "
        f"answer ({limit}) · {found.tokens / found.answers:,.0f} tokens · "
        f"{format_percent(found.traced_share)} traced{summaries}"
    )


def _describe_spending(service: ServiceStats) -> str:
    return " · ".join(
        f"{stage}: {format_quantity(usage.calls, 'call')}, {_format_tokens(usage)}, "
        f"{format_price(usage)}"
        for stage in (INGEST, QUERY)
        if (usage := service.metered.get(stage)) is not None
    )


def _format_tokens(usage: Usage) -> str:
    if usage.lacks_tokens:
        return "tokens not reported"
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"


def _describe_health(diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return "not diagnosed (run `recall-bench doctor`)"
    checks = ", ".join(dict.fromkeys(complaint.check for complaint in diagnosis.complaints))
    health = f"{diagnosis.health.value}, diagnosed {diagnosis.at:%Y-%m-%d}"
    return f"{health}: {checks} (recall-bench doctor explains them)" if checks else health


def describe_costs(costs: JudgingCosts) -> str:
    """Calls, tokens and money, and the share of the appellate judge."""
    total, reviewing = costs.total, costs.reviewing
    words = _describe_usage(total)
    if total.cached:
        words += f" · {format_quantity(total.cached, 'reply', 'replies')} from the cache"
    if reviewing != Usage():
        calls = format_quantity(reviewing.calls, "call")
        words += f" · of this for reviews {calls}, {format_price(reviewing)}"
    return words


def _describe_usage(usage: Usage) -> str:
    return (
        f"{format_quantity(usage.calls, 'call')} · {_format_tokens(usage)} · {format_price(usage)}"
    )


def format_price(usage: Usage) -> str:
    """What the calls cost, as far as their prices are known."""
    if usage.unpriced and usage.unpriced == usage.calls:
        return "price unknown"
    return format_dollars(usage) + (
        f" ({format_quantity(usage.unpriced, 'call')} unpriced)" if usage.unpriced else ""
    )


def describe_reviews(reviews: ReviewCounts, plan: Plan, overall: TrialTally) -> str:
    """How the appellate judge changed failures, passes and the mean."""
    parts = [f"of failures {_describe_changes(reviews.failures)}"]
    if plan.review is ReviewMode.BALANCED:
        parts.append(f"of passes {_describe_changes(reviews.passes)}")
    else:
        parts.append("of passes none, by the plan")
    if overall.mean is not None and reviews.total.done:
        before = (overall.points - reviews.total.points) / overall.counted
        scores = [format_score(mean, digits=1) for mean in (before, overall.mean)]
        parts.append(f"score {' → '.join(scores)}")
    if reviews.open:
        parts.append(f"{reviews.open} still to do")
    return " · ".join(parts)


def _describe_changes(tally: ReviewTally) -> str:
    words = f"{tally.done}"
    if tally.done:
        words += f": {tally.raised} raised, {tally.lowered} lowered, {tally.same} same"
    return words + (f", {tally.failed} failed" if tally.failed else "")


def describe_rubrics(*cards: JudgeCard | None) -> str:
    """Every rubric of the judges with its version and digest; empty if there is none."""
    rubrics = dict.fromkeys(rubric for card in cards if card for rubric in card.rubrics)
    return " · ".join(
        f"{rubric.name} {rubric.version} ({rubric.digest[:_DIGEST_LENGTH]})" for rubric in rubrics
    )


def list_boundary_facts(boundary: BoundaryCounts) -> Iterator[tuple[str, str]]:
    """Leaks and over-refusal; nothing if no such question was answered."""
    leaks = boundary.leaks
    if leaks.answers:
        share = format_percent(leaks.share)
        words = f"{leaks.leaked} of {leaks.answers} guarded answers leaked the secret ({share})"
        yield "Leaked", words
    if boundary.refusals:
        yield "Over-refusal", _describe_refusals(boundary)


def _describe_refusals(boundary: BoundaryCounts) -> str:
    together = boundary.over_refusal
    if not together.measured:
        return f"not measured: the judge reports no findings ({together.judged} answers)"
    kinds = [(kind.value, refusal) for kind, refusal in boundary.refusals.items()]
    if len(kinds) > 1:
        kinds.append(("together", together))
    return " · ".join(f"{name} {_format_refusals(refusals)}" for name, refusals in kinds)


def _format_refusals(found: Refusals) -> str:
    if not found.measured:
        return f"not measured ({found.judged} answers)"
    words = f"{found.refused} of {found.measured} ({format_percent(found.share)})"
    return words + (f", {found.unmeasured} not measured" if found.unmeasured else "")
