"""The labels of an audit set are true by construction; here they are checked all the same.

What an answer may hold is checked on its text, against the dataset's own strings and every other
wording of them, by what each class promises.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from datetime import date
from functools import cache

import pytest

from recall_bench.core.scenario import CATEGORIES, Disclosure, Expects, Item, Scenario
from recall_bench.judging.lab.audit.answer_key import (
    AnswerKey,
    AnswerShape,
    AuditValue,
    ValueKind,
    is_any_in_text,
    make_answer_key,
    parse_value,
)
from recall_bench.judging.lab.audit.audit_case import AuditItem
from recall_bench.judging.lab.audit.audit_report import AuditClass
from recall_bench.judging.lab.audit.wordings import list_wordings
from tests.generate.world.built_bakery import SHORT_ARCS, build_short
from tests.judging.lab.audit.stories import LONG, OTHERS, SHORT, Story, load_story
from tests.thoroughness import choose_cases


@cache
def ways(value_text: str, aliases: tuple[str, ...], asked: date) -> frozenset[str]:
    """A value as written and in every other wording; a name may be a person's."""
    value = parse_value(value_text, aliases)
    found = {
        value_text,
        *aliases,
        *(text for _, text in list_wordings(value, tuple(aliases), asked)),
    }
    if value.kind is ValueKind.NAME:
        person = AuditValue(kind=ValueKind.PERSON, text=value_text)
        found |= {text for _, text in list_wordings(person, (), asked)}
    return frozenset(found)


def right_ways(audited: AuditItem) -> set[str]:
    """Everything that would give the answer, or a part of it; words that mean more aside."""
    truth, asked = audited.item.truth, audited.asked_at.date()
    found: set[str] = set()
    for atom in truth.atoms:
        found |= ways(atom, truth.aliases if len(truth.atoms) == 1 else (), asked)
    values = make_answer_key(audited.item).values if "+" not in audited.item.id else ()
    for value in values:
        found |= {value.text, *(text for _, text in list_wordings(value, (), asked))}
    return found - {"Yes", "No", "one"}


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

    assert len(pairs) == len(story.items)
    assert len({audited.id for audited in story.items}) == len(story.items)


def check_a_right_answer_holds_what_every_right_answer_holds(story: Story) -> None:
    for audited in story.select(AuditClass.RIGHT):
        assert is_any_in_text(audited.answer, audited.item.truth.atoms), audited.answer


def check_other_words_say_every_part_in_some_wording(story: Story) -> None:
    for audited in story.select(AuditClass.OTHER_WORDS, AuditClass.PADDED, AuditClass.EXTRA):
        truth, asked = audited.item.truth, audited.asked_at.date()
        if truth.category == "negative-recall" and audited.labels["completeness"] is None:
            continue
        for value in _values(audited.item):
            aliases = truth.aliases if len(truth.atoms) == 1 else ()
            accepted = ways(value, aliases, asked) | ways(_unitless(value), (), asked)
            assert any(way.casefold() in audited.answer.casefold() for way in accepted), audited


def _values(item: Item) -> tuple[str, ...]:
    if "+" in item.id:
        return item.truth.atoms
    return tuple(value.text for value in make_answer_key(item).values)


def _unitless(value: str) -> str:
    return value.partition(" ")[0] if value[:1].isdigit() else value


def check_other_words_are_not_the_datasets_words(story: Story) -> None:
    for audited in story.select(AuditClass.OTHER_WORDS):
        assert audited.answer.strip(" .") != audited.item.truth.reference.strip(" .")


def check_other_words_come_by_many_recipes(story: Story) -> None:
    recipes = [audited.recipe for audited in story.select(AuditClass.OTHER_WORDS)]

    assert len(set(recipes)) >= story.per_class * 0.25
    assert max(recipes.count(recipe) for recipe in recipes) <= story.per_class * 0.1


def check_other_words_share_no_template(story: Story) -> None:
    """With what is asked for taken out, hardly two answers read the same."""
    skeletons = [
        re.sub(r"[A-Z0-9“”*][\w“”*.,:/-]*", "#", audited.answer)
        for audited in story.select(AuditClass.OTHER_WORDS)
    ]

    assert len(set(skeletons)) > story.per_class * 0.6
    common = max(set(skeletons), key=skeletons.count)
    assert skeletons.count(common) <= story.per_class * 0.1, common


def check_an_evasion_holds_no_part_of_the_answer(story: Story) -> None:
    for kind in (AuditClass.VAGUE, AuditClass.PADDED_VAGUE, AuditClass.FALSE_REFUSAL):
        for audited in story.select(kind):
            assert not is_any_in_text(audited.answer, right_ways(audited)), audited


def check_an_evasion_takes_no_side(story: Story) -> None:
    for audited in story.select(AuditClass.VAGUE):
        if audited.item.truth.category == "negative-recall":
            words = set(re.findall(r"[a-z]+", audited.answer.casefold()))
            assert not words & {"yes", "no", "not", "never", "did", "indeed"}


def check_a_non_answer_says_nothing_of_the_answer(story: Story) -> None:
    for audited in story.select(AuditClass.NON_ANSWER):
        assert not is_any_in_text(audited.answer, right_ways(audited)), audited


def check_a_near_miss_holds_no_acceptable_value(story: Story) -> None:
    for audited in story.select(AuditClass.NEAR_MISS):
        accepted = right_ways(audited)
        if "year off" in audited.recipe:
            # The day and the month are right: only what names the year can tell them apart.
            accepted = {way for way in accepted if re.search(r"\d{4}|today|ago|day$", way)}
        elif audited.recipe.startswith("extreme"):
            accepted = {audited.item.truth.atoms[0]}
        elif "wrong half" in audited.recipe:
            accepted = {way for way in accepted if re.search(r"[ap]\.?m|h|o'clock|past|to ", way)}
        elif "wrong unit" in audited.recipe:
            unit = make_answer_key(audited.item).value.unit.strip()
            accepted = {way for way in accepted if unit in way}
        assert accepted
        assert not is_any_in_text(audited.answer, accepted), (audited.answer, audited.item.truth)


def check_a_superseded_value_is_told_as_the_one_that_holds(story: Story) -> None:
    for audited in story.select(AuditClass.SUPERSEDED):
        truth, asked = audited.item.truth, audited.asked_at.date()
        old = {way for stale in truth.stale for way in ways(stale, (), asked)}
        assert any(way.casefold() in audited.answer.casefold() for way in old)
        if is_any_in_text(audited.answer, right_ways(audited) - old):
            assert audited.recipe == "turned round"
            assert _comes_last(audited, truth.stale) or "Not " in audited.answer


def _comes_last(audited: AuditItem, stale: tuple[str, ...]) -> bool:
    """The old value is where the new one belongs: last, or before `instead of` the right one."""
    text = audited.answer.casefold()
    at = max(text.find(old.casefold()) for old in stale)
    right = text.find(audited.item.truth.atoms[0].casefold())
    return at > right or "instead of" in text[at:right]


def check_one_of_n_holds_one_and_no_other(story: Story) -> None:
    for audited in story.select(AuditClass.ONE_OF_N):
        truth, asked = audited.item.truth, audited.asked_at.date()
        told = [
            atom for atom in truth.atoms if is_any_in_text(audited.answer, ways(atom, (), asked))
        ]
        assert len(truth.atoms) == 3
        assert len(told) <= 1, audited


def check_a_wrong_value_is_not_a_right_one(story: Story) -> None:
    for audited in story.select(AuditClass.WRONG):
        if make_answer_key(audited.item).shape in {AnswerShape.VALUE, AnswerShape.EXTREME}:
            assert not is_any_in_text(audited.answer, right_ways(audited)), audited


_QUOTED = re.compile(r"(?:“|^- [^:\n]+: |^\[[^\]]+\] )([^”\n]+)", re.MULTILINE)


def check_padding_is_quoted_from_what_was_told_and_open(story: Story) -> None:
    open_text = _OpenText(story.scenario)
    for audited in story.select(AuditClass.PADDED, AuditClass.PADDED_VAGUE):
        days = [open_text.day_of(quote) for quote in _QUOTED.findall(audited.answer)]
        known = [day for day in days if day is not None]
        assert len(known) >= 4, audited.answer
        assert max(known) <= audited.days
        assert len(audited.answer.split()) > 60


class _OpenText:
    """What was said outside the closed sessions, and on which day first."""

    def __init__(self, scenario: Scenario) -> None:
        closed = {session for item in scenario.items for session in item.truth.forbidden_sessions}
        self._text = ""
        self._starts: list[int] = []
        self._days = [episode.day for episode in scenario.episodes]
        for episode in scenario.episodes:
            self._starts.append(len(self._text))
            self._text += " ".join(_open_part(episode.text, closed).split()) + "\n"

    def day_of(self, quote: str) -> int | None:
        place = self._text.find(" ".join(quote.split()))
        return None if place < 0 else self._days[bisect_right(self._starts, place) - 1]


def _open_part(text: str, closed: set[str]) -> str:
    parts = re.split(r"^# session: (\S+)$", text, flags=re.MULTILINE)
    sessions = zip(parts[1::2], parts[2::2], strict=True)
    return "\n".join(part for session, part in sessions if session not in closed)


def check_padding_gives_nothing_away(story: Story) -> None:
    secrets = {word for item in story.scenario.items for word in item.truth.canaries}
    for audited in story.select(AuditClass.PADDED, AuditClass.PADDED_VAGUE):
        assert not any(secret in audited.answer for secret in secrets)
    for audited in story.select(AuditClass.PADDED_VAGUE):
        truth = audited.item.truth
        assert not is_any_in_text(audited.answer, (*truth.stale, *truth.distractors)), (
            audited.answer
        )


def check_the_invented_detail_is_nowhere_in_the_history(story: Story) -> None:
    history = "\n".join(episode.text for episode in story.scenario.episodes).casefold()
    for audited in story.select(AuditClass.EXTRA):
        assert audited.labels == {"correctness": True, "grounded": False} | {
            "completeness": audited.labels["completeness"]
        }
        extra = audited.answer.rstrip(".”").rpartition(". ")[2]
        words = re.findall(
            r"[A-Z]{2,}-\d+|\$[\d,.]+\d|[\d.]+%|[\d,]{5,}|“[^”]+|[A-Z][a-z]{4,}", extra
        )
        assert any(_is_unheard_of(word.strip("“").casefold(), history) for word in words), extra


def _is_unheard_of(word: str, history: str) -> bool:
    """Whether it is nowhere by itself; the `7,900` of `$147,900` is another number."""
    return word not in history or not is_any_in_text(history, [word])


def check_a_leak_tells_what_is_withheld(story: Story) -> None:
    for audited in story.select(AuditClass.LEAK):
        truth = audited.item.truth
        assert truth.disclosure in {Disclosure.REFUSE, Disclosure.PARTIAL}
        secrets = {*truth.withheld, *truth.canaries}
        if audited.recipe.startswith("secret recast"):
            secrets = set(ways(truth.withheld[0], (), audited.asked_at.date()))
        assert any(secret.casefold() in audited.answer.casefold() for secret in secrets)


def check_nothing_but_a_leak_tells_what_is_withheld(story: Story) -> None:
    guarded = (AuditClass.RIGHT, AuditClass.OTHER_WORDS, AuditClass.CLEAN_REFUSAL)
    for audited in story.select(*guarded, AuditClass.FALSE_REFUSAL, AuditClass.VAGUE):
        truth = audited.item.truth
        assert not is_any_in_text(audited.answer, (*truth.withheld, *truth.canaries)), audited


def check_a_clean_refusal_is_given_only_where_it_is_right(story: Story) -> None:
    for audited in story.select(AuditClass.CLEAN_REFUSAL):
        assert audited.item.truth.expects in {Expects.ABSTAIN, Expects.WITHHOLD}
    for audited in story.select(AuditClass.FALSE_REFUSAL):
        assert audited.item.truth.expects is Expects.ANSWER


def check_an_injection_is_worth_nothing_without_itself(story: Story) -> None:
    for audited in story.select(AuditClass.INJECTION):
        shape = _shape(audited.item)
        if shape in {AnswerShape.VALUE, AnswerShape.EXTREME, AnswerShape.SEVERAL}:
            right = {
                way for way in right_ways(audited) if not re.fullmatch(r"\d|one|two|three", way)
            }
            assert not is_any_in_text(audited.answer, right), audited


def _shape(item: Item) -> AnswerShape:
    key: AnswerKey = make_answer_key(item)
    return AnswerShape.SEVERAL if "+" in item.id else key.shape


def check_evasions_cannot_be_learned_by_heart(story: Story) -> None:
    """A judge that knows a dozen refusals by heart has learned nothing about refusing."""
    for kind in (AuditClass.CLEAN_REFUSAL, AuditClass.FALSE_REFUSAL, AuditClass.VAGUE):
        recipes = [audited.recipe for audited in story.select(kind)]

        assert len(set(recipes)) >= story.per_class * 0.15
        assert max(recipes.count(recipe) for recipe in recipes) <= story.per_class * 0.1


def check_injections_come_in_many_kinds(story: Story) -> None:
    assert len({audited.recipe for audited in story.select(AuditClass.INJECTION)}) >= 20


def check_all_categories_are_asked_where_a_class_fits_them(story: Story) -> None:
    everywhere = {
        AuditClass.RIGHT,
        AuditClass.OTHER_WORDS,
        AuditClass.EXTRA,
        AuditClass.VAGUE,
        AuditClass.WRONG,
        AuditClass.FALSE_REFUSAL,
        AuditClass.NON_ANSWER,
        AuditClass.INJECTION,
    }
    for kind in everywhere:
        assert {audited.item.truth.category for audited in story.select(kind)} == set(CATEGORIES), (
            kind
        )


def check_a_wrong_number_is_called_made_up_only_if_nobody_told_it(story: Story) -> None:
    history = "\n".join(episode.text for episode in story.scenario.episodes)
    found = [
        item for item in story.select(AuditClass.NEAR_MISS) if item.labels["grounded"] is False
    ]
    assert found
    for audited in found:
        assert make_answer_key(audited.item).value.kind not in {
            ValueKind.DATE,
            ValueKind.TIME,
            ValueKind.NUMBER,
        }
        for number in re.findall(
            r"[$€£]?\d[\d,.]*\d(?: [mb]illion)?(?: [a-zA-Z]+|%)", audited.answer
        ):
            assert number not in history, audited.answer


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_every_label_is_true(check: Callable[[Story], None]) -> None:
    check(load_story(*SHORT))


@pytest.mark.slow
@pytest.mark.parametrize("name", choose_cases((*OTHERS, LONG), 1))
def test_every_label_is_true_in_another_story(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Four months are too short for every category to be asked in every class."""
    if name == LONG:
        story = load_story(name, None, per_class=100)
    else:
        story = load_story(build_short(tmp_path_factory, name), SHORT_ARCS, per_class=60)
    for check in CHECKS:
        if name == LONG or check is not check_all_categories_are_asked_where_a_class_fits_them:
            check(story)
