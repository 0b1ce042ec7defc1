"""What each section says in words, before its charts show it."""

from collections.abc import Iterator

from recall_bench.analysis.canaries.views import CanaryWatch, Change, Watched
from recall_bench.analysis.costs.views import Costs, Pareto
from recall_bench.analysis.costs.words import in_words
from recall_bench.analysis.degradation.views import By, Degradation, Survived
from recall_bench.analysis.hallucination.views import Course, HallucinationViews
from recall_bench.analysis.report.figures import half_life, prediction, share, slope
from recall_bench.analysis.report.hallucination_text import leak_note
from recall_bench.pages.markup import Markup, element, joined, sentence
from recall_bench.statistics.trend import Trend

_PERCENT = " percentage points"
_CHANGES = {
    Change.NEW: "New",
    Change.STILL: "Still",
    Change.HEALED: "Healed",
    Change.UNCLEAR: "Unclear",
    Change.UNASKED: "Not asked",
    Change.CHANGED: "Changed",
}


def hallucination_words(views: HallucinationViews) -> Iterator[Markup]:
    """The pattern, the trend with what it predicts, and each persona in a line."""
    course = views.overall
    yield element(
        "p",
        element("span", course.pattern.value, class_=f"tag pattern-{course.pattern.value}"),
        " ",
        sentence(course.reason),
        class_="lead",
    )
    line = course.hallucination
    if line is not None:
        ahead = "; ".join(
            prediction(each, scale=100, digits=1, unit=" %")
            for each in line.predictions
            if each.is_beyond
        )
        change = slope(line.slope, scale=100, digits=2, unit=_PERCENT)
        yield element(
            "p",
            f"Over corpus size the rate changes by {change}. "
            f"The line says {ahead}. Nothing was measured beyond {line.last_day:,.0f} days.",
        )
    if (note := leak_note(views)) is not None:
        yield element("p", sentence(note), class_="quiet")
    if views.personas:
        head = ("persona", "made up", "change", "pattern")
        yield _table(head, [_persona(each) for each in views.personas])


def degradation_words(found: Degradation) -> Iterator[Markup]:
    """The mixed view against the fixed one, and how long facts stay known."""
    yield element(
        "p",
        f"Mixed view: {_trend(found.mixed_trend)}. Its questions change from one checkpoint to the "
        "next, so what looks like forgetting may be harder questions.",
    )
    card = found.cohort
    if card is not None:
        yield element(
            "p",
            f"Fixed view: {_trend(found.fixed_trend)}, for the same {card.questions:,} questions "
            f"to {card.personas:,} persona{'' if card.personas == 1 else 's'} at each of "
            f"{card.checkpoints} checkpoints from {card.first} to {card.last}; {card.left_out:,} "
            "others were asked at some of these only, and are left out.",
        )
    if found.reason is not None:
        yield element("p", sentence(found.reason), class_="missing")
    if found.survivals:
        head = ("facts, once known", "facts", "lost", "half-life in days")
        yield _table(head, [_survived(each) for each in found.survivals], numbers=(1, 2))
        yield element(
            "p",
            f"A fact is lost at the first of {found.failures} wrong answers in a row. "
            f"{found.never_known:,} were never known and cannot be lost; {found.unfollowed:,} were "
            "asked too seldom after they were known to be followed.",
            class_="quiet",
        )
    for note in found.notes:
        yield element("p", sentence(note), class_="quiet")


def cost_words(costs: Costs, paretos: tuple[Pareto, ...]) -> Iterator[Markup]:
    """The whole run by each measure, and what is not known."""
    if costs.measures:
        pairs = (
            element("div", element("dt", _spelled(measure)), element("dd", in_words(measure, cost)))
            for measure, cost in costs.measures.items()
        )
        yield element("dl", *pairs, class_="facts measures")
    for note in costs.notes:
        yield element("p", sentence(note), class_="missing")
    for pareto in paretos:
        if pareto.unknown:
            names = ", ".join(pareto.unknown)
            yield element(
                "p", f"By {_spelled(pareto.measure)} nothing is known of {names}.", class_="missing"
            )
    if not paretos:
        yield element(
            "p",
            "No other run is named beside this one, so there is no frontier of score against cost.",
            class_="missing",
        )


def canary_words(watch: CanaryWatch) -> Iterator[Markup]:
    """The rule, and every canary with what became of it."""
    yield element("p", sentence(watch.rule))
    if not watch.watched:
        yield element("p", "There is none.", class_="missing")
        return
    head = ("", "question", "here", "in all")
    yield _table(head, [_canary(each) for each in watch.watched])


def _persona(course: Course) -> tuple[str, ...]:
    line = course.hallucination
    change = "" if line is None else slope(line.slope, scale=100, digits=2, unit="")
    return (course.name or "all", share(course.rate), change, course.pattern.value)


def _survived(each: Survived) -> tuple[str, ...]:
    name = "all" if each.by is By.ALL else f"{each.by.value}: {each.name}"
    found = each.survival
    return (name, f"{found.facts:,}", f"{found.lost:,}", half_life(found.half_life))


def _trend(line: Trend | None) -> str:
    if line is None:
        return "no trend, for there is one corpus size"
    return slope(line.slope, scale=1, digits=2, unit=" points of 6")


def _canary(each: Watched) -> tuple[str, ...]:
    canary = each.canary
    change = _CHANGES[each.change]
    opener = element(
        "button",
        canary.text,
        type="button",
        class_="opener",
        data_persona=canary.persona,
        data_question=canary.question,
    )
    name = element("small", f"{canary.persona} · {canary.question} · {canary.category}")
    return (
        element("span", change, class_=f"tag change-{each.change.value}"),
        joined(opener, element("br"), name),
        f"{each.hallucinated} of {each.asked}",
        f"{canary.hallucinated} of {canary.asked}",
    )


def _spelled(name: str) -> str:
    return name.replace("-", " ")


def _table(
    head: tuple[str, ...], rows: list[tuple[str, ...]], numbers: tuple[int, ...] = ()
) -> Markup:
    kinds = ["number" if place in numbers else None for place in range(len(head))]
    titles = (
        element("th", name, class_=kind, scope="col")
        for name, kind in zip(head, kinds, strict=True)
    )
    lines = (
        element(
            "tr",
            *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)),
        )
        for row in rows
    )
    table = element(
        "table", element("thead", element("tr", *titles)), element("tbody", *lines), class_="plain"
    )
    return element(
        "div",
        table,
        class_="scrolls tall",
        tabindex="0",
        role="region",
        aria_label=head[0] or "canaries",
    )
