"""The section of the page about several judges, and the headline that labels correct."""

from collections.abc import Iterator

from recall_bench.engine.runs.judge_sensitivity import JudgeSensitivity, SplitTrial
from recall_bench.reporting.corrected_headline import CorrectedHeadline
from recall_bench.reporting.formats import format_number, format_sentence, format_slug
from recall_bench.reporting.judge_text import (
    JUDGE_HEADS,
    JUDGES_NOTE,
    PAIR_HEADS,
    SPLITS_FILE,
    describe_splits,
    format_range,
    list_category_cells,
    list_category_heads,
    list_corrected_rows,
    list_judge_cells,
    list_pair_cells,
    list_split_cells,
    list_split_heads,
)
from recall_bench.reporting.pages.markup import Markup, make_element
from recall_bench.reporting.pages.page_sections import make_trial_opener, render_table


def describe_judge_range(found: JudgeSensitivity | None) -> str:
    """The range of the score over the judges, in a few words; empty for one judge."""
    if found is None:
        return ""
    return f"{format_range(found)} over {len(found.judges)} judges"


def render_judges(found: JudgeSensitivity) -> Iterator[Markup]:
    """Every judge, every two of them, the categories, and every answer they split on."""
    yield make_element(
        "p",
        f"{format_range(found)} of 100 over {len(found.judges)} judges; "
        f"{describe_splits(found)}. {JUDGES_NOTE}",
        class_="lead",
    )
    judges = [list_judge_cells(place, judge) for place, judge in enumerate(found.judges)]
    yield render_table(("", *JUDGE_HEADS[1:]), judges, (3, 4), is_whole=True)
    yield make_element("h3", "Agreement of two judges")
    pairs = [list_pair_cells(found, pair) for pair in found.pairs]
    yield render_table(PAIR_HEADS, pairs, (1, 4, 5, 6), is_whole=True)
    yield make_element("h3", "By category")
    heads = list_category_heads(found)
    rows = [
        (format_slug(cells[0]), *cells[1:]) for cells in map(list_category_cells, found.categories)
    ]
    yield render_table(heads, rows, tuple(range(1, len(heads))), is_whole=True)
    if found.splits:
        yield make_element("h3", "Answers they split on")
        yield render_table(list_split_heads(found), [_list_split(each) for each in found.splits])
        yield make_element(
            "p",
            f"The widest first. {SPLITS_FILE} beside this page has each with the words of every "
            "judge; so has the page of the answer.",
            class_="quiet note",
        )


def _list_split(split: SplitTrial) -> tuple[str, ...]:
    trial = split.trial
    opener = make_trial_opener(trial)
    _, category, points = list_split_cells(split)
    return (opener, format_slug(category), points)


def render_corrected(found: CorrectedHeadline | None) -> tuple[Markup, ...]:
    """The corrected share of right answers as the first headline; nothing where there is none."""
    if found is None or found.right is None:
        return ()
    right = found.right
    low, high = right.interval
    ends = f"{format_number(100 * low, 0)} to {format_number(100 * high, 0)} at 95 %"
    others = [f"by {name} {words}" for name, words in list_corrected_rows(found.judges)[1:]]
    notes = [format_sentence(each) for each in (*others, *found.cautions)]
    return (
        make_element(
            "div",
            make_element("h2", "Right, corrected"),
            make_element(
                "p",
                format_number(100 * right.corrected, 0),
                make_element("small", " % of answers"),
                class_="figure",
            ),
            make_element(
                "div",
                make_element("i", style=f"left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"),
                make_element("b", style=f"left:{100 * right.corrected:.2f}%"),
                class_="interval",
                aria_hidden="true",
            ),
            make_element(
                "p", f"{format_number(100 * right.observed, 0)} % as judged", class_="basis way"
            ),
            make_element(
                "p", make_element("b", ends), f" · corrected by {found.source}", class_="basis"
            ),
            make_element("p", " ".join(notes), class_="basis quiet"),
            class_="headline",
        ),
    )
