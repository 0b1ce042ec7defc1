"""For any selections: one class each, and a file that gives back all that its layout tells."""

from datetime import datetime
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.features.selection.result_file import (
    PresearchResult,
    ResultEntry,
    ResultForm,
    SuiteResult,
    compute_percentages,
    write_result,
)
from recall_bench.features.selection.selection_scores import SelectionOutcome, compare_selection
from tests.features.selection.result_entries import make_entry
from tests.features.selection.result_parser import parse_result
from tests.loops import loop_over

A, B, C = "memory/a.md", "memory/b.md", "memory/c.md"
DATE = datetime.fromisoformat("2026-03-01T08:15:00+01:00")


SETS = tuple(names for size in range(4) for names in combinations((A, B, C), size))


@loop_over(product(SETS, SETS))
def test_every_pair_of_sets_is_in_exactly_one_class(
    pair: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    expected, recalled = pair
    missing, extra = set(expected) - set(recalled), set(recalled) - set(expected)
    claims = {
        SelectionOutcome.PERFECT: not missing and not extra,
        SelectionOutcome.OVERRECALL: not missing and bool(extra),
        SelectionOutcome.UNDERRECALL: bool(missing),
    }
    compared = compare_selection(expected, recalled)

    assert [outcome for outcome, holds in claims.items() if holds] == [compared.outcome]
    assert (set(compared.missing), set(compared.extra)) == (missing, extra)


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    half = compare_selection((A, B), (A, C))
    third = compare_selection((A,), (A, B, C))

    assert (half.precision, half.recall, half.f1, half.jaccard) == (0.5, 0.5, 0.5, 1 / 3)
    assert (third.precision, third.recall, third.f1, third.jaccard) == (1 / 3, 1.0, 0.5, 1 / 3)
    assert compare_selection((), ()).f1 == 1.0


@given(st.lists(st.integers(0, 3000), min_size=3, max_size=3).filter(any))
def test_percentages_add_up_and_are_within_a_tenth(counts: list[int]) -> None:
    tenths = [int(share.replace(".", "")) for share in compute_percentages(counts)]

    assert sum(tenths) == 1000
    assert all(abs(t - 1000 * c / sum(counts)) < 1 for t, c in zip(tenths, counts, strict=True))


_LINE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=8)
_NAME = st.one_of(st.sampled_from([A, B, C]), _LINE.map(lambda stem: f"memory/{stem}.md"))
_NAMES = st.lists(_NAME, max_size=3, unique=True).map(tuple)
_LOOKALIKE = st.sampled_from(
    "Expected (1):|Recalled (0):|Result: PERFECT|  memory/a.md|Presearch (0/2):|Extra (1):||"
    "--- t ---|Expected: x|Recalled: ERROR|Result: ERROR|Problem: x|Prompt (1):|[tests]".split("|")
)
# Five lines can quote a whole error and the heading after it, which no reader tells apart.
_PROMPT = st.lists(st.one_of(_LOOKALIKE, _LINE), min_size=1, max_size=4).map("\n".join)
_ANSWERED = st.builds(
    make_entry,
    _LINE,
    expected=_NAMES,
    recalled=_NAMES,
    prompt=_PROMPT,
    presearch=st.builds(PresearchResult, names=_NAMES, total=st.integers(0, 99)),
)
_UNANSWERED = st.builds(
    ResultEntry,
    name=_LINE,
    expected=_NAMES,
    outcome=st.sampled_from([SelectionOutcome.ERROR, SelectionOutcome.SKIP]),
    prompt=st.none() | st.just("") | _PROMPT,
    problem=st.none() | _LINE,
)
_PLAIN_ERROR = st.builds(
    ResultEntry,
    name=_LINE,
    expected=st.sampled_from([(), (A,), (A, B)]),
    outcome=st.just(SelectionOutcome.ERROR),
)


def _result(entries: list[ResultEntry], skipped: int, presearch: bool | None) -> SuiteResult:
    return SuiteResult(
        date=DATE, tests=len(entries) + skipped, entries=tuple(entries), presearch=presearch
    )


@given(
    st.lists(_ANSWERED | _UNANSWERED, max_size=4),
    st.integers(0, 2),
    st.sampled_from([None, True, False]),
)
def test_our_own_layout_gives_any_result_back(
    entries: list[ResultEntry], skipped: int, presearch: bool | None
) -> None:
    result = _result(entries, skipped, presearch)

    assert parse_result(write_result(result), "a.result") == result


@given(st.lists(_ANSWERED | _PLAIN_ERROR, max_size=4), st.integers(0, 2), st.booleans())
def test_the_known_layouts_give_back_all_that_they_tell(
    entries: list[ResultEntry], skipped: int, presearch: bool
) -> None:
    told = entries if presearch else [entry.replace(presearch=None) for entry in entries]
    bare = [entry.replace(presearch=None, prompt=None) for entry in entries]
    kit = write_result(_result(entries, skipped, presearch), form=ResultForm.KIT)
    agent = write_result(_result(entries, skipped, presearch), form=ResultForm.AGENT)

    assert parse_result(kit, "a.result") == _result(told, skipped, presearch)
    assert parse_result(agent, "a.result") == _result(bare, skipped, None)
