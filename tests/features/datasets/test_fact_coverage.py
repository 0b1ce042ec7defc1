"""A fact is found where its words stand whole, in a passage or in the source of one."""

import pytest

from recall_bench.features.datasets.fact_coverage import (
    EvidenceLayer,
    Facts,
    ReturnedPassage,
    contains_trap,
    list_layer_measures,
    measure_coverage,
)
from tests.loops import loop_over_rows

DIARY = "Ada took the job at Acme in June. The dog is called Rex, and the cat is called Tom."
LETTER = "Greetings from Juneau! We drove 120 miles to Acmeville."


def values(returned: list[ReturnedPassage], facts: Facts, depth: int = 10) -> dict[str, float]:
    return {one.name: one.measure(returned, facts) for one in list_layer_measures(depth)}


def test_a_snippet_holds_a_fact_and_a_document_holds_more() -> None:
    returned = [
        ReturnedPassage("a cold place", LETTER),
        ReturnedPassage("took the job at Acme", DIARY),
    ]

    assert values(returned, (("Acme",), ("Rex", "the dog Rex"))) == {
        "snippet_r@1": 0.0,
        "snippet_r@5": 0.5,
        "snippet_r@10": 0.5,
        "document_r@1": 0.0,
        "document_r@5": 1.0,
        "document_r@10": 1.0,
    }


@pytest.mark.parametrize("word", ["June", "Acme", "12", "20", "mile"])
@pytest.mark.parametrize("layer", EvidenceLayer)
def test_a_wording_inside_another_word_is_not_found(word: str, layer: EvidenceLayer) -> None:
    """PasClaw finds "June" in "Juneau" and "Acme" in "Acmeville"."""
    assert measure_coverage([ReturnedPassage(LETTER, LETTER)], ((word,),), layer) == 0.0


@loop_over_rows("word", ["juneau", "120 miles", "ACMEVILLE", "to Acmeville"])
def test_letter_case_and_punctuation_make_no_difference(word: str) -> None:
    assert (
        measure_coverage([ReturnedPassage(LETTER, None)], ((word,),), EvidenceLayer.SNIPPET) == 1.0
    )


def test_one_fact_of_two_is_half_and_not_a_pass() -> None:
    """PasClaw passes a question of several hops on any one alias."""
    hops = (("Acme",), ("Juneau",))

    assert measure_coverage([ReturnedPassage(DIARY, None)], hops, EvidenceLayer.SNIPPET) == 0.5
    assert (
        measure_coverage(
            [ReturnedPassage(DIARY, None), ReturnedPassage(LETTER, None)],
            hops,
            EvidenceLayer.SNIPPET,
        )
        == 1.0
    )


def test_any_wording_of_a_fact_will_do_and_counts_once() -> None:
    assert (
        measure_coverage(
            [ReturnedPassage(DIARY, None)], (("Rexy", "Rex", "dog"),), EvidenceLayer.SNIPPET
        )
        == 1.0
    )


def test_a_fact_does_not_stand_across_two_passages() -> None:
    torn = [ReturnedPassage("She works at", None), ReturnedPassage("Acme now", None)]

    assert measure_coverage(torn, (("at Acme",),), EvidenceLayer.SNIPPET) == 0.0


def test_an_untraceable_passage_has_no_document() -> None:
    assert (
        measure_coverage([ReturnedPassage("a dog", None)], (("Rex",),), EvidenceLayer.DOCUMENT)
        == 0.0
    )


def test_a_document_counts_what_stands_in_the_passage_alone() -> None:
    """A summary says what its source does not, and the second layer is never below the first."""
    assert (
        measure_coverage(
            [ReturnedPassage("one pet: Rex", LETTER)], (("Rex",),), EvidenceLayer.DOCUMENT
        )
        == 1.0
    )


def test_what_lies_beyond_the_cutoff_is_not_looked_at() -> None:
    returned = [ReturnedPassage("nothing", None)] * 5 + [ReturnedPassage(DIARY, DIARY)]
    found = values(returned, (("Acme",),))

    assert (found["snippet_r@5"], found["document_r@5"]) == (0.0, 0.0)
    assert (found["snippet_r@10"], found["document_r@10"]) == (1.0, 1.0)


def test_nothing_returned_is_nothing_found() -> None:
    assert set(values([], (("Acme",),)).values()) == {0.0}


@pytest.mark.parametrize(("depth", "cutoffs"), [(1, {1}), (9, {1, 5}), (50, {1, 5, 10})])
def test_no_cutoff_is_deeper_than_what_was_retrieved(depth: int, cutoffs: set[int]) -> None:
    """PasClaw prints R@5 and R@10 of a single hit."""
    assert {one.cutoff for one in list_layer_measures(depth)} == cutoffs


def test_a_ranking_of_no_depth_has_no_measures() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list_layer_measures(0)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param((), "without facts", id="an adversarial question has nothing to find"),
        pytest.param(((),), "no wording", id="a fact without wording"),
        pytest.param((("Acme", "?!"),), "nothing is left", id="a wording without words"),
    ],
)
def test_what_no_text_could_hold_is_refused(facts: Facts, reason: str) -> None:
    """Scored 0 it would cost every system; scored 1 it would be a gift."""
    with pytest.raises(ValueError, match=reason):
        measure_coverage([ReturnedPassage("Acme", None)], facts, EvidenceLayer.SNIPPET)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("It was a Border Collie.", True),
        ("it was a border-collie", True),
        ("It was a collie.", False),
        ("Border Colliery", False),
        ("", False),
    ],
)
def test_a_trap_is_held_as_whole_words(text: str, *, holds: bool) -> None:
    assert contains_trap(text, ["the Border Collie", "Poodle"]) is holds


def test_a_trap_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is left"):
        contains_trap("anything", ["..."])


def test_no_traps_are_never_held() -> None:
    assert not contains_trap("anything", [])
