"""Where misses come from: every miss is attributed to one leaf, by the first rule that applies.

What happened first is the cause. A day that was never written, not found or cut off explains a
wrong answer or a refusal. It does not explain a leak, a fabrication or a value of another persona,
so these rules come before it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Expects, order_categories
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import FULL_MARKS, PASS, Finding
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.reporting.formats import format_number, format_slug


class FailureLeaf(StrEnum):
    """The one cause that a miss is attributed to; `LEAF_MEANINGS` says what each means."""

    NEVER_WRITTEN = "never-written"
    NOT_RETRIEVED = "not-retrieved"
    CUT = "cut-by-budget"
    MISREAD = "misread"
    STALE = "stale"
    WRONG_PLACE = "wrong-session-or-person"
    FABRICATED = "fabricated"
    REFUSED = "refused-though-known"
    LEAKED = "leaked"
    INFRASTRUCTURE = "infrastructure"
    UNTRACED = "not-traced"


class LeafCount(Record, frozen=True, kw_only=True):
    """The misses of one leaf."""

    leaf: FailureLeaf
    trials: int
    questions: int
    points_lost: int
    """Points these trials lost; none for trials that a protocol scores."""
    examples: tuple[Trial, ...]
    """At most three, of different questions."""


class Attribution(Record, frozen=True, kw_only=True):
    """Every miss of a run in its leaf."""

    answered: int
    """Trials that have an outcome, right or wrong."""
    misses: int
    """Questions not answered, and answers with a mark below its pass."""
    undecided: int = 0
    """Trials without an outcome, which are no misses: not asked yet, or not judged."""
    leaves: tuple[LeafCount, ...]
    """Every leaf in order, empty ones too."""
    categories: dict[str, dict[FailureLeaf, int]]
    """Every category with an outcome, every leaf in it."""
    checkpoints: dict[str, dict[FailureLeaf, int]]
    """The same by checkpoint."""
    notes: tuple[str, ...]
    """Which causes could not be distinguished, and what would help."""


LEAF_TITLES: Final[Mapping[FailureLeaf, str]] = {
    leaf: "Cut by the budget" if leaf is FailureLeaf.CUT else format_slug(leaf)
    for leaf in FailureLeaf
}

LEAF_MEANINGS: Final[Mapping[FailureLeaf, str]] = {
    FailureLeaf.NEVER_WRITTEN: "The day with the answer was not stored, or is not held any more.",
    FailureLeaf.NOT_RETRIEVED: (
        "The passage that tells it was not delivered, though its day is stored, as far as the "
        "system says."
    ),
    FailureLeaf.CUT: "A passage of that day was returned, and cut off by the budget.",
    FailureLeaf.MISREAD: (
        "The passage that tells it was delivered, or none was needed to decline, and the answer is "
        "wrong all the same."
    ),
    FailureLeaf.STALE: "A superseded value is given as current.",
    FailureLeaf.WRONG_PLACE: "The value belongs to another session, person or persona.",
    FailureLeaf.FABRICATED: "Something that is not in the history is stated as a fact.",
    FailureLeaf.REFUSED: (
        "The passage that tells it was delivered, and the answer says that there is nothing, or "
        "refuses what it may tell."
    ),
    FailureLeaf.LEAKED: "A secret is disclosed to someone who must not know it.",
    FailureLeaf.INFRASTRUCTURE: "There is no answer to judge: the system failed or was too slow.",
    FailureLeaf.UNTRACED: (
        "Wrong for unknown reasons: what the system found, or what there was to find, is not known."
    ),
}


def is_miss(row: TrialRow) -> bool | None:
    """Whether a trial went wrong; None while it has no outcome.

    A question not answered is a miss, and so is an answer with a mark below its pass, or with a
    score of a protocol below 1. A leak is a miss whatever its marks.
    """
    status = row.status
    match status.state:
        case TrialState.NOT_ANSWERED:
            return True
        case TrialState.JUDGED:
            return bool(row.leaked) or not (
                status.correctness >= PASS["correctness"]
                and status.completeness >= PASS["completeness"]
                and status.grounded >= PASS["grounded"]
            )
        case TrialState.MEASURED if row.score is not None:
            return bool(row.leaked) or row.score < 1.0
        case _:
            return None


@dataclass(frozen=True, slots=True)
class CauseRule:
    """When a miss belongs to a leaf."""

    leaf: FailureLeaf
    applies: Callable[[TrialRow], bool]


_RETRIEVAL_LEAVES = frozenset(
    {FailureLeaf.INFRASTRUCTURE, FailureLeaf.NEVER_WRITTEN, FailureLeaf.CUT}
)
"""Why something was not found; what was answered is not looked at."""


def find_leaf(row: TrialRow, *, is_retrieval: bool = False) -> FailureLeaf:
    """The leaf of a miss; every miss has one. In retrieval, answers are not looked at."""
    for rule in CAUSE_RULES:
        if rule.applies(row) and (not is_retrieval or rule.leaf in _RETRIEVAL_LEAVES):
            return rule.leaf
    return FailureLeaf.NOT_RETRIEVED if is_retrieval else FailureLeaf.UNTRACED


def _has(row: TrialRow, finding: Finding) -> bool:
    return row.findings is not None and finding in row.findings


def _is_fabrication(row: TrialRow) -> bool:
    """By the mark; without marks, an answer to a question that has none is a fabrication."""
    if row.is_hallucination or _has(row, Finding.FABRICATION):
        return True
    expects_nothing = row.item.truth.expects is Expects.ABSTAIN
    return row.state is TrialState.MEASURED and expects_nothing and not _is_refusal(row)


def _is_refusal(row: TrialRow) -> bool:
    return row.is_silent or bool(row.is_refusal)


CAUSE_RULES = (
    CauseRule(FailureLeaf.LEAKED, lambda row: bool(row.leaked)),
    CauseRule(FailureLeaf.INFRASTRUCTURE, lambda row: row.state is TrialState.NOT_ANSWERED),
    # It is in the history of another persona of the run, and not in this one's.
    CauseRule(FailureLeaf.WRONG_PLACE, lambda row: row.tells_other_people and _is_fabrication(row)),
    # The question has no answer for this person, and the value is another person's.
    CauseRule(
        FailureLeaf.WRONG_PLACE,
        lambda row: row.tells_others and row.item.truth.expects is Expects.ABSTAIN,
    ),
    CauseRule(FailureLeaf.FABRICATED, _is_fabrication),
    CauseRule(FailureLeaf.NEVER_WRITTEN, lambda row: bool(row.evidence_lost)),
    CauseRule(FailureLeaf.CUT, lambda row: bool(row.evidence_cut)),
    CauseRule(FailureLeaf.STALE, lambda row: row.tells_stale or _has(row, Finding.STALE)),
    CauseRule(FailureLeaf.WRONG_PLACE, lambda row: row.tells_others),
    # A system that refuses to tell need not have searched.
    CauseRule(
        FailureLeaf.REFUSED, lambda row: row.item.truth.is_answerable and _has(row, Finding.REFUSAL)
    ),
    CauseRule(FailureLeaf.NOT_RETRIEVED, lambda row: bool(row.evidence_missing)),
    CauseRule(
        FailureLeaf.REFUSED,
        lambda row: row.item.truth.is_answerable and row.evidence_missing == 0 and _is_refusal(row),
    ),
    CauseRule(
        FailureLeaf.MISREAD,
        lambda row: row.evidence_missing == 0 or not row.item.truth.is_answerable,
    ),
    CauseRule(FailureLeaf.UNTRACED, lambda _: True),
)
"""In the order in which they apply."""


def describe_doubts(
    misses: Mapping[FailureLeaf, Sequence[TrialRow]], *, is_retrieval: bool = False
) -> Iterator[str]:
    """One sentence for each doubt that concerns a miss, with the number of misses."""
    for doubt in DOUBTS:
        if is_retrieval and FailureLeaf.FABRICATED in doubt.leaves:
            continue
        count = sum(doubt.concerns(row) for leaf in doubt.leaves for row in misses.get(leaf, ()))
        if count:
            yield f"{format_quantity(count, 'miss', 'misses')} {doubt.text}."


@dataclass(frozen=True, slots=True)
class AttributionDoubt:
    """A doubt about the attribution of some misses."""

    leaves: tuple[FailureLeaf, ...]
    concerns: Callable[[TrialRow], bool]
    text: str


DOUBTS = (
    AttributionDoubt(
        (FailureLeaf.NOT_RETRIEVED,),
        lambda row: row.evidence_lost is None,
        text="attributed to retrieval may as well be days never stored: the system does not say "
        "what it holds (a Python adapter says it by stored_days)",
    ),
    AttributionDoubt(
        (FailureLeaf.NOT_RETRIEVED,),
        lambda row: row.delivery is not None and row.delivery.traced < row.delivery.kept,
        text="attributed to retrieval had passages that could not be traced to a day, and the right"
        " one may be among them",
    ),
    AttributionDoubt(
        (FailureLeaf.NEVER_WRITTEN, FailureLeaf.NOT_RETRIEVED, FailureLeaf.CUT),
        lambda row: 0 < (row.evidence_missing or 0) < row.evidence_days,
        text="lacked some of the days that tell the answer, and had others",
    ),
    AttributionDoubt(
        (FailureLeaf.CUT,),
        lambda row: row.reading_s is None,
        text="attributed to the budget had answers that the system wrote itself, and it may have "
        "read more than was kept",
    ),
    AttributionDoubt(
        (FailureLeaf.MISREAD, FailureLeaf.REFUSED),
        lambda row: row.evidence_missing == 0 and not row.is_evidence_exact,
        text="go by the day: a passage of the right day was delivered, but whether it holds the "
        "sentence that answers is not known",
    ),
    AttributionDoubt(
        (FailureLeaf.MISREAD,),
        lambda row: row.findings is None,
        text="counted as misread may be refusals: the judge reports no findings",
    ),
    AttributionDoubt(
        tuple(FailureLeaf),
        lambda row: row.state is TrialState.MEASURED,
        text="have a score and no grounding mark, so a fabrication is noticed only where there was"
        " no answer",
    ),
    AttributionDoubt(
        (FailureLeaf.UNTRACED,),
        lambda row: not row.item.truth.evidence,
        text="could not be traced: their questions name no evidence",
    ),
    AttributionDoubt(
        (FailureLeaf.UNTRACED,),
        lambda row: bool(row.item.truth.evidence),
        text="could not be traced: the system returns no passages, or their source is unknown",
    ),
)
"""In the order in which they are listed."""


_COMMONEST = 3
"""The leaves that `describe_misses` names."""


def describe_misses(causes: Attribution) -> str:
    """How many trials missed, and the commonest causes with their shares."""
    leaves = sorted((leaf for leaf in causes.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    shares = {LEAF_TITLES[leaf.leaf].lower(): leaf.trials for leaf in leaves[:_COMMONEST]}
    misread, note = LEAF_TITLES[FailureLeaf.MISREAD].lower(), ""
    if misread in shares:
        note = f" ({misread}: no evidence was missing, the answer was wrong)"
    if rest := causes.misses - sum(shares.values()):
        shares["other"] = rest
    words = [f"{name} {format_number(100 * n / causes.misses, 0)} %" for name, n in shares.items()]
    words_after = f": {', '.join(words)}{note}" if words else ""
    return f"{causes.misses:,} of {format_quantity(causes.answered, 'trial')}{words_after}"


MAX_EXAMPLES = 3
"""Examples of a leaf, each of another question."""


def _is_about_retrieval(table: TrialTable) -> bool:
    return table.scale is not None and table.scale.is_retrieval


def find_leaves(table: TrialTable) -> dict[Trial, FailureLeaf]:
    """The leaf of every miss, in the order of the table."""
    is_retrieval = _is_about_retrieval(table)
    return {
        row.trial: find_leaf(row, is_retrieval=is_retrieval) for row in table.rows if is_miss(row)
    }


def count_causes(table: TrialTable) -> Attribution:
    """Count the misses of each leaf; trials without an outcome are counted apart."""
    is_retrieval, scale = _is_about_retrieval(table), table.scale
    outcomes = [(row, missed) for row in table.rows if (missed := is_miss(row)) is not None]
    by_leaf: dict[FailureLeaf, list[TrialRow]] = {leaf: [] for leaf in FailureLeaf}
    by_category: Counter[tuple[str, FailureLeaf]] = Counter()
    by_checkpoint: Counter[tuple[str, FailureLeaf]] = Counter()
    for row, missed in outcomes:
        if missed:
            leaf = find_leaf(row, is_retrieval=is_retrieval)
            by_leaf[leaf].append(row)
            by_category[row.category, leaf] += 1
            by_checkpoint[row.trial.checkpoint, leaf] += 1
    checkpoints = {row.trial.checkpoint for row, _ in outcomes}
    labels = [
        checkpoint.label for checkpoint in table.plan.checkpoints if checkpoint.label in checkpoints
    ]
    categories = order_categories({row.category for row, _ in outcomes})
    notes = [*describe_doubts(by_leaf, is_retrieval=is_retrieval)]
    if scale is not None and any(row.score not in (None, 0.0, 1.0) for row in table.rows):
        words = f"Every trial with a {scale.label} below {scale.full:g} is counted as a miss."
        notes.insert(0, words)
    return Attribution(
        answered=len(outcomes),
        misses=sum(map(len, by_leaf.values())),
        undecided=len(table.rows) - len(outcomes),
        leaves=tuple(_count_leaf(leaf, rows) for leaf, rows in by_leaf.items()),
        categories={n: {leaf: by_category[n, leaf] for leaf in FailureLeaf} for n in categories},
        checkpoints={n: {leaf: by_checkpoint[n, leaf] for leaf in FailureLeaf} for n in labels},
        notes=tuple(notes),
    )


def _count_leaf(leaf: FailureLeaf, rows: Sequence[TrialRow]) -> LeafCount:
    firsts: dict[tuple[str, str], Trial] = {}
    for row in rows:
        firsts.setdefault((row.trial.scenario, row.trial.item), row.trial)
    return LeafCount(
        leaf=leaf,
        trials=len(rows),
        questions=len(firsts),
        points_lost=sum(FULL_MARKS - row.points for row in rows if row.points is not None),
        examples=tuple(firsts.values())[:MAX_EXAMPLES],
    )
