"""Whether a correction can be told: two beliefs, in order, and the second one kept back.

Whoever writes the days is shown titles and descriptions from an arc's first day on, so what stands
there is out from that day.
"""

from collections.abc import Iterator

from recall_bench.datasets.story import Arc, Story
from recall_bench.lint.atoms import NUMBER, TextValue, find_claims, remove_values
from recall_bench.lint.words import collect_topics, normalise_text, split_words

_NEEDED = ("wrongDay", "correctedDay", "wrongBelief", "correctedBelief")


def check_corrections(story: Story) -> Iterator[str]:
    """What is wrong with the corrections, and with other arcs that give them away."""
    for arc in story.arcs:
        if arc.type == "correction":
            yield from _check_course(arc)
            yield from _check_own_leaks(arc)
            yield from _check_other_leaks(arc, story)


def _check_course(arc: Arc) -> Iterator[str]:
    values = (arc.wrong_day, arc.corrected_day, arc.wrong_belief, arc.corrected_belief)
    for key, value in zip(_NEEDED, values, strict=True):
        if value is None:
            yield f"arc {arc.id} is a correction and has no {key}; add it"
    wrong, right = arc.wrong_day, arc.corrected_day
    if (
        wrong is not None
        and right is not None
        and not arc.start_day <= wrong < right <= arc.end_day
    ):
        yield (
            f"arc {arc.id}: startDay {arc.start_day} ≤ wrongDay {wrong} < correctedDay {right} ≤ "
            f"endDay {arc.end_day} does not hold; correct the days"
        )
    beliefs = [
        split_words(normalise_text(each))
        for each in (arc.wrong_belief, arc.corrected_belief)
        if each
    ]
    if len(beliefs) == 2 and beliefs[0] == beliefs[1]:
        yield f"arc {arc.id}: wrongBelief and correctedBelief say the same; let them differ"


def _check_own_leaks(arc: Arc) -> Iterator[str]:
    if not arc.corrected_belief:
        return
    for place, text in (
        ("title", arc.title),
        ("description", arc.description),
        *_list_early_texts(arc, arc),
    ):
        told = _find_giveaway(arc, text)
        if told is not None:
            yield (
                f"arc {arc.id}: its {place} gives away {told}, which nobody knows before day "
                f"{arc.corrected_day}; take it out there"
            )


def _check_other_leaks(arc: Arc, story: Story) -> Iterator[str]:
    """Values of the corrected belief that another arc tells of the same matter before their day."""
    about = _find_common_topics(arc)
    for other in story.arcs:
        if other.id == arc.id or arc.corrected_day is None or other.start_day >= arc.corrected_day:
            continue
        texts = (("title", other.title), ("description", other.description))
        for place, text in (*texts, *_list_early_texts(other, arc)):
            told = (
                next(iter(_find_corrected_values(arc, text)), None)
                if about & collect_topics(text)
                else None
            )
            if told is not None:
                yield (
                    f"arc {other.id}: its {place} tells {told.shown}, which {arc.id} brings on "
                    f"day {arc.corrected_day}; take it out there, or start the arc later"
                )


def _list_early_texts(arc: Arc, correction: Arc) -> Iterator[tuple[str, str]]:
    """What happens in an arc before the correction is known."""
    for directive in arc.directives:
        if correction.corrected_day is not None and directive.day < correction.corrected_day:
            yield f"directive on day {directive.day}", directive.event


def _find_giveaway(arc: Arc, text: str) -> str | None:
    """What of the corrected belief a text tells: a value, or all of it word for word."""
    told = next(iter(_find_corrected_values(arc, text)), None)
    if told is not None:
        return told.shown
    belief = " ".join(split_words(normalise_text(arc.corrected_belief or "")))
    return (
        "the corrected belief"
        if f" {belief} " in f" {' '.join(split_words(normalise_text(text)))} "
        else None
    )


def _find_corrected_values(arc: Arc, text: str) -> list[TextValue]:
    """The exact values of a text that the corrected belief has and the wrong one has not."""
    known = {_make_value_key(atom) for atom in find_claims(arc.wrong_belief or "")}
    new = {
        _make_value_key(atom) for atom in find_claims(arc.corrected_belief or "") if atom.is_exact
    } - known
    return [atom for atom in find_claims(text) if _make_value_key(atom) in new]


def _make_value_key(atom: TextValue) -> tuple[str, str]:
    """What two spellings of an atom share. A number without its unit would fit too much."""
    return atom.kind, atom.value if atom.kind == NUMBER else atom.core


def _find_common_topics(arc: Arc) -> frozenset[str]:
    """What both beliefs speak of, or else either and the title."""
    wrong, right = (
        collect_topics(remove_values(belief or ""))
        for belief in (arc.wrong_belief, arc.corrected_belief)
    )
    return wrong & right or (wrong | right) & collect_topics(arc.title)
