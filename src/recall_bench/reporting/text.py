"""A run in plain text: what was run, whether it holds, and how each checkpoint went.

It reads at 80 columns and more. Where there are more checkpoints than room, a selection is
shown, and said to be one.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from recall_bench.core.event import FeedFailed
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Ingest, Plan
from recall_bench.core.question import DIFFICULTIES, Disclosure
from recall_bench.core.verdict import FULL_MARKS, JudgeCard
from recall_bench.metrics.marks import Tally, total
from recall_bench.reporting.facts import (
    NO_DATA,
    boundary_facts,
    cost_words,
    percent,
    review_words,
    rubric_words,
    system_facts,
)
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import (
    CheckpointSummary,
    DisclosureSummary,
    PersonaSummary,
    Status,
    Summary,
    exceeds,
    listed,
)

STUB_WARNING = "STUB JUDGE: scores mean nothing"

_WIDTH = 100
_LABEL = 13
_CATEGORY = 27
_ROWS = 15
"""More checkpoints than this are shown as a selection."""
_MESSAGE = 300
_DIGEST = 12


def report(folder: RunFolder, summary: Summary, *, width: int = _WIDTH) -> str:
    """The whole report."""
    parts = [*_header(folder, summary, width), ""]
    for persona in summary.personas:
        parts += [*_persona(persona, summary, width), ""]
    if len(summary.personas) > 1:
        title = f"All {len(summary.personas)} personas, by questions"
        parts += [_plain(title), "═" * min(width, len(title)), ""]
        parts += _table(summary.checkpoints, summary)
        parts += ["", text_heatmap(summary.checkpoints, summary.askable, width=width), ""]
    return "\n".join(parts)


def text_heatmap(
    checkpoints: Sequence[CheckpointSummary], categories: Iterable[str], *, width: int = _WIDTH
) -> str:
    """Mean and count of each category at each checkpoint, the overall and hallucination rows."""
    names = tuple(categories)
    cell = 2 + max(
        (len(words) for part in checkpoints for words in _column(part, names)), default=0
    )
    shown = _selection(len(checkpoints), max(1, (width - _CATEGORY) // cell))
    columns = [_column(checkpoints[i], names) for i in shown]
    labels = ["mean of 6 (n)", *names, "OVERALL", "hallucination"]
    lines = [
        f"{_plain(label)[: _CATEGORY - 1]:{_CATEGORY}}"
        + "".join(f"{column[row]:>{cell}}" for column in columns)
        for row, label in enumerate(labels)
    ]
    rule = " " * _CATEGORY + "─" * (cell * len(columns))
    lines.insert(-2, rule)
    lines.insert(1, rule)
    if len(columns) < len(checkpoints):
        lines.append(f"({len(columns)} of {len(checkpoints)} checkpoints shown)")
    return "\n".join(lines)


def progress_line(part: CheckpointSummary, *, persona: str, index: int, total: int) -> str:
    """One finished checkpoint on one line; `index` counts from 1."""
    tally, clock, digits = part.overall, part.clock, len(str(total))
    score = NO_DATA if tally.share is None else f"{tally.share * 100:.1f}%"
    line = (
        f"  [bench] [{index:>{digits}}/{total}] {_plain(persona)} {part.checkpoint.label:>6} "
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


def verdict_on(summary: Summary) -> str:
    """The headline: the score, or why there is none."""
    tally, validity = summary.overall, summary.validity
    match validity.status:
        case Status.VALID:
            return _scored(tally)
        case Status.INVALID:
            return f"INVALID ({validity.reason})"
        case Status.UNFINISHED:
            return f"UNFINISHED ({validity.reason}); so far {_scored(tally)}"


def _header(folder: RunFolder, summary: Summary, width: int) -> Iterator[str]:
    title = f"Recall Bench · {_plain(_named(folder.plan.system))}"
    yield title
    yield "═" * min(width, len(title))
    if summary.is_stub:
        yield STUB_WARNING
    yield ""
    for label, words in _facts(folder, summary):
        yield from _fact(label, words, width)


def _facts(folder: RunFolder, summary: Summary) -> Iterator[tuple[str, str]]:
    plan = folder.plan
    yield "Result", verdict_on(summary)
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
    if plan.answers_from is not None:
        yield "Answers", f"recorded under plan {plan.answers_from[:_DIGEST]}, judged again here"
    yield "Digests", _digests(plan)
    yield "Code", ", ".join(folder.codes)
    yield "Personas", f"{len(plan.scenarios)}: {', '.join(card.id for card in plan.scenarios)}"
    yield "Checkpoints", _labels(plan)
    yield "Questions", f"{summary.questions} in the dataset{_sampling(plan)}"
    yield "Trials", _counts(summary.overall)
    yield "Lifecycle", _lifecycle(plan)
    yield "Started", f"{folder.started:%Y-%m-%d %H:%M:%S} UTC, took {duration(folder.active_s)}"
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
        yield "Disclosure", _disclosures(summary.disclosures)
    yield from boundary_facts(summary.boundary)


def _fact(label: str, words: str, width: int) -> list[str]:
    return textwrap.wrap(
        _plain(words),
        width=width,
        initial_indent=f"{label:{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_on_hyphens=False,
    )


def _persona(persona: PersonaSummary, summary: Summary, width: int) -> Iterator[str]:
    title = f"{_plain(persona.id)} · {persona.questions} questions"
    yield title
    yield "─" * min(width, len(title))
    yield from _table(persona.checkpoints, summary)
    yield from _fact("difficulty", _difficulties(persona.checkpoints), width)
    if persona.disclosures and len(summary.personas) > 1:
        yield from _fact("disclosure", _disclosures(persona.disclosures), width)
    yield ""
    yield text_heatmap(persona.checkpoints, summary.askable, width=width)


def _table(checkpoints: Sequence[CheckpointSummary], summary: Summary) -> Iterator[str]:
    shown = _selection(len(checkpoints), _ROWS)
    columns = f"{'fed to':>8}{'owed':>7}{'judged':>8}{'unanswered':>12}{'unjudged':>10}{'open':>6}"
    yield f"{'checkpoint':<11}{columns}{'of 6':>9}{'score':>9}"
    for part in (checkpoints[i] for i in shown):
        tally = part.overall
        counts = (
            f"{'day ' + str(part.cutoff):>8}{tally.owed:>7}{tally.judged:>8}"
            f"{tally.not_answered:>12}{tally.not_judged:>10}{tally.open:>6}"
        )
        yield f"{_plain(part.checkpoint.label)[:10]:<11}{counts}{_columns(tally, summary)}"
    if len(shown) < len(checkpoints):
        yield f"({len(shown)} of {len(checkpoints)} checkpoints shown)"


def _columns(tally: Tally, summary: Summary) -> str:
    is_over = summary.validity.status is not Status.UNFINISHED
    if is_over and exceeds(tally, summary.plan.error_budget):
        return f"{'INVALID':>9}{NO_DATA:>9}"
    mean = NO_DATA if tally.mean is None else f"{tally.mean:.2f}"
    return f"{mean:>9}{percent(tally.share):>9}"


def _column(part: CheckpointSummary, categories: Iterable[str]) -> list[str]:
    tallies = [*(part.category(name) for name in categories), part.overall]
    cells = [
        NO_DATA if tally.mean is None else f"{tally.mean:.1f} ({tally.counted})"
        for tally in tallies
    ]
    return [_plain(part.checkpoint.label), *cells, percent(part.overall.hallucination_rate)]


def _scored(tally: Tally) -> str:
    if tally.mean is None:
        return "no score: nothing was measured"
    return (
        f"{tally.mean:.2f} of {FULL_MARKS} ({percent(tally.share)}) · "
        f"hallucination {percent(tally.hallucination_rate)}"
    )


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
    shown = labels if len(labels) <= _ROWS else [*labels[:3], "…", *labels[-2:]]
    return f"{len(labels)}: {', '.join(shown)}" + (" (dry run: the first)" if plan.dry_run else "")


def _sampling(plan: Plan) -> str:
    words = "" if plan.sample is None else f" · at most {plan.sample} older ones a checkpoint"
    words += f" · each put {plan.repeats} times" if plan.repeats > 1 else ""
    asked = "on" if plan.groups_enabled else "off (--groups-enabled asks them)"
    return f"{words} · group questions {asked}"


def _lifecycle(plan: Plan) -> str:
    words = f"{plan.lifecycle.value} · seed {plan.seed} · calendar from {plan.calendar.value}"
    return words if plan.ingest is Ingest.DAYS else f"{words} · fed {plan.ingest.value}"


def _difficulties(checkpoints: Iterable[CheckpointSummary]) -> str:
    parts = list(checkpoints)
    found = listed((name for part in parts for name in part.difficulties), DIFFICULTIES)
    tallies = {
        name: total(part.difficulties.get(name, Tally()) for part in parts) for name in found
    }
    return " · ".join(
        f"{name} {NO_DATA if tally.mean is None else f'{tally.mean:.2f} (n {tally.counted})'}"
        for name, tally in tallies.items()
    )


def _disclosures(disclosures: Mapping[str, DisclosureSummary]) -> str:
    return " · ".join(
        f"{kind.value} {NO_DATA if found.tally.mean is None else f'{found.tally.mean:.2f}'} "
        f"(n {found.tally.counted}, {found.unique} questions, "
        f"hallucination {percent(found.tally.hallucination_rate)})"
        for kind in Disclosure
        if (found := disclosures.get(kind.value)) is not None
    )


def _feed_failure(failure: FeedFailed) -> str:
    day = "" if failure.day is None else f", day {failure.day}"
    message = failure.message
    if len(message) > _MESSAGE:
        message = message[:_MESSAGE] + "…"
    return (
        f"{failure.scenario} at {failure.checkpoint}{day} ({failure.stage}): "
        f"{failure.fault}: {message}"
    )


def _selection(count: int, room: int) -> list[int]:
    """At most `room` of `count` places, evenly spread, the last always among them."""
    if count <= room:
        return list(range(count))
    if room == 1:
        return [count - 1]
    return [round(i * (count - 1) / (room - 1)) for i in range(room)]


def _plain(words: str) -> str:
    """Names and messages come from elsewhere: nothing in them may steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)
