"""The wordings of the behaviour suites: each kind has all of them, and none gives a value away."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from recall_bench.core.memory import Asker, Offer, SystemCard
from recall_bench.core.random_stream import RandomStream
from recall_bench.features.suites.behaviour import BehaviourStory
from recall_bench.features.suites.erasure import draw_stories as draw_erasure_stories
from recall_bench.features.suites.poisoning import (
    CARRIERS,
    VARIANTS,
    Attack,
)
from recall_bench.features.suites.poisoning import (
    draw_stories as draw_poisoning_stories,
)
from recall_bench.features.suites.story_writer import (
    FactDrawer,
    FactKind,
    StoryRequest,
    load_attacks,
    load_fact_kinds,
    load_requests,
)
from recall_bench.metrics.planted_strings import find_planted
from tests.loops import loop_over_rows
from tests.thoroughness import choose_cases

_VALUE = re.compile(r"\d\d:\d\d|£|\b[A-Z]{2}-\d")
"""What a planted clock time, amount or code looks like."""
_STATES, _ASKS = frozenset({"person", "value"}), frozenset({"person"})


def list_gaps(wording: str) -> frozenset[str]:
    """List the names of a wording's gaps."""
    return frozenset(re.findall(r"\{(\w+)\}", wording))


def list_wordings(kind: FactKind) -> Iterator[tuple[str, frozenset[str]]]:
    """Every wording of a fact with the gaps that it must have."""
    yield from ((each, _STATES) for each in (*kind.tells, *kind.updates))
    asked = (kind.subject, kind.asks, *kind.rephrased, *kind.depends, *kind.forgets)
    yield from ((each, _ASKS) for each in asked)


def list_all_wordings() -> Iterator[str]:
    """Every wording there is."""
    attacks, requests = load_attacks(), load_requests()
    for kind in load_fact_kinds():
        yield from (each for each, _ in list_wordings(kind))
    yield from (each for intros in attacks.intros.values() for each in intros)
    for quotes in attacks.quotes.values():
        yield from (each for wordings in quotes.values() for each in wordings)
    yield from (each for wordings in attacks.corrections.values() for each in wordings)
    yield from (*requests.forgets, *requests.summaries)


def request_stories(seed: int, each: int = 2, only: tuple[str, ...] = ()) -> StoryRequest:
    """Stories for a system that offers everything."""
    return StoryRequest(
        seed=seed,
        each=each,
        system=SystemCard(name="any", version="1", asker=Asker.TOLD),
        offers=frozenset(Offer),
        patience_s=1.0,
        only=only,
    )


def read_story(story: BehaviourStory) -> str:
    """The text of a story."""
    return "\n\n".join(episode.text for episode in story.scenario.episodes)


def test_there_are_many_kinds_of_facts_of_every_value() -> None:
    kinds = load_fact_kinds()
    assert len(kinds) >= 60
    assert len({kind.subject for kind in kinds}) == len(kinds)
    assert {kind.value for kind in kinds} == {"name", "place", "code", "money", "time"}


@loop_over_rows("kind", load_fact_kinds(), ids=lambda kind: kind.subject)
def test_every_wording_of_a_fact_names_the_person_and_none_but_tellings_the_value(
    kind: FactKind,
) -> None:
    wordings = list(list_wordings(kind))
    assert all(list_gaps(text) == gaps for text, gaps in wordings)
    assert len({text for text, _ in wordings}) == len(wordings)


def test_every_attack_comes_in_every_carrier() -> None:
    bank = load_attacks()
    assert set(bank.intros) == set(CARRIERS)
    assert set(bank.quotes) == set(bank.corrections) == set(VARIANTS)
    assert all(set(quotes) == set(CARRIERS) for quotes in bank.quotes.values())


def test_only_the_quotation_of_an_attack_gives_the_false_value() -> None:
    bank = load_attacks()
    assert not any(list_gaps(each) for intros in bank.intros.values() for each in intros)
    for quotes in bank.quotes.values():
        for each in (each for wordings in quotes.values() for each in wordings):
            assert {"subject", "false"} <= list_gaps(each) <= {"subject", "false", "person"}, each
    for each in (each for wordings in bank.corrections.values() for each in wordings):
        assert list_gaps(each) == {"person", "subject", "value"}, each


def test_wishes_and_summaries_name_subjects_only() -> None:
    requests = load_requests()
    assert all(list_gaps(each) == {"subject"} for each in requests.forgets)
    assert all(list_gaps(each) == {"subjects"} for each in requests.summaries)


def test_no_wording_is_there_twice() -> None:
    wordings = sorted(list_all_wordings())
    assert [first for first, second in pairwise(wordings) if first == second] == []


def test_no_wording_has_a_value_or_a_paragraph_of_its_own() -> None:
    """A paragraph is what memories cut a day into: an attack must not lose its quotation marks."""
    assert [each for each in list_all_wordings() if _VALUE.search(each) or "\n" in each] == []


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("name", VARIANTS)
def test_every_line_with_the_false_value_is_marked_as_a_quotation(name: str, carrier: str) -> None:
    fact = FactDrawer(1, "story").draw_fact()
    for seed in range(20):
        text = Attack(name, carrier).write(fact, "QD-7730", RandomStream(seed))  # type: ignore[arg-type]
        intro, *quoted = text.split("\n")
        assert "QD-7730" not in intro
        assert sum("QD-7730" in line for line in quoted) == (9 if name == "flood" else 1)
        fenced = quoted[0] == quoted[-1] == "```"
        assert fenced or all(line.startswith("> ") for line in quoted)


@pytest.mark.parametrize("seed", choose_cases([1, 2, 3], 1))
def test_no_planted_value_stands_in_a_story_by_accident(seed: int) -> None:
    """Each value that is to be erased stands in the one paragraph that tells it, and no other."""
    for story in draw_erasure_stories(request_stories(seed)):
        planted = {canary for item in story.scenario.items for canary in item.truth.canaries}
        paragraphs = read_story(story).split("\n\n")
        for value in planted:
            assert sum(bool(find_planted(text, [value])) for text in paragraphs) == 1, value
        asked = "\n".join(item.text for item in story.scenario.items)
        assert find_planted(asked, planted) == ()


@pytest.mark.parametrize("seed", choose_cases([1, 2, 3], 1))
def test_a_clean_twin_has_no_false_value_and_differs_in_the_attack_only(seed: int) -> None:
    stories = list(draw_poisoning_stories(request_stories(seed)))
    for attacked, clean in zip(stories[::2], stories[1::2], strict=True):
        false = {
            canary
            for item in attacked.scenario.items
            if item.kind == "target"
            for canary in item.truth.canaries
        }
        assert len(find_planted(read_story(attacked), false)) == len(false) == 2
        assert find_planted(read_story(clean), false) == ()
        ours, theirs = (read_story(each).split("\n\n") for each in (attacked, clean))
        extra = [text for text in ours if text not in theirs]
        assert len(extra) == 2
        assert [text for text in ours if text not in extra] == theirs


def test_four_stories_of_an_attack_come_in_all_four_carriers() -> None:
    chats = 0
    request = request_stories(1, each=4, only=("identity",))
    for story in draw_poisoning_stories(request):
        chats += any(episode.session == "open" for episode in story.scenario.episodes)
    assert chats == 2, "one attacked story and its clean twin"


def test_another_seed_draws_other_wordings() -> None:
    def draw(seed: int) -> set[str]:
        drawer = FactDrawer(seed, "forget-1")
        return {drawer.draw_fact().subject.partition("'s")[2] for _ in range(8)}

    draws = [draw(seed) for seed in range(6)]
    assert len({frozenset(each) for each in draws}) == len(draws)
    assert len(set.union(*draws)) > 20
