"""A reference is supported by the few cited sentences that together hold what it says."""

from statistics import mean

import pytest

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import (
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
    Turn,
    compute_story_date,
    hash_question_id,
)
from recall_bench.stories.supporting_passages import (
    MOST,
    find_evidence_passages,
    find_supporting_passages,
)
from tests.conftest import EPOCH, episode, shared_data

EPISODES = (
    episode(
        1,
        "# session: dock\n\n### Crane\n\nThe crane lifts 40 tons. It was painted yellow.\n\n"
        "Agreed:\n- the contract with Oda runs to 2026-03-31\n- Oda asked for a discount",
    ),
    episode(2, "# session: dock\n\nThe crane stood still. Rain until noon. It was painted grey."),
    episode(5, "# session: office\n\nThe crane lifts 45 tons now, said the engineer Moss."),
)


def supported(
    reference: str,
    *days: int,
    asked: str = "What about it?",
    expects: Expects = Expects.ANSWER,
) -> list[Passage]:
    truth = Truth(
        reference=reference,
        category="factual-recall",
        expects=expects,
        evidence=tuple(Evidence(day=day) for day in days),
    )
    item = Item(id="item", text=asked, truth=truth, known_from=1)
    scenario = Scenario(id="port", epoch=EPOCH, episodes=EPISODES, items=(item,))
    return list(find_supporting_passages(scenario)[hash_question_id("port", "item")])


def texts(reference: str, *days: int, asked: str = "What about it?") -> list[str]:
    return [passage.text for passage in supported(reference, *days, asked=asked)]


def test_the_sentence_that_holds_the_reference_is_found_with_its_day_and_session() -> None:
    assert supported("It lifts 40 tons.", 1) == [
        Passage(text="The crane lifts 40 tons.", day=1, source="dock")
    ]


def test_a_reference_of_two_facts_gets_both_sentences() -> None:
    found = texts("40 tons at first, and 45 tons later.", 1, 5)

    assert sorted(found) == [
        "The crane lifts 40 tons.",
        "The crane lifts 45 tons now, said the engineer Moss.",
    ]


def test_only_cited_days_are_quoted() -> None:
    assert texts("45 tons, said Moss.", 1, asked="How much does the crane lift?") == [
        "The crane lifts 40 tons."
    ]


def test_words_the_question_gives_away_count_for_less() -> None:
    found = texts("Oda asked for a discount until noon.", 1, 2, asked="Oda asked a discount when?")

    assert found[0] == "Rain until noon."


def test_rare_words_count_for_more() -> None:
    assert texts("painted; discount", 1, 2)[0] == "Agreed: Oda asked for a discount"


def test_a_word_is_known_by_its_stem() -> None:
    assert texts("painting", 1) == ["It was painted yellow."]


def test_a_sentence_that_adds_next_to_nothing_is_not_quoted() -> None:
    trees = "Alder birch cedar dogwood elm fir ginkgo hazel ivy juniper kapok larch maple nutmeg."
    grove = episode(7, f"{trees} Oak too.")
    truth = Truth(reference=f"{trees} Oak.", category="synthesis", evidence=(Evidence(day=7),))
    item = Item(id="grove", text="What grows?", truth=truth, known_from=7)
    scenario = Scenario(id="wood", epoch=EPOCH, episodes=(grove,), items=(item,))

    (quoted,) = find_supporting_passages(scenario)[hash_question_id("wood", "grove")]

    assert quoted.text == trees


def test_of_sentences_with_the_same_fact_the_one_about_the_question_is_quoted() -> None:
    found = texts("painted", 1, 2, asked="What colour is the yellow thing?")

    assert found == ["It was painted yellow."]


def test_where_the_reference_is_inferred_every_cited_day_is_received() -> None:
    found = supported("Twice as often", 1, 2, 5, asked="How often was the crane spoken of?")

    assert {passage.day for passage in found} == {1, 2, 5}


def test_a_list_entry_is_quoted_after_its_line() -> None:
    assert texts("Oda asked for a discount", 1) == ["Agreed: Oda asked for a discount"]


def test_never_more_than_a_few_sentences() -> None:
    sentences = [f"Item {word} is here." for word in ("ash", "bay", "cod", "dab", "eel", "fir")]
    busy = episode(7, " ".join([*sentences, "Item gum is here.", "Item hay is here."]))
    truth = Truth(
        reference="ash bay cod dab eel fir gum hay",
        category="synthesis",
        evidence=(Evidence(day=7),),
    )
    item = Item(id="all", text="What is here?", truth=truth, known_from=7)
    scenario = Scenario(id="port", epoch=EPOCH, episodes=(busy,), items=(item,))

    assert len(find_supporting_passages(scenario)[hash_question_id("port", "all")]) == MOST


@pytest.mark.parametrize("expects", [Expects.ABSTAIN, Expects.WITHHOLD])
def test_what_is_not_to_be_stated_has_no_support(expects: Expects) -> None:
    assert supported("It lifts 40 tons.", 1, expects=expects) == []


def test_a_question_that_cites_nothing_has_no_support() -> None:
    assert supported("It lifts 40 tons.") == []


def test_a_cited_turn_is_quoted_and_not_its_neighbours() -> None:
    chat = episode(1, "").replace(
        turns=(
            Turn(speaker="Ada", text="I bought a red kite."),
            Turn(speaker="Bo", text="So Ada did buy a red kite?"),
        )
    )
    truth = Truth(
        reference="a red kite", category="single-hop", evidence=(Evidence(day=1, turn=0),)
    )
    item = Item(id="kite", text="What did Ada buy?", truth=truth, known_from=1)
    scenario = Scenario(id="chat", epoch=EPOCH, episodes=(chat,), items=(item,))

    assert find_supporting_passages(scenario)[hash_question_id("chat", "kite")] == (
        Passage(text="Ada: I bought a red kite.", day=1, source="day-0001"),
    )


def test_every_question_has_an_entry_under_its_public_name(scenario: Scenario) -> None:
    found = find_supporting_passages(scenario)

    assert {key: [each.text for each in value] for key, value in found.items()} == {
        hash_question_id("ada", "old-name"): ["The cat is Fig."],
        hash_question_id("ada", "new-name"): ["The cat is now Plum."],
    }


@pytest.mark.slow
def test_most_of_a_real_reference_stands_in_a_few_sentences() -> None:
    import yaml

    folder = shared_data("recall-ea/executive-assistant")
    asked = yaml.safe_load((folder / "qa-180d" / "questions.yaml").read_text("utf-8"))
    early = [raw for raw in asked if max(raw["relevant_days"]) <= 60]
    days = [
        episode(day, (folder / "memories-180d" / f"day-{day:04}.md").read_text("utf-8"))
        for day in range(1, 61)
    ]
    items = tuple(
        Item(
            id=raw["id"],
            text=raw["question"],
            known_from=1,
            truth=Truth(
                reference=str(raw["answer"]),
                category=raw["category"],
                evidence=tuple(Evidence(day=day) for day in raw["relevant_days"]),
            ),
        )
        for raw in early
    )
    scenario = Scenario(
        id="real",
        epoch=EPOCH,
        episodes=tuple(day.replace(at=compute_story_date(EPOCH, day.day)) for day in days),
        items=items,
    )

    found = find_supporting_passages(scenario)

    shares = []
    for item in items:
        quoted = " ".join(each.text for each in found[hash_question_id("real", item.id)]).lower()
        wanted = {word for word in item.truth.reference.lower().split() if len(word) > 3}
        shares.append(mean(word.strip(".,;:()") in quoted for word in wanted) if wanted else 1.0)
    assert mean(shares) > 0.75
    assert mean(len(passages) for passages in found.values()) < 4


def found_by_search(*evidence: Evidence, **truth: object) -> list[Passage]:
    usual: dict[str, object] = {"reference": "40 tons", "category": "factual-recall"}
    item = Item(
        id="item",
        text="What about it?",
        truth=Truth(evidence=evidence, **usual | truth),  # type: ignore[arg-type]
        known_from=1,
    )
    scenario = Scenario(id="port", epoch=EPOCH, episodes=EPISODES, items=(item,))
    return list(find_evidence_passages(scenario)[hash_question_id("port", "item")])


def test_a_search_finds_the_paragraph_around_a_cited_sentence_with_its_heading() -> None:
    start = EPISODES[0].text.index("It was painted")
    span = Evidence(day=1, session="dock", start=start, end=start + len("It was painted yellow."))

    assert found_by_search(span) == [
        Passage(text="Crane\nThe crane lifts 40 tons. It was painted yellow.", day=1, source="dock")
    ]


def test_a_search_finds_the_whole_list() -> None:
    (found,) = found_by_search(Evidence(day=1), reference="Oda asked for a discount")

    assert found.text == (
        "Crane\nAgreed: the contract with Oda runs to 2026-03-31 Oda asked for a discount"
    )


def test_a_search_never_finds_the_reference_itself() -> None:
    found = found_by_search(Evidence(day=1), reference="85 tons", requires_synthesis=True)

    assert all("85" not in passage.text for passage in found)


def test_a_search_finds_passages_for_what_is_denied_too() -> None:
    assert found_by_search(Evidence(day=1), expects=Expects.ABSTAIN)


def test_a_search_does_not_find_what_the_asker_must_not_know() -> None:
    found = found_by_search(
        Evidence(day=1), Evidence(day=5), reference="40 tons, 45 tons", forbidden_sessions=("dock",)
    )

    assert [passage.source for passage in found] == ["office"]
