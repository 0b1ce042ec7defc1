"""The records of `progress.jsonl` and the aggregates of `result.json`, in the public format."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from recall_bench.core.event import FeedFailed
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Checkpoint, Ingest, Plan, SampleMode
from recall_bench.core.scenario import Disclosure
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.leak_counts import BoundaryCounts
from recall_bench.engine.runs.result_format import ErrorRow
from recall_bench.engine.runs.result_rows import convert_to_ms, encode_row
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.service_stats import ServiceStats
from recall_bench.engine.runs.summary import (
    CheckpointSummary,
    DisclosureSummary,
    PersonaSummary,
    RunStatus,
    Summary,
    list_difficulties,
)
from recall_bench.metrics.leaks import Refusals
from recall_bench.metrics.marks import ReviewTally, TrialTally

Fields = dict[str, object]


def build_header(folder: RunFolder) -> Fields:
    """Build the first line of `progress.jsonl`."""
    return {
        "type": "header",
        "timestamp": folder.started,
        "adapterName": folder.plan.system.name,
        "ranges": list_ranges(folder.plan),
        "personas": [card.id for card in folder.plan.scenarios],
        **_build_settings(folder.plan),
        "dryRun": folder.plan.dry_run,
        **build_provenance(folder),
    }


def build_checkpoint(
    persona: PersonaSummary, number: int, categories: Iterable[str], *, at: datetime | None
) -> Fields:
    """Build the record of one finished checkpoint; `number` counts from 1."""
    part = persona.checkpoints[number - 1]
    fields: Fields = {"type": "checkpoint"}
    if at is not None:
        fields["timestamp"] = at
    return fields | {
        "personaId": persona.id,
        "checkpointIndex": number,
        "totalCheckpoints": len(persona.checkpoints),
        "range": build_range(part.checkpoint),
        "daysIngested": part.cutoff,
        **_build_measures(part.overall),
        "categoryScores": [
            build_category_score(name, part.get_tally(name), None) for name in categories
        ],
        "difficultyScores": build_difficulty_scores(part),
        "ingestMs": convert_to_ms(part.clock.feeding_s),
        "queryMs": convert_to_ms(part.clock.query_s),
        "newDaysIngested": part.new_days,
        "newQuestionCount": part.new,
        "historicalEvaluated": part.older_asked,
        "historicalAvailable": part.older,
    }


def build_closing(folder: RunFolder, summary: Summary) -> Fields:
    """Build the last line of `progress.jsonl`; an unfinished run has none."""
    return {
        "type": "summary",
        "timestamp": folder.ended,
        "durationMs": convert_to_ms(folder.active_s),
        **_build_counts(summary),
        **_build_validity(summary),
    }


def build_range_result(part: CheckpointSummary) -> Fields:
    """Build the figures of one range result, without its lists."""
    return {
        "range": encode_row(build_range(part.checkpoint)),
        "daysIngested": part.cutoff,
        "complete": part.is_done,
        **_build_measures(part.overall),
    }


def build_metadata(folder: RunFolder, summary: Summary) -> Fields:
    """Build the metadata of `result.json`."""
    plan = folder.plan
    return {
        "durationMs": convert_to_ms(folder.active_s),
        **_build_counts(summary),
        **_build_settings(plan),
        **_build_validity(summary),
        **_build_service(folder.service),
        "errorBudget": plan.error_budget,
        "lifecycle": plan.lifecycle,
        **({"copies": plan.copies} if plan.copies > 1 else {}),
        "repeats": plan.repeats,
        "seed": plan.seed,
        "dryRun": plan.dry_run,
        **{
            name: encode_row(part) if isinstance(part, Mapping) else part
            for name, part in build_provenance(folder).items()
        },
    }


def build_provenance(folder: RunFolder) -> Fields:
    """Build the provenance: digests, versions and cards that make runs comparable."""
    plan = folder.plan
    fields: Fields = {
        "planDigest": plan.digest,
        "datasetDigest": plan.dataset_digest,
        "questionsDigest": plan.questions_digest,
        "code": folder.codes,
        "system": _build_system(plan.system),
        "topK": plan.top_k,
        "judge": _build_judge(plan.judge),
    }
    if plan.max_context_tokens is not None:
        fields["maxContextTokens"] = plan.max_context_tokens
    if plan.reader is not None:
        fields["reader"] = plan.reader
    if folder.diagnosis is not None:
        fields["doctor"] = folder.diagnosis
    if plan.other_judges:
        fields["otherJudges"] = [_build_judge(card) for card in plan.other_judges]
    if plan.appellate is not None:
        fields["appellateJudge"] = _build_judge(plan.appellate)
        fields["review"] = plan.review
    if plan.answers_from is not None:
        fields["answersFrom"] = plan.answers_from
    if plan.labels is not None:
        fields["labels"] = {
            "sha256": plan.labels.sha256,
            "people": plan.labels.people,
            "answers": plan.labels.answers,
            "leftOut": plan.labels.left_out,
        }
    return fields


def list_ranges(plan: Plan) -> list[Fields]:
    """List the checkpoints of the plan."""
    return [build_range(checkpoint) for checkpoint in plan.checkpoints]


def build_range(checkpoint: Checkpoint) -> Fields:
    """Build the record of one checkpoint."""
    return {"label": checkpoint.label, "days": checkpoint.days}


def build_category_score(name: str, tally: TrialTally, scores: list[int] | None) -> Fields:
    """Build the record of one category at one checkpoint."""
    fields: Fields = {"category": name, "meanScore": tally.mean, "questionCount": tally.counted}
    if scores is not None:
        fields["scores"] = scores
    return fields | {"eligibleCount": tally.eligible, "missing": tally.missing}


def build_difficulty_scores(part: CheckpointSummary) -> Fields:
    """Build the record of every difficulty at one checkpoint."""
    found = {name: part.difficulties.get(name, TrialTally()) for name in list_difficulties(part)}
    return {name: {"mean": tally.mean, "count": tally.counted} for name, tally in found.items()}


def list_cells(
    checkpoints: Iterable[CheckpointSummary], categories: Iterable[str]
) -> Iterator[msgspec.Raw]:
    """List the cells of the heatmap, by checkpoint."""
    names = tuple(categories)
    for part in checkpoints:
        for name in names:
            tally = part.get_tally(name)
            yield encode_row(
                {
                    "range": part.checkpoint.label,
                    "category": name,
                    "score": tally.mean,
                    "questionCount": tally.counted,
                    "eligibleCount": tally.eligible,
                }
            )


def build_disclosures(disclosures: Mapping[str, DisclosureSummary]) -> Fields:
    """Build the figures of each expected disclosure; empty if none was asked."""
    if not disclosures:
        return {}
    breakdown: Fields = {
        kind.value: encode_row(
            {
                "evaluations": found.tally.counted,
                "uniquePairs": found.unique,
                "meanScore": found.tally.mean,
                "hallucinationRate": convert_to_percent(found.tally.hallucination_rate),
            }
        )
        for kind in Disclosure
        if (found := disclosures.get(kind.value)) is not None
    }
    return {"disclosureBreakdown": breakdown}


def build_boundary(boundary: BoundaryCounts) -> Fields:
    """Build the counts of leaks and of refusals of what may be answered."""
    fields: Fields = {}
    leaks = boundary.leaks
    if leaks.answers:
        counts = {
            "answers": leaks.answers,
            "leaked": leaks.leaked,
            "rate": convert_to_percent(leaks.share),
        }
        fields["leaks"] = encode_row(counts)
    if boundary.refusals:
        parts = {kind.value: found for kind, found in boundary.refusals.items()}
        parts["together"] = boundary.over_refusal
        fields["overRefusal"] = {
            name: encode_row(_build_refusals(found)) for name, found in parts.items()
        }
    return fields


def _build_refusals(found: Refusals) -> Fields:
    return {
        "answers": found.judged,
        "measured": found.measured,
        "refused": found.refused if found.measured else None,
        "rate": convert_to_percent(found.share),
    }


def convert_to_percent(share: float | None) -> float | None:
    """Convert a share to percent."""
    return None if share is None else 100 * share


def _build_measures(tally: TrialTally) -> Fields:
    return {
        "questionsEvaluated": tally.counted,
        "questionsOwed": tally.owed,
        "judged": tally.judged,
        "notAnswered": tally.not_answered,
        "notJudged": tally.not_judged,
        "open": tally.open,
        "overallScore": tally.mean,
        "hallucinationRate": convert_to_percent(tally.hallucination_rate),
    }


def _build_counts(summary: Summary) -> Fields:
    fields: Fields = {
        "totalEvalsRun": summary.overall.counted,
        "totalEvalsOwed": summary.overall.owed,
        "uniqueQAPairCount": summary.questions,
    }
    if summary.plan.appellate is not None:
        reviews = summary.reviews
        fields["appellateInvocations"] = reviews.total.done
        fields["appellateFaults"] = reviews.total.failed
        fields["reviews"] = {
            "failures": encode_row(_build_changes(reviews.failures)),
            "passes": encode_row(_build_changes(reviews.passes)),
            "open": reviews.open,
            "meanBefore": _compute_mean_before(summary),
        }
    if not summary.costs.is_free:
        fields["usage"] = encode_row(_build_usage(summary.costs.total))
        if summary.plan.appellate is not None:
            fields["judgeUsage"] = encode_row(_build_usage(summary.costs.first))
            fields["appellateUsage"] = encode_row(_build_usage(summary.costs.reviewing))
        if summary.plan.other_judges:
            fields["otherUsage"] = [
                encode_row(_build_usage(usage)) for usage in summary.costs.others
            ]
    return fields


def _build_service(service: ServiceStats) -> Fields:
    fields: Fields = {}
    found = service.deliveries
    if found.answers:
        fields["delivery"] = encode_row(
            {
                "answers": found.answers,
                "offered": found.offered,
                "kept": found.kept,
                "tokens": found.tokens,
                "traced": found.traced,
                "tracedRate": convert_to_percent(found.traced_share),
            }
        )
    for name, share in (("p50Ms", 0.5), ("p95Ms", 0.95)):
        if (seconds := service.compute_latency(share)) is not None:
            fields[name] = convert_to_ms(seconds)
    if service.reader_usage != Usage():
        fields["readerUsage"] = encode_row(_build_usage(service.reader_usage))
    if service.metered:
        fields["systemUsage"] = {
            stage: encode_row(_build_usage(usage)) for stage, usage in service.metered.items()
        }
    return fields


def _build_changes(tally: ReviewTally) -> Fields:
    return {
        "reviewed": tally.done,
        "raised": tally.raised,
        "lowered": tally.lowered,
        "same": tally.same,
        "failed": tally.failed,
        "points": tally.points,
    }


def _compute_mean_before(summary: Summary) -> float | None:
    overall = summary.overall
    if not overall.counted:
        return None
    return (overall.points - summary.reviews.total.points) / overall.counted


def _build_usage(usage: Usage) -> Fields:
    return {
        "calls": usage.calls,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        # The sum depends on the order of its parts in its last digits; the files must not.
        "costUsd": round(usage.cost_usd, 9),
        "unpricedCalls": usage.unpriced,
        "cachedReplies": usage.cached,
    }


def _build_validity(summary: Summary) -> Fields:
    fields: Fields = {"validity": summary.validity.status}
    if summary.validity.status is RunStatus.INVALID:
        fields["invalidReason"] = summary.validity.reason
    fields["unfinished"] = summary.overall.open
    if summary.unstarted:
        fields["notStarted"] = summary.unstarted
    fields["errors"] = encode_row(summary.faults)
    failures = [part for persona in summary.personas for part in persona.feed_failures]
    if failures:
        fields["feedFailures"] = [build_feed_failure(failure) for failure in failures]
    return fields


def build_feed_failure(failure: FeedFailed) -> Fields:
    """Where feeding failed, and why."""
    fields: Fields = {
        "personaId": failure.scenario,
        "checkpoint": failure.checkpoint,
        "stage": failure.stage,
    }
    if failure.day is not None:
        fields["day"] = failure.day
    return fields | {"error": ErrorRow(kind=failure.fault, message=failure.message)}


def _build_settings(plan: Plan) -> Fields:
    fields: Fields = {}
    if plan.sample is not None:
        fields["sample"] = plan.sample
        if plan.sampling is not SampleMode.DRAWN:
            fields["sampling"] = plan.sampling
    if plan.judge_memory_window > 0:
        fields["judgeMemoryWindow"] = plan.judge_memory_window
    if plan.ingest is not Ingest.DAYS:
        fields["ingest"] = plan.ingest
    fields["groupsEnabled"] = plan.groups_enabled
    fields["judgeModel"] = plan.judge.model or plan.judge.name
    if plan.appellate is not None:
        fields["appellateJudgeModel"] = plan.appellate.model or plan.appellate.name
    return fields


def _build_judge(card: JudgeCard) -> Fields:
    fields: Fields = {"name": card.name, "version": card.version}
    if card.model is not None:
        fields["model"] = card.model
    if card.rules_digest is not None:
        fields["rulesDigest"] = card.rules_digest
    if card.rubrics:
        fields["rubrics"] = card.rubrics
    if card.reading is not None:
        fields["reading"] = card.reading
    return fields


def _build_system(card: SystemCard) -> Fields:
    fields: Fields = {
        "name": card.name,
        "version": card.version,
        "config": card.config,
        "maxConcurrency": card.max_concurrency,
        "clock": card.clock,
        "asker": card.asker,
        "answers": card.answers,
    }
    if card.isolation is not None:
        fields["isolation"] = card.isolation
    if card.caveats:
        fields["caveats"] = card.caveats
    return fields
