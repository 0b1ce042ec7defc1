"""The labels of an audit set are true by construction; here they are checked all the same."""

import re
from collections.abc import Callable

import pytest

from recall_bench.core.scenario import CATEGORIES, Disclosure, Expects
from recall_bench.features.judges.audit_answers import AuditItem
from recall_bench.features.judges.audit_report import AuditClass
from tests.features.judges.audit.stories import LONG, OTHERS, SHORT, Story, load_story
from tests.features.personas.simulator.built_bakery import SHORT_ARCS, build_short
from tests.thoroughness import choose_cases


def holds(text: str, *words: str) -> bool:
    """Whether the text holds any of the words as whole words."""
    patterns = (rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in words)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def list_right(audited: AuditItem) -> tuple[str, ...]:
    truth = audited.item.truth
    return (*truth.atoms, *truth.aliases, truth.reference.rstrip("."))


def check_every_class_is_there_in_full(story: Story) -> None:
    for kind in AuditClass:
        assert len(story.select(kind)) == story.per_class, kind


def check_every_question_is_open_when_it_is_asked(story: Story) -> None:
    for audited in story.items:
        assert audited.item.is_open(audited.days)
        assert audited.days <= story.scenario.last_day
        assert audited.asked_at == story.scenario.compute_date(audited.days)


def check_no_answer_of_a_class_comes_twice_to_a_question(story: Story) -> None:
    pairs = {(audited.kind, audited.item.id, audited.answer) for audited in story.items}

    assert len(pairs) == len({audited.id for audited in story.items}) == len(story.items)


def check_a_right_answer_holds_the_reference(story: Story) -> None:
    for audited in story.select(AuditClass.RIGHT, AuditClass.PADDED, AuditClass.EXTRA):
        assert audited.item.truth.reference.rstrip(". ") in audited.answer


def check_an_evasion_holds_no_part_of_the_answer(story: Story) -> None:
    evasions = (AuditClass.VAGUE, AuditClass.PADDED_VAGUE, AuditClass.FALSE_REFUSAL)
    for audited in story.select(*evasions, AuditClass.NON_ANSWER):
        assert not holds(audited.answer, *set(list_right(audited)) - {"Yes", "No"}), audited


def check_another_value_is_not_the_right_one(story: Story) -> None:
    for audited in story.select(AuditClass.NEAR_MISS, AuditClass.SUPERSEDED, AuditClass.WRONG):
        assert not holds(audited.answer, *list_right(audited)), audited


def check_a_superseded_value_is_one_of_the_truth(story: Story) -> None:
    for audited in story.select(AuditClass.SUPERSEDED):
        assert holds(audited.answer, *audited.item.truth.stale)


_QUOTED = re.compile(r"(?:“|^- [^:\n]+: |^\[[^\]]+\] )([^”\n]+)", re.MULTILINE)


def check_padding_quotes_what_was_told_by_then_and_no_secret(story: Story) -> None:
    secrets = {word for item in story.scenario.items for word in item.truth.canaries}
    told: dict[int, str] = {}
    for audited in story.select(AuditClass.PADDED, AuditClass.PADDED_VAGUE):
        if audited.days not in told:
            days = (e.text for e in story.scenario.episodes if e.day <= audited.days)
            told[audited.days] = " ".join(" ".join(days).split())
        quotes = [" ".join(quote.split()) for quote in _QUOTED.findall(audited.answer)]
        assert sum(quote in told[audited.days] for quote in quotes) >= 4, audited.answer
        assert not holds(audited.answer, *secrets)


def check_the_invented_detail_is_nowhere_in_the_history(story: Story) -> None:
    history = "\n".join(episode.text for episode in story.scenario.episodes).casefold()
    for audited in story.select(AuditClass.EXTRA):
        extra = audited.answer.removeprefix(audited.item.truth.reference.rstrip(". "))
        words = re.findall(r"[A-Z]{2,}-\d+|\$[\d,.]+\d|[A-Z][a-z]{5,}", extra)
        assert any(word.casefold() not in history for word in words), extra


def check_a_leak_tells_what_is_withheld_and_nothing_else_does(story: Story) -> None:
    for audited in story.select(AuditClass.LEAK):
        truth = audited.item.truth
        assert truth.disclosure in {Disclosure.REFUSE, Disclosure.PARTIAL}
        assert holds(audited.answer, *truth.withheld, *truth.canaries)
    guarded = (AuditClass.RIGHT, AuditClass.CLEAN_REFUSAL, AuditClass.FALSE_REFUSAL)
    for audited in story.select(*guarded, AuditClass.VAGUE):
        truth = audited.item.truth
        assert not holds(audited.answer, *truth.withheld, *truth.canaries), audited


def check_a_clean_refusal_is_given_only_where_it_is_right(story: Story) -> None:
    for audited in story.select(AuditClass.CLEAN_REFUSAL):
        assert audited.item.truth.expects in {Expects.ABSTAIN, Expects.WITHHOLD}
    for audited in story.select(AuditClass.FALSE_REFUSAL):
        assert audited.item.truth.expects is Expects.ANSWER


def check_an_injection_is_worth_nothing_without_itself(story: Story) -> None:
    for audited in story.select(AuditClass.INJECTION):
        right = {word for word in list_right(audited) if len(word) > 3}
        assert not holds(audited.answer, *right), audited


def check_no_text_dominates_a_class(story: Story) -> None:
    """A judge that knows a dozen refusals by heart has learned nothing about refusing."""
    for kind in (AuditClass.FALSE_REFUSAL, AuditClass.VAGUE, AuditClass.INJECTION):
        recipes = [audited.recipe for audited in story.select(kind)]
        assert len(set(recipes)) >= 15
        assert max(map(recipes.count, recipes)) <= story.per_class * 0.1


def check_all_categories_are_asked_where_a_class_fits_them(story: Story) -> None:
    for kind in (AuditClass.RIGHT, AuditClass.FALSE_REFUSAL):
        asked = {audited.item.truth.category for audited in story.select(kind)}
        assert len(asked) >= len(CATEGORIES) - 2, kind


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_every_label_is_true(check: Callable[[Story], None]) -> None:
    check(load_story(*SHORT))


@pytest.mark.slow
@pytest.mark.parametrize("name", choose_cases((*OTHERS, LONG[0]), 1))
def test_every_label_is_true_in_another_story(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Four months are too short for every category to be asked in every class."""
    if name == LONG[0]:
        story = load_story(*LONG, per_class=100)
    else:
        story = load_story(build_short(tmp_path_factory, name), SHORT_ARCS, per_class=60)
    for check in CHECKS:
        if name == LONG[0] or check is not check_all_categories_are_asked_where_a_class_fits_them:
            check(story)
