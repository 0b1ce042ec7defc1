"""The records of `progress.jsonl` and the aggregates of `result.json`, in the public format."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from recall_bench.core.event import FeedFailed
from recall_bench.core.plan import Checkpoint, Ingest, Plan, SampleMode
from recall_bench.core.scenario import Disclosure
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.leak_counts import BoundaryCounts
from recall_bench.engine.runs.result_format import ErrorRow
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import (
    CheckpointSummary,
    DisclosureSummary,
    PersonaSummary,
    RunStatus,
    Summary,
    list_difficulties,
)
from recall_bench.metrics.marks import ReviewTally, TrialTally

Fields = dict[str, object]

encode_compact = msgspec.json.Encoder().encode
"""JSON on one line."""


def encode_row(fields: object) -> msgspec.Raw:
    """Encode a value that stays on one line in a document."""
    return msgspec.Raw(encode_compact(fields))


def write_document(value: object, write: Callable[[bytes], object], depth: int = 0) -> None:
    """Write a document: mappings one key a line, iterators one element a line, the rest compact.

    Iterators are consumed one element at a time.
    """
    lead, inside = b"\n", b"  " * (depth + 1)
    if isinstance(value, Mapping):
        write(b"{")
        for key, part in value.items():
            write(lead + inside + encode_compact(key) + b": ")
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"}" if lead == b"\n" else b"\n" + b"  " * depth + b"}")
    elif isinstance(value, Iterator):
        write(b"[")
        for part in value:
            write(lead + inside)
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"]" if lead == b"\n" else b"\n" + b"  " * depth + b"]")
    else:
        write(encode_compact(value))


def convert_to_ms(seconds: float) -> float:
    """Convert to milliseconds, rounded to the microsecond."""
    return round(seconds * 1000, 3)


def _convert_to_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _drop_none(fields: Fields) -> Fields:
    """Leave out what is not known: an absent key says so, and null does not."""
    return {name: value for name, value in fields.items() if value is not None}


def build_header(folder: RunFolder) -> Fields:
    """Build the first line of `progress.jsonl`."""
    plan = folder.plan
    return {
        "type": "header",
        "timestamp": folder.started,
        "adapterName": plan.system.name,
        "ranges": [build_range(checkpoint) for checkpoint in plan.checkpoints],
        "personas": [card.id for card in plan.scenarios],
        **_build_settings(plan),
        "dryRun": plan.dry_run,
        **_build_provenance(folder),
    }


def build_checkpoint(
    persona: PersonaSummary, number: int, categories: Iterable[str], *, at: datetime | None
) -> Fields:
    """Build the record of one finished checkpoint; `number` counts from 1."""
    part = persona.checkpoints[number - 1]
    return {
        "type": "checkpoint",
        **({} if at is None else {"timestamp": at}),
        "personaId": persona.id,
        "checkpointIndex": number,
        "totalCheckpoints": len(persona.checkpoints),
        "range": build_range(part.checkpoint),
        "daysIngested": part.cutoff,
        **build_measures(part.overall),
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


def build_metadata(folder: RunFolder, summary: Summary) -> Fields:
    """Build the metadata of `result.json`."""
    plan, provenance = folder.plan, _build_provenance(folder)
    return {
        "durationMs": convert_to_ms(folder.active_s),
        **_build_counts(summary),
        **_build_settings(plan),
        **_build_validity(summary),
        **_build_service(folder),
        "errorBudget": plan.error_budget,
        "lifecycle": plan.lifecycle,
        **({"copies": plan.copies} if plan.copies > 1 else {}),
        "repeats": plan.repeats,
        "seed": plan.seed,
        "dryRun": plan.dry_run,
        **{
            name: encode_row(part) if isinstance(part, Mapping) else part
            for name, part in provenance.items()
        },
    }


def build_range(checkpoint: Checkpoint) -> Fields:
    """Build the record of one checkpoint."""
    return {"label": checkpoint.label, "days": checkpoint.days}


def build_category_score(name: str, tally: TrialTally, scores: list[int] | None) -> Fields:
    """Build the record of one category at one checkpoint."""
    return {
        "category": name,
        "meanScore": tally.mean,
        "questionCount": tally.counted,
        **({} if scores is None else {"scores": scores}),
        "eligibleCount": tally.eligible,
        "missing": tally.missing,
    }


def build_difficulty_scores(part: CheckpointSummary) -> Fields:
    """Build the record of every difficulty at one checkpoint."""
    tallies = {name: part.difficulties.get(name, TrialTally()) for name in list_difficulties(part)}
    return {name: {"mean": tally.mean, "count": tally.counted} for name, tally in tallies.items()}


def list_cells(
    checkpoints: Iterable[CheckpointSummary], categories: tuple[str, ...]
) -> Iterator[msgspec.Raw]:
    """List the cells of the heatmap, by checkpoint."""
    for part in checkpoints:
        for name in categories:
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


def build_boundary(
    disclosures: Mapping[str, DisclosureSummary], boundary: BoundaryCounts
) -> Fields:
    """Build the figures of expected disclosures, of leaks and of refusals; only what was asked."""
    fields: Fields = {}
    if disclosures:
        fields["disclosureBreakdown"] = {
            kind.value: encode_row(
                {
                    "evaluations": disclosure.tally.counted,
                    "uniquePairs": disclosure.unique,
                    "meanScore": disclosure.tally.mean,
                    "hallucinationRate": _convert_to_percent(disclosure.tally.hallucination_rate),
                }
            )
            for kind in Disclosure
            if (disclosure := disclosures.get(kind.value)) is not None
        }
    leaks = boundary.leaks
    if leaks.answers:
        rate = _convert_to_percent(leaks.share)
        counts = {"answers": leaks.answers, "leaked": leaks.leaked, "rate": rate}
        fields["leaks"] = encode_row(counts)
    if boundary.refusals:
        parts = {kind.value: refusals for kind, refusals in boundary.refusals.items()}
        parts["together"] = boundary.over_refusal
        fields["overRefusal"] = {
            name: encode_row(
                {
                    "answers": refusals.judged,
                    "measured": refusals.measured,
                    "refused": refusals.refused if refusals.measured else None,
                    "rate": _convert_to_percent(refusals.share),
                }
            )
            for name, refusals in parts.items()
        }
    return fields


def build_measures(tally: TrialTally) -> Fields:
    """Build the counts and the score of some trials."""
    return {
        "questionsEvaluated": tally.counted,
        "questionsOwed": tally.owed,
        "judged": tally.judged,
        "notAnswered": tally.not_answered,
        "notJudged": tally.not_judged,
        "open": tally.open,
        "overallScore": tally.mean,
        "hallucinationRate": _convert_to_percent(tally.hallucination_rate),
    }


def _build_counts(summary: Summary) -> Fields:
    overall, reviews, costs, plan = summary.overall, summary.reviews, summary.costs, summary.plan
    fields: Fields = {
        "totalEvalsRun": overall.counted,
        "totalEvalsOwed": overall.owed,
        "uniqueQAPairCount": summary.questions,
    }
    if plan.appellate is not None:
        before = overall.points - reviews.total.points
        fields["appellateInvocations"] = reviews.total.done
        fields["appellateFaults"] = reviews.total.failed
        fields["reviews"] = {
            "failures": encode_row(_build_changes(reviews.failures)),
            "passes": encode_row(_build_changes(reviews.passes)),
            "open": reviews.open,
            "meanBefore": before / overall.counted if overall.counted else None,
        }
    if not costs.is_free:
        fields["usage"] = _encode_usage(costs.total)
        if plan.appellate is not None:
            fields["judgeUsage"] = _encode_usage(costs.first)
            fields["appellateUsage"] = _encode_usage(costs.reviewing)
        if plan.other_judges:
            fields["otherUsage"] = [_encode_usage(usage) for usage in costs.others]
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


def _build_service(folder: RunFolder) -> Fields:
    fields: Fields = {}
    service, deliveries = folder.service, folder.service.deliveries
    if deliveries.answers:
        fields["delivery"] = encode_row(
            {
                "answers": deliveries.answers,
                "offered": deliveries.offered,
                "kept": deliveries.kept,
                "tokens": deliveries.tokens,
                "traced": deliveries.traced,
                "tracedRate": _convert_to_percent(deliveries.traced_share),
            }
        )
    for name, share in (("p50Ms", 0.5), ("p95Ms", 0.95)):
        if (seconds := service.compute_latency(share)) is not None:
            fields[name] = convert_to_ms(seconds)
    if service.reader_usage != Usage():
        fields["readerUsage"] = _encode_usage(service.reader_usage)
    if service.metered:
        fields["systemUsage"] = {
            stage: _encode_usage(usage) for stage, usage in service.metered.items()
        }
    return fields


def _encode_usage(usage: Usage) -> msgspec.Raw:
    return encode_row(
        {
            "calls": usage.calls,
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            # The sum depends on the order of its parts in its last digits; the files must not.
            "costUsd": round(usage.cost_usd, 9),
            "unpricedCalls": usage.unpriced,
            "cachedReplies": usage.cached,
        }
    )


def _build_validity(summary: Summary) -> Fields:
    status = summary.validity.status
    failures = [failure for persona in summary.personas for failure in persona.feed_failures]
    return {
        "validity": status,
        **({"invalidReason": summary.validity.reason} if status is RunStatus.INVALID else {}),
        "unfinished": summary.overall.open,
        **({"notStarted": summary.unstarted} if summary.unstarted else {}),
        "errors": encode_row(summary.faults),
        **({"feedFailures": list(map(build_feed_failure, failures))} if failures else {}),
    }


def build_feed_failure(failure: FeedFailed) -> Fields:
    """Build where feeding failed, and why."""
    return {
        "personaId": failure.scenario,
        "checkpoint": failure.checkpoint,
        "stage": failure.stage,
        **({} if failure.day is None else {"day": failure.day}),
        "error": ErrorRow(kind=failure.fault, message=failure.message),
    }


def _build_settings(plan: Plan) -> Fields:
    is_drawn, second = plan.sampling is SampleMode.DRAWN, plan.appellate
    return _drop_none(
        {
            "sample": plan.sample,
            "sampling": None if plan.sample is None or is_drawn else plan.sampling,
            "judgeMemoryWindow": plan.judge_memory_window or None,
            "ingest": None if plan.ingest is Ingest.DAYS else plan.ingest,
            "groupsEnabled": plan.groups_enabled,
            "judgeModel": plan.judge.model or plan.judge.name,
            "appellateJudgeModel": None if second is None else second.model or second.name,
        }
    )


def _build_provenance(folder: RunFolder) -> Fields:
    """Build the provenance: digests, versions and cards that make runs comparable."""
    plan, system, labels = folder.plan, folder.plan.system, folder.plan.labels
    return _drop_none(
        {
            "planDigest": plan.digest,
            "datasetDigest": plan.dataset_digest,
            "questionsDigest": plan.questions_digest,
            "code": folder.codes,
            "system": {
                "name": system.name,
                "version": system.version,
                "config": system.config,
                "maxConcurrency": system.max_concurrency,
                "clock": system.clock,
                "asker": system.asker,
                "answers": system.answers,
                **_drop_none({"isolation": system.isolation, "caveats": system.caveats or None}),
            },
            "topK": plan.top_k,
            "judge": _build_judge(plan.judge),
            "maxContextTokens": plan.max_context_tokens,
            "reader": plan.reader,
            "doctor": folder.diagnosis,
            "otherJudges": list(map(_build_judge, plan.other_judges)) or None,
            "appellateJudge": None if plan.appellate is None else _build_judge(plan.appellate),
            "review": None if plan.appellate is None else plan.review,
            "answersFrom": plan.answers_from,
            "labels": labels
            and {
                "sha256": labels.sha256,
                "people": labels.people,
                "answers": labels.answers,
                "leftOut": labels.left_out,
            },
        }
    )


def _build_judge(card: JudgeCard) -> Fields:
    return _drop_none(
        {
            "name": card.name,
            "version": card.version,
            "model": card.model,
            "rulesDigest": card.rules_digest,
            "rubrics": card.rubrics or None,
            "reading": card.reading,
        }
    )
