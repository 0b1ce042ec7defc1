"""The texts and tables of each section of the page."""

from collections.abc import Iterator, Sequence

from recall_bench.core.plain_text import NO_DATA, format_quantity
from recall_bench.core.plan import Trial
from recall_bench.engine.runs.rows import Row, RowTable
from recall_bench.reporting.analyses.attribution import (
    LEAF_MEANINGS,
    LEAF_TITLES,
    MARKS_LOST,
    Attribution,
    LeafCount,
)
from recall_bench.reporting.analyses.canaries import CanaryChange, CanaryWatch, WatchedCanary
from recall_bench.reporting.analyses.cost_units import format_cost
from recall_bench.reporting.analyses.costs import Pareto, RunCosts
from recall_bench.reporting.analyses.degradation import Degradation
from recall_bench.reporting.analyses.fact_survival import GroupSurvival, SurvivalGroup
from recall_bench.reporting.analyses.hallucination import (
    HallucinationViews,
    RateCourse,
    is_rising,
)
from recall_bench.reporting.analyses.tool_loop import STAGE_MEANINGS, ToolLoopReport
from recall_bench.reporting.formats import (
    format_count,
    format_half_life,
    format_number,
    format_own_scale,
    format_points,
    format_score,
    format_score_trend,
    format_sentence,
    format_share,
    format_slope,
    format_slug,
)
from recall_bench.reporting.groups import PERSONA, describe_population
from recall_bench.reporting.headlines import (
    INVENTION_NOTE,
    LOW_CEILING_NOTE,
    WAY_NOTE,
    describe_place,
    format_ceiling,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.report_text import describe_forecasts
from recall_bench.reporting.score_tables import has_low_ceilings
from recall_bench.reporting.tool_loop_text import describe_sessions, describe_unmatched
from recall_bench.reporting.trial_scores import ProtocolFigure


def render_categories(table: RowTable) -> Iterator[Markup]:
    """Every category between silence and its ceiling, then all of them."""
    rows = [row for row in table.categories if row.total is not None]
    cells = [_list_category_cells(format_slug(row.name), row) for row in rows]
    cells.append(_list_category_cells("All categories", table.total))
    head = ("category", "score", "silence", "ceiling", "of the way", "questions")
    if table.total.bounds is None:
        cut = [(*row[:2], row[-1]) for row in cells]
        yield render_table((*head[:2], head[-1]), cut, (2,), is_whole=True)
        return
    yield render_table(head, cells, (2, 3, 5), is_whole=True)
    notes = [WAY_NOTE]
    if has_low_ceilings(table):
        notes.append(LOW_CEILING_NOTE)
    yield make_element("p", " ".join(map(format_sentence, notes)), class_="quiet note")


def _list_category_cells(name: str, row: Row) -> tuple[str, ...]:
    bounds = row.bounds
    return (
        name,
        format_points(row.total, digits=0),
        NO_DATA if bounds is None else format_score(bounds.floor),
        NO_DATA if bounds is None else format_ceiling(bounds),
        NO_DATA if bounds is None else describe_place(bounds),
        format_count(row.total),
    )


def render_figures(figures: Sequence[ProtocolFigure], names: Sequence[str]) -> Iterator[Markup]:
    """Every figure of a dataset's protocol on its own scale, by the dataset's categories."""
    rows = [
        (
            format_slug(name),
            *(format_own_scale(each.categories.get(name)) for each in figures),
        )
        for name in names
    ]
    rows.append(("All categories", *(format_own_scale(each.mean) for each in figures)))
    head = ("category", *(each.name for each in figures))
    yield make_element("h3", "Figures of the protocol")
    yield make_element(
        "p", "On their own scale, from 0 to 1, with 95 % intervals.", class_="quiet note"
    )
    yield render_table(head, rows, is_whole=True)


def render_failures(found: Attribution) -> Iterator[Markup]:
    """The misses, the leaves with examples, and the notes."""
    share = (
        f" ({format_number(100 * found.misses / found.answered, 1)} %)" if found.answered else ""
    )
    yield make_element(
        "p",
        f"{found.misses:,} of {found.answered:,} trials with an outcome are misses{share}. Each is "
        "attributed to one cause, by rules and without a model.",
        class_="lead",
    )
    leaves = sorted((leaf for leaf in found.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    if leaves:
        most = leaves[0].trials
        yield make_element(
            "ul", *(_render_leaf(leaf, found.misses, most) for leaf in leaves), class_="tree"
        )
    for note in found.notes:
        yield make_element("p", format_sentence(note), class_="missing")


def make_trial_opener(trial: Trial) -> Markup:
    """A button that opens one trial."""
    return make_element(
        "button",
        f"{trial.item} at {trial.checkpoint}",
        type="button",
        class_="opener",
        data_persona=trial.scenario,
        data_question=trial.item,
        data_checkpoint=trial.checkpoint,
        data_repeat=str(trial.repeat),
    )


def _render_leaf(leaf: LeafCount, misses: int, most: int) -> Markup:
    examples = map(make_trial_opener, leaf.examples)
    return make_element(
        "li",
        make_element(
            "button",
            LEAF_TITLES[leaf.leaf],
            type="button",
            class_="leaf-name",
            data_leaf=leaf.leaf.value,
        ),
        make_element(
            "span",
            make_element("i", style=f"width:{100 * leaf.trials / most:.2f}%"),
            class_="leaf-bar",
            aria_hidden="true",
        ),
        make_element(
            "span",
            make_element("b", f"{format_number(100 * leaf.trials / misses, 1)} %"),
            f" {leaf.trials:,} trials · {leaf.questions:,} questions"
            + (f" · {leaf.points_lost:,} {MARKS_LOST}" if leaf.points_lost else ""),
            class_="leaf-count",
        ),
        make_element("p", LEAF_MEANINGS[leaf.leaf], " Such as ", *examples, class_="leaf-text"),
    )


_PERCENT_UNIT = " percentage points"


def render_hallucination(views: HallucinationViews) -> Iterator[Markup]:
    """The pattern, the trend with its predictions, and a table of personas."""
    course = views.overall
    yield make_element(
        "p",
        _render_pattern(course),
        " ",
        format_sentence(course.reason),
        class_="lead",
    )
    for what, line in (("invented", course.inventions), ("leaked", course.leaks)):
        if line is not None:
            change = format_slope(line.slope, scale=100, digits=2, unit=_PERCENT_UNIT)
            ahead = format_sentence(describe_forecasts(line))
            yield make_element(
                "p", f"Over corpus size, the share of answers {what} changes by {change}. {ahead}"
            )
    yield make_element("p", format_sentence(INVENTION_NOTE), class_="quiet")
    if views.personas:
        head = ("persona", "invented", "leaked", "pattern of inventions")
        yield render_table(head, [_list_persona_cells(each) for each in views.personas])


def _render_pattern(course: RateCourse) -> Markup:
    """The pattern of inventions; in no colour where leaks rise, which it does not tell."""
    name = course.pattern.value
    colour = "" if course.leaks is not None and is_rising(course.leaks) else f" pattern-{name}"
    return make_element("span", f"inventions: {name}", class_=f"tag{colour}")


def render_degradation(found: Degradation) -> Iterator[Markup]:
    """The mixed view, the fixed view, and the survival of facts."""
    yield make_element(
        "p",
        f"Mixed view: {format_score_trend(found.mixed_trend)}. Its questions change from one "
        f"checkpoint "
        "to the next, so what looks like forgetting may be harder questions.",
    )
    card = found.cohort
    if card is not None:
        yield make_element(
            "p",
            f"Fixed view: {format_score_trend(found.fixed_trend)}, for the same {card.questions:,} "
            f"questions to {format_quantity(card.personas, 'persona')} at each of "
            f"{card.checkpoints} checkpoints from {card.first} to {card.last}; {card.left_out:,} "
            "others were asked at some of these only, and are left out.",
        )
    if found.reason is not None:
        yield make_element("p", format_sentence(found.reason), class_="missing")
    if found.survivals:
        head = ("facts, once known", "facts", "lost", "half-life in days")
        yield render_table(
            head, [_list_survival_cells(each) for each in found.survivals], numbers=(1, 2)
        )
        yield make_element(
            "p",
            f"A fact is lost at the first of {found.failures} wrong answers in a row. "
            f"{found.never_known:,} were never known and cannot be lost; {found.unfollowed:,} were "
            "asked too seldom after they were known to be followed.",
            class_="quiet",
        )
    for note in found.notes:
        yield make_element("p", format_sentence(note), class_="quiet")


def render_costs(
    costs: RunCosts, paretos: tuple[Pareto, ...], unit: str = PERSONA
) -> Iterator[Markup]:
    """The costs of the whole run, and what is not known."""
    if costs.measures:
        pairs = (
            make_element(
                "div",
                make_element("dt", _format_slug(measure)),
                make_element("dd", format_cost(measure, cost)),
            )
            for measure, cost in costs.measures.items()
        )
        yield make_element("dl", *pairs, class_="facts measures")
    for note in costs.notes:
        yield make_element("p", format_sentence(note), class_="missing")
    if paretos:
        personas = paretos[0].contenders[0].score.personas
        yield make_element("p", describe_population(personas, unit))
    for pareto in paretos:
        if pareto.unknown:
            names = ", ".join(pareto.unknown)
            yield make_element(
                "p",
                f"By {_format_slug(pareto.measure)} nothing is known of {names}.",
                class_="missing",
            )
    if not paretos:
        yield make_element(
            "p",
            "No other run is compared with this one (--beside), so there is no frontier "
            "of score and cost.",
            class_="missing",
        )


def render_canaries(watch: CanaryWatch) -> Iterator[Markup]:
    """The rule, and a table of canaries."""
    yield make_element("p", format_sentence(watch.rule))
    if not watch.watched:
        yield make_element("p", "There is none.", class_="missing")
        return
    head = ("", "question", "here", "in all")
    yield render_table(head, [_list_canary_cells(each) for each in watch.watched])


def _list_persona_cells(course: RateCourse) -> tuple[str, ...]:
    rates = format_share(course.invention), format_share(course.leak)
    return (course.name or "all", *rates, course.pattern.value)


def _list_survival_cells(each: GroupSurvival) -> tuple[str, ...]:
    name = "all" if each.by is SurvivalGroup.ALL else f"{each.by.value}: {each.name}"
    found = each.survival
    return (name, f"{found.facts:,}", f"{found.lost:,}", format_half_life(found.half_life))


def _list_canary_cells(each: WatchedCanary) -> tuple[str, ...]:
    canary = each.canary
    change = "Not asked" if each.change is CanaryChange.UNASKED else each.change.capitalize()
    opener = make_element(
        "button",
        canary.text,
        type="button",
        class_="opener",
        data_persona=canary.persona,
        data_question=canary.question,
    )
    name = make_element("small", f"{canary.persona} · {canary.question} · {canary.category}")
    return (
        make_element("span", change, class_=f"tag change-{each.change.value}"),
        join_markup(opener, make_element("br"), name),
        f"{each.hallucinated} of {each.asked}",
        f"{canary.hallucinated} of {canary.asked}",
    )


def _format_slug(name: str) -> str:
    return name.replace("-", " ")


def render_tool_loop(found: ToolLoopReport) -> Iterator[Markup]:
    """Faults of the memory, how far each fact came, and the calls of the agent."""
    checks = found.memory
    notes = (
        f"The agent saved {checks.saved:,} notes, updated {checks.updated:,} and deleted "
        f"{checks.deleted:,}; searches returned {checks.notes_returned:,}."
    )
    yield make_element("p", notes, class_="lead")
    for fault in found.faults:
        yield make_element("p", format_sentence(fault), class_="missing")
    if checks.unmatched:
        note = format_sentence(describe_unmatched(checks.unmatched))
        yield make_element("p", note, class_="quiet note")
    stages: list[tuple[str, ...]] = [
        (
            format_slug(each.stage),
            f"{each.right + each.wrong:,}",
            f"{each.right:,}",
            f"{each.wrong:,}",
            STAGE_MEANINGS[each.stage],
        )
        for each in found.stages
        if each.right + each.wrong
    ]
    head = ("the fact was", "trials", "right", "wrong", "")
    yield render_table(head, stages, (1, 2, 3), is_whole=True)
    tools: list[tuple[str, ...]] = [
        (each.tool, each.role or "", f"{each.on_days:,}", f"{each.on_questions:,}")
        for each in found.tools
    ]
    yield render_table(("tool", "role", "on days", "on questions"), tools, (2, 3))
    for name, counts in (("Days", found.days), ("Questions", found.questions)):
        yield make_element("p", f"{name}: {describe_sessions(counts)}.", class_="quiet note")


def render_table(
    head: tuple[str, ...],
    rows: list[tuple[str, ...]],
    numbers: tuple[int, ...] = (),
    *,
    is_whole: bool = False,
) -> Markup:
    """A table; a long one scrolls within its frame unless it is to be shown whole."""
    kinds = ["number" if place in numbers else None for place in range(len(head))]
    titles = (
        make_element("th", name, class_=kind, scope="col")
        for name, kind in zip(head, kinds, strict=True)
    )
    lines = (
        make_element(
            "tr",
            *(make_element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)),
        )
        for row in rows
    )
    table = make_element(
        "table",
        make_element("thead", make_element("tr", *titles)),
        make_element("tbody", *lines),
        class_="plain",
    )
    return make_element(
        "div",
        table,
        class_="scrolls whole" if is_whole else "scrolls tall",
        tabindex="0",
        role="region",
        aria_label=head[0] or "canaries",
    )
