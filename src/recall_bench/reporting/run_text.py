"""A run as text: what was run, whether it is valid, and how each checkpoint went.

It fits 80 columns and more.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    join_words,
)
from recall_bench.core.plan import Ingest, Plan
from recall_bench.core.scenario import BOUNDARY, DIFFICULTIES, Disclosure, Item
from recall_bench.engine.runs.output_paths import LABELS
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import (
    CheckpointSummary,
    PersonaSummary,
    RunStatus,
    Summary,
    list_names,
)
from recall_bench.reporting.formats import (
    SMALL_MARK,
    format_card,
    format_duration,
    format_number,
    format_points,
)
from recall_bench.reporting.headlines import (
    describe_headline,
    describe_labels,
    describe_unmeasured,
    explain_missing_bounds,
    list_rates,
)
from recall_bench.reporting.run_facts import (
    describe_costs,
    describe_reviews,
    describe_rubrics,
    list_boundary_facts,
    list_system_facts,
)
from recall_bench.reporting.score_tables import (
    build_category_scores,
    render_checkpoint_table,
    render_heatmap,
    select_heatmap_places,
    select_table_places,
)
from recall_bench.reporting.sections import render_parts

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.engine.runs.estimates import RunEstimates
    from recall_bench.metrics.estimate import Estimate

STUB_WARNING = "STUB JUDGE: scores mean nothing"

_MAX_LABELS = 15
"""More checkpoints than this are named in part."""
_MAX_MESSAGE = 300
_MAX_NAMES = 5
_DIGEST_LENGTH = 12


def render_run(folder: RunFolder, summary: Summary, *, width: int = WIDTH) -> str:
    """The run as text."""
    from recall_bench.engine.runs.estimates import RunEstimates

    means = RunEstimates.get(folder)
    parts = [*_render_header(folder, summary, means, width), ""]
    for persona in summary.personas:
        parts += [*_render_persona(persona, summary, means, width), ""]
    if len(summary.personas) > 1:
        title = f"All {len(summary.personas)} personas, by questions"
        parts += [*format_heading(title, rule="═", width=width), ""]
        parts += [*_render_section(None, summary.checkpoints, summary, means, width=width), ""]
    return "\n".join(parts)


def format_progress(part: CheckpointSummary, *, persona: str, index: int, total: int) -> str:
    """One finished checkpoint on one line; `index` counts from 1."""
    tally, clock, digits = part.overall, part.clock, len(str(total))
    share = tally.share if tally.judged else None
    score = NO_DATA if share is None else f"{format_number(share * 100, 1)}%"
    # After a stop a memory is fed from its start, and the time is that of all feeding.
    again = f" ({clock.days_fed}d, some again)" if clock.days_fed > part.cutoff else ""
    line = (
        f"  [bench] [{index:>{digits}}/{total}] {clean_text(persona)} {part.checkpoint.label:>6} "
        f"+{min(clock.days_fed, part.cutoff):>4}d ingest={clock.feeding_s:5.1f}s{again} "
        f"q={tally.owed} (new={part.new} hist={part.older_asked}/{part.older}) "
        f"query={clock.query_s:5.1f}s score={score}"
    )
    if tally.not_answered:
        line += f" unanswered={tally.not_answered}"
    if tally.missing:
        line += f" missing={tally.missing}"
    return line


def format_result(folder: RunFolder, summary: Summary) -> str:
    """The system and the headline on one line."""
    from recall_bench.engine.runs.estimates import RunEstimates

    name = clean_text(folder.plan.system.name)
    return f"{name}: {describe_verdict(summary, RunEstimates.get(folder))}"


def describe_verdict(summary: Summary, means: "RunEstimates") -> str:
    """The headline: the score between silence and ceiling, or why there is none."""
    validity = summary.validity
    match validity.status:
        case RunStatus.VALID:
            return _describe_score(summary, means)
        case RunStatus.INVALID:
            return f"INVALID ({validity.reason})"
        case RunStatus.UNFINISHED:
            so_far = f"so far {_describe_score(summary, means)}"
            words = so_far if summary.has_score else _describe_failures(summary)
            return f"UNFINISHED ({validity.reason}); {words}"


def _describe_failures(summary: Summary) -> str:
    """Why an unfinished run has no score yet."""
    finished, budget = summary.overall.without_open, summary.plan.error_budget * 100
    trials = f"{finished.failed} of {finished.owed} trials"
    return f"no score: {trials} so far failed, budget {budget:.4g} %"


def describe_result(folder: RunFolder, summary: Summary, means: "RunEstimates") -> str:
    """The headline; where labels correct the share of right answers, that comes first."""
    words = describe_verdict(summary, means)
    if summary.validity.status is not RunStatus.VALID:
        return words
    if not (folder.path / LABELS).exists():
        return words
    # Lazy: agreement needs numpy.
    from recall_bench.reporting.judge_text import add_correction

    return add_correction(folder, words)


def describe_missing_bounds(summary: Summary, means: "RunEstimates") -> str | None:
    """Why the score stands beside no silence and no ceiling; None if it does, or means nothing."""
    if summary.is_stub or not summary.has_score:
        return None
    if means.estimate_overall() is None or means.estimate_range() is not None:
        return None
    return explain_missing_bounds(summary.plan)


def _render_header(
    folder: RunFolder, summary: Summary, means: "RunEstimates", width: int
) -> Iterator[str]:
    yield from format_heading(
        f"Recall Bench · {format_card(folder.plan.system)}", rule="═", width=width
    )
    if summary.is_stub:
        yield STUB_WARNING
    yield ""
    overall = means.estimate_overall()
    yield from format_fact("Result", describe_result(folder, summary, means), width=width)
    if overall is not None:
        yield from format_fact("Intervals", _describe_intervals(overall), width=width)
        if (missing := describe_missing_bounds(summary, means)) is not None:
            yield from format_fact("Silence", missing, width=width)
        if summary.has_score:
            yield ""
            scores = build_category_scores(means.build_heatmap(places=()))
            yield from render_parts(scores, width=width)
            yield ""
    for label, words in list_run_facts(folder, summary, means):
        yield from format_fact(label, words, width=width)


def list_run_facts(
    folder: RunFolder, summary: Summary, means: "RunEstimates"
) -> Iterator[tuple[str, str]]:
    """What was run, how it was judged and how it went, as labels and texts."""
    plan = folder.plan
    if summary.is_stub:
        yield "", STUB_WARNING
    yield "System", format_card(plan.system)
    yield from list_system_facts(folder)
    yield from _list_judging_facts(folder, summary)
    digests = {"dataset": plan.dataset_digest, "questions": plan.questions_digest}
    digests["plan"] = plan.digest
    cut = (f"{name} {digest[:_DIGEST_LENGTH]}" for name, digest in digests.items())
    yield "Digests", " · ".join(cut)
    yield "Code", ", ".join(folder.codes)
    yield from _list_plan_facts(plan, summary.questions)
    yield from _list_course_facts(folder, summary)
    if summary.disclosures:
        yield "Disclosure", _describe_disclosures(means)
    yield from list_boundary_facts(summary.boundary)


def _list_judging_facts(folder: RunFolder, summary: Summary) -> Iterator[tuple[str, str]]:
    """Who judged, what it cost, and where answers come from if not all were asked here."""
    plan = folder.plan
    yield "Judge", _describe_judges(plan)
    if plan.other_judges:
        # Lazy: agreement needs numpy.
        from recall_bench.reporting.judge_text import describe_range
        from recall_bench.reporting.trial_scores import measure_judges

        sensitivity = measure_judges(folder)
        yield "Judges", NO_DATA if sensitivity is None else describe_range(sensitivity)
    if rubrics := describe_rubrics(plan.judge, plan.appellate):
        yield "Rubrics", rubrics
    if plan.appellate is not None:
        yield "Reviews", describe_reviews(summary.reviews, plan, summary.overall)
    if not summary.costs.is_free:
        yield "Cost", describe_costs(summary.costs)
    if plan.answers_from is not None:
        origin = f"recorded under plan {plan.answers_from[:_DIGEST_LENGTH]}"
        yield "Answers", f"{origin}, judged again here"
    if (card := plan.imported) is not None:
        words = [str(card), *(repair.said for repair in card.repairs)]
        if card.reconstructed:
            words.append("pieced together from logs after the run was killed")
        yield "Imported", " · ".join(words)
    if folder.part is not None:
        yield "Part", f"{folder.part} of the plan; the rest is not asked here"


def _list_course_facts(folder: RunFolder, summary: Summary) -> Iterator[tuple[str, str]]:
    """How it went: trials, lifecycle, time and failures."""
    plan, tally = folder.plan, summary.overall
    yield (
        "Trials",
        (
            f"{tally.owed} owed · {tally.judged} judged · {tally.not_answered} not answered · "
            f"{tally.not_judged} not judged · {tally.open} open"
        ),
    )
    copies = f" · {plan.copies} copies share the questions" if plan.copies > 1 else ""
    fed = "" if plan.ingest is Ingest.DAYS else f" · fed {plan.ingest.value}"
    calendar = f"seed {plan.seed} · calendar from {plan.calendar.value}"
    yield "Lifecycle", f"{plan.lifecycle.value}{copies} · {calendar}{fed}"
    started = f"{folder.started:%Y-%m-%d %H:%M:%S} UTC"
    yield "Started", f"{started}, took {format_duration(folder.active_s)}"
    if folder.executors != ("one process",):
        yield "Executor", ", then ".join(folder.executors)
    if summary.faults:
        faults = (
            f"{count} × {kind}, first: {folder.fault_examples[kind]}"
            for kind, count in summary.faults.items()
        )
        yield "Failures", " · ".join(faults)
    for failure in (f for persona in summary.personas for f in persona.feed_failures):
        day = "" if failure.day is None else f", day {failure.day}"
        message = failure.message[:_MAX_MESSAGE] + "…" * (len(failure.message) > _MAX_MESSAGE)
        place = f"{failure.scenario} at {failure.checkpoint}{day} ({failure.stage})"
        yield "Feed failed", f"{place}: {failure.fault}: {message}"


def _list_plan_facts(plan: Plan, questions: int) -> Iterator[tuple[str, str]]:
    """The histories, the checkpoints and the questions."""
    if plan.dataset is None:
        yield "Personas", describe_personas(plan)
        labels = [checkpoint.label for checkpoint in plan.checkpoints]
        names = labels if len(labels) <= _MAX_LABELS else [*labels[:3], "…", *labels[-2:]]
        dry_run = " (dry run: the first)" if plan.dry_run else ""
        yield "Checkpoints", f"{len(labels)}: {', '.join(names)}{dry_run}"
    else:
        yield "Dataset", f"{plan.dataset.name}, by {plan.dataset.protocol}"
        names_shown = join_words([card.id for card in plan.scenarios], most=_MAX_NAMES)
        yield "Histories", f"{len(plan.scenarios):,}: {names_shown}"
    words = f"{questions} {'in the dataset' if plan.imported is None else 'put'}"
    if plan.sample is not None:
        words += f" · at most {plan.sample} older ones a checkpoint"
    if plan.repeats > 1:
        words += f" · each asked {plan.repeats} times"
    if plan.dataset is None:
        groups = "on" if plan.groups_enabled else "off (--groups-enabled asks them)"
        words += f" · group questions {groups}"
    yield "Questions", words


def _render_persona(
    persona: PersonaSummary, summary: Summary, means: "RunEstimates", width: int
) -> Iterator[str]:
    yield from format_heading(f"{persona.id} · {persona.questions} questions", width=width)
    below = [("difficulty", _describe_difficulties(means, persona.id))]
    if kinds := _describe_kinds(means, persona.id):
        below.append(("kind", kinds))
    if persona.disclosures and len(summary.personas) > 1:
        below.append(("disclosure", _describe_disclosures(means, persona.id)))
    yield from _render_section(
        persona.id, persona.checkpoints, summary, means, facts=below, width=width
    )


def _render_section(
    persona: str | None,
    checkpoints: Sequence[CheckpointSummary],
    summary: Summary,
    means: "RunEstimates",
    *,
    facts: Sequence[tuple[str, str]] = (),
    width: int,
) -> Iterator[str]:
    from recall_bench.metrics.estimate import FEW_QUESTIONS

    listed_at = select_table_places(len(checkpoints))
    overall = means.estimate_checkpoints(persona, listed_at)
    heatmap = means.build_heatmap(persona, select_heatmap_places(checkpoints, width=width))
    rows = [checkpoints[place] for place in listed_at]
    yield from render_checkpoint_table(rows, overall, summary, of=len(checkpoints), width=width)
    for label, words in facts:
        yield from format_fact(label, words, width=width)
    yield ""
    yield render_heatmap(heatmap, of=len(checkpoints), width=width)
    if heatmap.has_small or any(mean is not None and mean.is_small for mean in overall):
        yield f"{SMALL_MARK} fewer than {FEW_QUESTIONS} questions: the interval is unreliable"


def _describe_score(summary: Summary, means: "RunEstimates") -> str:
    overall = means.estimate_overall()
    if overall is None:
        return "no score: nothing was measured"
    rates = means.estimate_invented(), means.estimate_leaked()
    headline = describe_headline(overall, means.estimate_range(), *rates)
    labels = summary.plan.labels
    parts = [headline, describe_unmeasured(summary.unmeasured), _count_questions(overall)]
    if labels is not None:
        parts.append(describe_labels(labels))
    return " · ".join(filter(None, parts))


def _count_questions(estimate: "Estimate") -> str:
    mark = f" ({SMALL_MARK})" if estimate.is_small else ""
    return f"{format_quantity(estimate.questions, 'question')}{mark}"


def _describe_intervals(overall: "Estimate") -> str:
    from recall_bench.metrics.bootstrap import SEED
    from recall_bench.metrics.estimate import IntervalMethod

    level = f"{format_number(100 * overall.level, 0)} %"
    if overall.method is IntervalMethod.PERSONAS:
        return f"{level}, bootstrap over personas, within one persona over questions; seed {SEED}"
    return f"{level}, bootstrap over questions to the same personas; seed {SEED}"


def _describe_judges(plan: Plan) -> str:
    words = format_card(plan.judge, plan.judge.model)
    if plan.judge.rules_digest is not None:
        words += f", rules {plan.judge.rules_digest[:8]}"
    if plan.judge_memory_window:
        words += f", shown ±{plan.judge_memory_window} days around the evidence"
    if plan.appellate is not None:
        words += f" · appellate {format_card(plan.appellate, plan.appellate.model)}"
    return words


def describe_personas(plan: Plan) -> str:
    """The personas by name, and the seed that they were drawn from, if any."""
    names = f"{len(plan.scenarios)}: {', '.join(card.id for card in plan.scenarios)}"
    if plan.world is None:
        return names
    seed = plan.world.seed or f"a secret seed that {plan.world.commitment[:12]} commits to"
    return f"{names}, drawn from {'seed ' if plan.world.seed else ''}{seed}"


def _describe_difficulties(means: "RunEstimates", persona: str) -> str:
    means_by_name = means.estimate_by(lambda item: item.truth.difficulty, persona)
    return " · ".join(
        f"{name} {_format_mean(means_by_name[name].points if name in means_by_name else None)}"
        for name in list_names(means_by_name, DIFFICULTIES)
    )


def _describe_kinds(means: "RunEstimates", persona: str) -> str:
    """The score of each kind of memory work, the lowest first; empty if questions have none."""
    means_by_kind = means.estimate_by(lambda item: item.kind, persona)
    scored = {
        name: kind_means.points
        for name, kind_means in means_by_kind.items()
        if kind_means.points is not None
    }
    ordered = sorted(scored, key=lambda name: (scored[name].value, name))
    return " · ".join(f"{name} {_format_mean(scored[name])}" for name in ordered)


def _describe_disclosures(means: "RunEstimates", persona: str | None = None) -> str:
    means_by_kind = means.estimate_by(_get_disclosure, persona)
    return " · ".join(
        ", ".join([f"{kind.value} {_format_mean(kind_means.points)}", *list_rates(*kind_means[1:])])
        for kind in Disclosure
        if (kind_means := means_by_kind.get(kind.value)) is not None
    )


def _get_disclosure(item: Item) -> str | None:
    disclosure = item.truth.disclosure if item.truth.category == BOUNDARY else None
    return None if disclosure is None else disclosure.value


def _format_mean(estimate: "Estimate | None") -> str:
    if estimate is None:
        return NO_DATA
    return f"{format_points(estimate, digits=0)} over {_count_questions(estimate)}"
