"""Every miss has one leaf: that of the first rule that applies."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Evidence, Expects, Item, Truth
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import Finding
from recall_bench.engine.runs.trials import TrialRow
from recall_bench.reporting.analyses.attribution import CAUSE_RULES, FailureLeaf, find_leaf, is_miss

TRIAL = Trial(scenario="ada", item="cat", checkpoint="2d")
ITEM = Item(
    id="cat",
    text="What is the cat called?",
    known_from=1,
    truth=Truth(reference="Fig", category="factual-recall", evidence=(Evidence(day=1),)),
)
WRONG = TrialStatus(TrialState.JUDGED, correctness=0, completeness=0, grounded=1)
MADE_UP = TrialStatus(TrialState.JUDGED, correctness=3, completeness=2, grounded=0)
RIGHT = TrialStatus(TrialState.JUDGED, correctness=2, completeness=2, grounded=1)
SCORED = TrialStatus(TrialState.MEASURED)
FAILED = TrialStatus(TrialState.NOT_ANSWERED)


def row(status: TrialStatus = WRONG, **facts: object) -> TrialRow:
    """A wrong answer of a system that shows what it found, and found all there was."""
    expects = facts.pop("expects", Expects.ANSWER)
    item = ITEM.replace(truth=ITEM.truth.replace(expects=expects))
    needed = 0 if expects is Expects.ANSWER else None
    usual: dict[str, object] = {"evidence_missing": needed, "findings": ()}
    return TrialRow(trial=TRIAL, item=item, days=2, cutoff=2, status=status, **(usual | facts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_row", "missed"),
    [
        pytest.param(row(RIGHT), False, id="every mark is a pass"),
        pytest.param(row(TrialStatus(TrialState.JUDGED, 1, 2, 1)), True, id="not right enough"),
        pytest.param(row(TrialStatus(TrialState.JUDGED, 3, 1, 1)), True, id="not complete"),
        pytest.param(row(MADE_UP), True, id="right and something made up"),
        pytest.param(row(RIGHT, leaked=True), True, id="a leak that a judge let pass"),
        pytest.param(row(FAILED), True, id="not answered"),
        pytest.param(row(SCORED, score=1.0), False, id="a protocol's full score"),
        pytest.param(row(SCORED, score=0.9), True, id="less than that"),
        pytest.param(row(SCORED), None, id="recorded and never judged"),
        pytest.param(row(TrialStatus(TrialState.OPEN)), None, id="not asked yet"),
        pytest.param(row(TrialStatus(TrialState.ANSWERED)), None, id="not judged yet"),
        pytest.param(row(TrialStatus(TrialState.NOT_JUDGED)), None, id="we failed to judge"),
    ],
)
def test_a_miss_is_what_went_wrong_and_not_what_is_open(
    given_row: TrialRow, missed: bool | None
) -> None:
    assert is_miss(given_row) is missed


def gone(status: TrialStatus = WRONG, **facts: object) -> TrialRow:
    """The same where the day that tells it is not held."""
    return row(status, evidence_missing=1, evidence_lost=1, **facts)


@pytest.mark.parametrize(
    ("miss", "leaf"),
    [
        pytest.param(gone(MADE_UP, leaked=True), FailureLeaf.LEAKED, id="a leak before all"),
        pytest.param(row(FAILED), FailureLeaf.INFRASTRUCTURE, id="no answer"),
        pytest.param(row(MADE_UP), FailureLeaf.FABRICATED, id="made up with all in hand"),
        pytest.param(gone(MADE_UP), FailureLeaf.FABRICATED, id="no gap excuses making it up"),
        pytest.param(
            row(findings=(Finding.FABRICATION,)),
            FailureLeaf.FABRICATED,
            id="made up, a judge noticed",
        ),
        pytest.param(
            gone(MADE_UP, tells_other_people=True),
            FailureLeaf.WRONG_PLACE,
            id="what was made up here was told elsewhere",
        ),
        pytest.param(
            row(tells_other_people=True),
            FailureLeaf.MISREAD,
            id="what was told here too is not another persona's",
        ),
        pytest.param(gone(), FailureLeaf.NEVER_WRITTEN, id="the day is not held"),
        pytest.param(
            gone(tells_stale=True),
            FailureLeaf.NEVER_WRITTEN,
            id="an old value for want of the day with the new one",
        ),
        pytest.param(
            row(evidence_lost=1, evidence_missing=None),
            FailureLeaf.NEVER_WRITTEN,
            id="and shows nothing",
        ),
        pytest.param(
            row(evidence_missing=2, evidence_cut=1, evidence_lost=1),
            FailureLeaf.NEVER_WRITTEN,
            id="one day lost and one cut off",
        ),
        pytest.param(
            row(evidence_missing=2, evidence_cut=1, evidence_lost=0), FailureLeaf.CUT, id="cut"
        ),
        pytest.param(
            row(tells_stale=True, evidence_missing=1, evidence_lost=0),
            FailureLeaf.STALE,
            id="the old value found and the new one not",
        ),
        pytest.param(
            row(findings=(Finding.STALE,)), FailureLeaf.STALE, id="stale, a judge noticed"
        ),
        pytest.param(row(tells_others=True), FailureLeaf.WRONG_PLACE, id="another person's value"),
        pytest.param(
            row(evidence_missing=1, evidence_lost=0),
            FailureLeaf.NOT_RETRIEVED,
            id="held and not found",
        ),
        pytest.param(
            row(evidence_missing=1),
            FailureLeaf.NOT_RETRIEVED,
            id="not found, and unknown if held",
        ),
        pytest.param(
            row(evidence_missing=1, findings=(Finding.ABSTENTION,)),
            FailureLeaf.NOT_RETRIEVED,
            id="an honest word that nothing was found",
        ),
        pytest.param(
            row(evidence_missing=1, findings=(Finding.REFUSAL,)),
            FailureLeaf.REFUSED,
            id="a refusal needs no search",
        ),
        pytest.param(
            row(findings=(Finding.ABSTENTION,)),
            FailureLeaf.REFUSED,
            id="denies what it has in hand",
        ),
        pytest.param(row(is_silent=True), FailureLeaf.REFUSED, id="says nothing with it in hand"),
        pytest.param(row(), FailureLeaf.MISREAD, id="wrong with it in hand"),
        pytest.param(
            row(findings=None), FailureLeaf.MISREAD, id="the same, by a judge who is silent"
        ),
        pytest.param(row(evidence_missing=None), FailureLeaf.UNTRACED, id="unknown what it found"),
    ],
)
def test_what_happened_first_is_the_cause(miss: TrialRow, leaf: FailureLeaf) -> None:
    assert find_leaf(miss) is leaf


@pytest.mark.parametrize(
    ("miss", "leaf"),
    [
        pytest.param(
            row(MADE_UP, expects=Expects.ABSTAIN), FailureLeaf.FABRICATED, id="affirms it"
        ),
        pytest.param(
            row(expects=Expects.ABSTAIN),
            FailureLeaf.MISREAD,
            id="tells true things beside the point",
        ),
        pytest.param(
            row(MADE_UP, expects=Expects.ABSTAIN, tells_others=True),
            FailureLeaf.WRONG_PLACE,
            id="states what is true of another person",
        ),
        pytest.param(
            row(SCORED, expects=Expects.ABSTAIN, score=0.0, findings=None),
            FailureLeaf.FABRICATED,
            id="answers, without a grounding mark",
        ),
        pytest.param(
            row(SCORED, expects=Expects.ABSTAIN, score=0.0, findings=None, is_silent=True),
            FailureLeaf.MISREAD,
            id="says nothing, and that is no denial",
        ),
        pytest.param(
            row(expects=Expects.WITHHOLD, findings=(Finding.REFUSAL,)),
            FailureLeaf.MISREAD,
            id="a refusal that was due is none too many",
        ),
    ],
)
def test_where_there_is_nothing_to_tell_nothing_had_to_be_found(
    miss: TrialRow, leaf: FailureLeaf
) -> None:
    assert find_leaf(miss) is leaf


COUNTS = st.none() | st.integers(0, 3)
ROWS = st.builds(
    row,
    st.builds(
        TrialStatus,
        st.sampled_from(TrialState),
        correctness=st.integers(0, 3),
        completeness=st.integers(0, 2),
        grounded=st.integers(0, 1),
    ),
    expects=st.sampled_from(Expects),
    evidence_missing=COUNTS,
    evidence_cut=COUNTS,
    evidence_lost=COUNTS,
    findings=st.none() | st.lists(st.sampled_from(Finding), unique=True).map(tuple),
    score=st.none() | st.floats(0, 1),
    leaked=st.none() | st.booleans(),
    is_silent=st.booleans(),
    tells_stale=st.booleans(),
    tells_others=st.booleans(),
    tells_other_people=st.booleans(),
)


@given(ROWS)
def test_the_tree_is_total_and_gives_one_leaf(any_row: TrialRow) -> None:
    leaves = [rule.leaf for rule in CAUSE_RULES if rule.applies(any_row)]

    assert leaves[-1] is FailureLeaf.UNTRACED, "the last rule takes what no other takes"
    assert find_leaf(any_row) is leaves[0]
    assert find_leaf(any_row) is find_leaf(any_row)


@given(ROWS.filter(lambda any_row: is_miss(any_row) is True))
def test_a_leaf_claims_no_more_than_is_known(miss: TrialRow) -> None:
    leaf, findings = find_leaf(miss), miss.findings or ()

    assert (leaf is FailureLeaf.LEAKED) == bool(miss.leaked)
    if not miss.leaked:
        assert (leaf is FailureLeaf.INFRASTRUCTURE) == (miss.state is TrialState.NOT_ANSWERED)
    match leaf:
        case FailureLeaf.NEVER_WRITTEN:
            assert miss.evidence_lost
        case FailureLeaf.CUT:
            assert miss.evidence_cut
        case FailureLeaf.NOT_RETRIEVED:
            assert miss.evidence_missing
            assert not miss.evidence_lost
            assert not miss.evidence_cut
        case FailureLeaf.STALE:
            assert miss.tells_stale or Finding.STALE in findings
        case FailureLeaf.WRONG_PLACE:
            assert miss.tells_other_people or miss.tells_others
        case FailureLeaf.MISREAD | FailureLeaf.REFUSED:
            assert not miss.evidence_missing or Finding.REFUSAL in findings
        case FailureLeaf.FABRICATED:
            is_scored = miss.state is TrialState.MEASURED
            assert miss.is_hallucination or Finding.FABRICATION in findings or is_scored


def test_every_leaf_can_be_reached() -> None:
    assert {rule.leaf for rule in CAUSE_RULES} == set(FailureLeaf)


def test_the_page_lists_the_rules_in_their_order() -> None:
    page = Path(__file__).parents[3] / "docs/explanation/attribution.md"
    listed = re.findall(
        r"^\| \d+ \| `([a-z-]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert listed == [rule.leaf.value for rule in CAUSE_RULES]
