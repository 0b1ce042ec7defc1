"""A run in plain text: what was run, whether it holds, and how each checkpoint went.

It reads at 80 columns and more. Where there are more checkpoints than room, a selection is
shown, and said to be one.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.core.event import FeedFailed
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import ImportCard, Ingest, Plan
from recall_bench.core.question import BOUNDARY, DIFFICULTIES, Disclosure, Item
from recall_bench.core.verdict import FULL_MARKS, JudgeCard
from recall_bench.metrics.marks import Tally
from recall_bench.reporting.facts import (
    boundary_facts,
    cost_words,
    percent,
    review_words,
    rubric_words,
    system_facts,
)
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.lines import NO_DATA, WIDTH, fact, heading, plain, wrapped
from recall_bench.reporting.summary import (
    CheckpointSummary,
    PersonaSummary,
    Status,
    Summary,
    listed,
)
from recall_bench.reporting.tables import (
    SMALL,
    checkpoint_table,
    heatmap_places,
    table_places,
    text_heatmap,
)

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.reporting.estimates import Estimates
    from recall_bench.statistics.estimate import Estimate

STUB_WARNING = "STUB JUDGE: scores mean nothing"

_LABELS = 15
"""More checkpoints than this are named in part."""
_MESSAGE = 300
_DIGEST = 12


def report(folder: RunFolder, summary: Summary, *, width: int = WIDTH) -> str:
    """The whole report."""
    from recall_bench.reporting.estimates import Estimates

    means = Estimates(folder)
    parts = [*_header(folder, summary, means, width), ""]
    for persona in summary.personas:
        parts += [*_persona(persona, summary, means, width), ""]
    if len(summary.personas) > 1:
        title = f"All {len(summary.personas)} personas, by questions"
        parts += [*heading(title, rule="═", width=width), ""]
        parts += [*_section(None, summary.checkpoints, summary, means, width=width), ""]
    return "\n".join(parts)


def progress_line(part: CheckpointSummary, *, persona: str, index: int, total: int) -> str:
    """One finished checkpoint on one line; `index` counts from 1."""
    tally, clock, digits = part.overall, part.clock, len(str(total))
    score = NO_DATA if tally.share is None else f"{tally.share * 100:.1f}%"
    line = (
        f"  [bench] [{index:>{digits}}/{total}] {plain(persona)} {part.checkpoint.label:>6} "
        f"+{clock.days_fed:>4}d ingest={clock.ingest_s + clock.settle_s:5.1f}s "
        f"q={tally.owed} (new={part.new} hist={part.older_asked}/{part.older}) "
        f"query={clock.query_s:5.1f}s score={score}"
    )
    if tally.not_answered:
        line += f" unanswered={tally.not_answered}"
    if tally.missing:
        line += f" missing={tally.missing}"
    return line


def duration(seconds: float) -> str:
    """`1h 02m 03s`, `2m 03s` or `3s`."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}h {minutes:02}m {rest:02}s"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


_UNITS = ((3 * 86_400, 86_400, "d"), (3600, 3600, "h"), (60, 60, "min"), (1, 1, "s"))
"""From so many seconds on, in units of so many."""


def round_duration(seconds: float) -> str:
    """To two figures, as an estimate is known, in the unit that fits: `48 s`, `3.2 h`, `12 d`."""
    for least, size, unit in _UNITS:
        if seconds >= least:
            count = seconds / size
            return f"{count:.1f} {unit}" if count < 9.95 else f"{count:,.0f} {unit}"
    return "< 1 s" if seconds > 0 else "0 s"


def verdict_on(
    summary: Summary,
    overall: "Estimate | None" = None,
    hallucination: "Estimate | None" = None,
) -> str:
    """The headline: the score, or why there is none; with intervals if there are estimates."""
    tally, validity = summary.overall, summary.validity
    match validity.status:
        case Status.VALID:
            return _scored(tally, overall, hallucination)
        case Status.INVALID:
            return f"INVALID ({validity.reason})"
        case Status.UNFINISHED:
            scored = _scored(tally, overall, hallucination)
            return f"UNFINISHED ({validity.reason}); so far {scored}"


def _header(folder: RunFolder, summary: Summary, means: "Estimates", width: int) -> Iterator[str]:
    yield from heading(f"Recall Bench · {_named(folder.plan.system)}", rule="═", width=width)
    if summary.is_stub:
        yield STUB_WARNING
    yield ""
    overall, hallucination = means.overall(), means.hallucination()
    yield from fact("Result", verdict_on(summary, overall, hallucination), width=width)
    if overall is not None:
        yield from fact("Intervals", _intervals(overall), width=width)
    for label, words in run_facts(folder, summary, means):
        yield from fact(label, words, width=width)


def _origin_facts(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """Where answers come from that were not all asked for here."""
    plan = folder.plan
    if plan.answers_from is not None:
        yield "Answers", f"recorded under plan {plan.answers_from[:_DIGEST]}, judged again here"
    if plan.imported is not None:
        yield "Imported", _imported(plan.imported)
    if folder.part is not None:
        yield "Part", f"{folder.part} of the plan; the rest is not asked here"


def run_facts(folder: RunFolder, summary: Summary, means: "Estimates") -> Iterator[tuple[str, str]]:
    """What was run, by whom it was judged, and how it went about it: labels and words."""
    plan = folder.plan
    if summary.is_stub:
        yield "", STUB_WARNING
    yield "System", _named(plan.system)
    yield from system_facts(folder)
    yield "Judge", _judges(plan)
    if rubrics := rubric_words(plan.judge, plan.appellate):
        yield "Rubrics", rubrics
    if plan.appellate is not None:
        yield "Reviews", review_words(summary.reviews, plan, summary.overall)
    if not summary.costs.is_free:
        yield "Cost", cost_words(summary.costs)
    yield from _origin_facts(folder)
    yield "Digests", _digests(plan)
    yield "Code", ", ".join(folder.codes)
    yield "Personas", f"{len(plan.scenarios)}: {', '.join(card.id for card in plan.scenarios)}"
    yield "Checkpoints", _labels(plan)
    known = "in the dataset" if plan.imported is None else "put"
    yield "Questions", f"{summary.questions} {known}{_sampling(plan)}"
    yield "Trials", _counts(summary.overall)
    yield "Lifecycle", _lifecycle(plan)
    yield "Started", f"{folder.started:%Y-%m-%d %H:%M:%S} UTC, took {duration(folder.active_s)}"
    if folder.work != ("one process",):
        yield "Executor", ", then ".join(folder.work)
    if summary.faults:
        yield (
            "Failures",
            " · ".join(
                f"{count} × {kind}, first: {folder.examples[kind]}"
                for kind, count in summary.faults.items()
            ),
        )
    for persona in summary.personas:
        for failure in persona.feed_failures:
            yield "Feed failed", _feed_failure(failure)
    if summary.disclosures:
        yield "Disclosure", _disclosures(means)
    yield from boundary_facts(summary.boundary)


def _persona(
    persona: PersonaSummary, summary: Summary, means: "Estimates", width: int
) -> Iterator[str]:
    yield from heading(f"{persona.id} · {persona.questions} questions", width=width)
    below = [("difficulty", _difficulties(means, persona.id))]
    if persona.disclosures and len(summary.personas) > 1:
        below.append(("disclosure", _disclosures(means, persona.id)))
    yield from _section(persona.id, persona.checkpoints, summary, means, facts=below, width=width)


def _section(
    persona: str | None,
    checkpoints: Sequence[CheckpointSummary],
    summary: Summary,
    means: "Estimates",
    *,
    facts: Sequence[tuple[str, str]] = (),
    width: int,
) -> Iterator[str]:
    from recall_bench.statistics.estimate import FEW_QUESTIONS

    listed_at = table_places(len(checkpoints))
    overall = means.checkpoints(persona, listed_at)
    heatmap = means.heatmap(persona, heatmap_places(checkpoints, width=width))
    rows = [checkpoints[place] for place in listed_at]
    yield from checkpoint_table(rows, overall, summary, of=len(checkpoints), width=width)
    for label, words in facts:
        yield from fact(label, words, width=width)
    yield ""
    yield text_heatmap(heatmap, of=len(checkpoints), width=width)
    if heatmap.has_small or any(mean is not None and mean.is_small for mean in overall):
        note = f"{SMALL} fewer than {FEW_QUESTIONS} questions: the interval holds less often"
        yield from wrapped(f"{note} than it says", width=width)


def _scored(tally: Tally, overall: "Estimate | None", hallucination: "Estimate | None") -> str:
    if tally.mean is None:
        return "no score: nothing was measured"
    words = (
        f"{tally.mean:.2f} of {FULL_MARKS}{_ends(overall)}, {percent(tally.share)} · "
        f"hallucination {percent(tally.hallucination_rate)}{_ends(hallucination, is_rate=True)}"
    )
    return words if overall is None else f"{words} · {_asked(overall)}"


def _ends(estimate: "Estimate | None", *, is_rate: bool = False) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    if is_rate:
        return f" ({100 * estimate.low:.1f} to {percent(estimate.high)})"
    return f" ({estimate.low:.2f} to {estimate.high:.2f})"


def _asked(estimate: "Estimate") -> str:
    mark = f" ({SMALL})" if estimate.is_small else ""
    return f"{estimate.questions} question{'' if estimate.questions == 1 else 's'}{mark}"


def _intervals(overall: "Estimate") -> str:
    from recall_bench.reporting.estimates import SEED
    from recall_bench.statistics.estimate import Method

    level = f"{100 * overall.level:.0f} %"
    if overall.method is Method.PERSONAS:
        return (
            f"{level}: of one persona by drawing its questions again, of all by drawing personas, "
            f"for others like these; seed {SEED}"
        )
    return f"{level}, by drawing questions again, for others to the same personas; seed {SEED}"


def _named(card: SystemCard | JudgeCard) -> str:
    return f"{card.name} {card.version}"


def _judges(plan: Plan) -> str:
    words = _named(plan.judge) + (f" ({plan.judge.model})" if plan.judge.model else "")
    if plan.judge.rules_digest is not None:
        words += f", rules {plan.judge.rules_digest[:8]}"
    if plan.judge_memory_window:
        words += f", shown ±{plan.judge_memory_window} days around the evidence"
    if plan.appellate is not None:
        words += f" · appellate {_named(plan.appellate)}"
        words += f" ({plan.appellate.model})" if plan.appellate.model else ""
    return words


def _imported(card: ImportCard) -> str:
    words = [str(card), *(repair.said for repair in card.repairs)]
    if card.reconstructed:
        words.append("pieced together from logs after the run was killed")
    return " · ".join(words)


def _digests(plan: Plan) -> str:
    return (
        f"dataset {plan.dataset_digest[:_DIGEST]} · questions {plan.questions_digest[:_DIGEST]}"
        f" · plan {plan.digest[:_DIGEST]}"
    )


def _counts(tally: Tally) -> str:
    return (
        f"{tally.owed} owed · {tally.judged} judged · {tally.not_answered} not answered · "
        f"{tally.not_judged} not judged · {tally.open} open"
    )


def _labels(plan: Plan) -> str:
    labels = [checkpoint.label for checkpoint in plan.checkpoints]
    shown = labels if len(labels) <= _LABELS else [*labels[:3], "…", *labels[-2:]]
    return f"{len(labels)}: {', '.join(shown)}" + (" (dry run: the first)" if plan.dry_run else "")


def _sampling(plan: Plan) -> str:
    words = "" if plan.sample is None else f" · at most {plan.sample} older ones a checkpoint"
    words += f" · each put {plan.repeats} times" if plan.repeats > 1 else ""
    asked = "on" if plan.groups_enabled else "off (--groups-enabled asks them)"
    return f"{words} · group questions {asked}"


def _lifecycle(plan: Plan) -> str:
    words = f"{plan.lifecycle.value} · seed {plan.seed} · calendar from {plan.calendar.value}"
    return words if plan.ingest is Ingest.DAYS else f"{words} · fed {plan.ingest.value}"


def _difficulties(means: "Estimates", persona: str) -> str:
    found = means.by(lambda item: item.truth.difficulty, persona)
    return " · ".join(
        f"{name} {_mean(mean)}"
        for name in listed(found, DIFFICULTIES)
        for mean, _ in [found.get(name, (None, None))]
    )


def _disclosures(means: "Estimates", persona: str | None = None) -> str:
    found = means.by(_disclosure, persona)
    return " · ".join(
        f"{kind.value} {_mean(mean)}, hallucination "
        f"{percent(None if rate is None else rate.value)}{_ends(rate, is_rate=True)}"
        for kind in Disclosure
        if kind.value in found
        for mean, rate in [found[kind.value]]
    )


def _disclosure(item: Item) -> str | None:
    expected = item.truth.disclosure if item.truth.category == BOUNDARY else None
    return None if expected is None else expected.value


def _mean(estimate: "Estimate | None") -> str:
    if estimate is None:
        return NO_DATA
    return f"{estimate.value:.2f}{_ends(estimate)} over {_asked(estimate)}"


def _feed_failure(failure: FeedFailed) -> str:
    day = "" if failure.day is None else f", day {failure.day}"
    message = failure.message
    if len(message) > _MESSAGE:
        message = message[:_MESSAGE] + "…"
    return (
        f"{failure.scenario} at {failure.checkpoint}{day} ({failure.stage}): "
        f"{failure.fault}: {message}"
    )
