"""The failure tree: every leaf that holds a miss, how much it costs, and cases to look at."""

from collections.abc import Iterator

from recall_bench.analysis.attribution.views import Attribution, LeafCount
from recall_bench.analysis.attribution.words import LEAF_MEANINGS, LEAF_TITLES
from recall_bench.pages.markup import Markup, format_sentence, make_element


def render_failures(found: Attribution) -> Iterator[Markup]:
    """Misses in all, the tree, and what could not be told apart."""
    share = f" ({100 * found.misses / found.answered:.1f} %)" if found.answered else ""
    yield make_element(
        "p",
        f"{found.misses:,} of {found.answered:,} trials with an outcome are misses{share}. Each is "
        "put down to one cause, by rules and without a model.",
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


def _render_leaf(leaf: LeafCount, misses: int, most: int) -> Markup:
    examples = (
        make_element(
            "button",
            f"{trial.item} at {trial.checkpoint}",
            type="button",
            class_="opener",
            data_persona=trial.scenario,
            data_question=trial.item,
            data_checkpoint=trial.checkpoint,
            data_repeat=str(trial.repeat),
        )
        for trial in leaf.examples
    )
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
            make_element("b", f"{100 * leaf.trials / misses:.1f} %"),
            f" {leaf.trials:,} trials · {leaf.questions:,} questions · "
            f"{leaf.points_lost:,} points lost",
            class_="leaf-count",
        ),
        make_element("p", LEAF_MEANINGS[leaf.leaf], " Such as ", *examples, class_="leaf-text"),
    )
