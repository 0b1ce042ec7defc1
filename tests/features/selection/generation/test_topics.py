"""A memory's words become pieces of English, or a quotation where they cannot."""

from recall_bench.features.selection.generation.composer import load_phrases
from recall_bench.features.selection.generation.topics import (
    MemoryTopic,
    TopicKind,
    extract_topics,
    learn_casing,
)
from recall_bench.features.selection.memory_file import read_memory
from tests.features.selection.generation.sample_memories import memories
from tests.loops import loop_over_rows


def pieces(text: str, name: str = "x9", around: str = "") -> list[tuple[str, str]]:
    memory = read_memory(f"memory/{name}.md", text)
    casing = learn_casing([memory, read_memory("memory/around.md", around)])
    return [(topic.kind.value, topic.text) for topic in extract_topics(memory, casing)]


@loop_over_rows(
    ("hint", "kind", "text"),
    [
        ("when baking", "doing", "baking"),
        ("When the user asks about repairing their bicycle", "doing", "repairing my bicycle"),
        ("if the user wants to book a flight", "wish", "book a flight"),
        ("Relevant when the user mentions taxes or deductions", "thing", "taxes or deductions"),
        ("recall this when user is training for a race", "doing", "training for a race"),
        ("Loading dock rules", "thing", "loading dock rules"),
        ("Use this note when baking", "doing", "baking"),
        ("when spring comes to the yard", "case", "when spring comes to the yard"),
        ("before a release goes out", "case", "before a release goes out"),
        ("When it is about Milo's school: times, rules", "thing", "Milo's school"),
        ("Recipe for the paste", "thing", "recipe for the paste"),
        ("Hallam Theatre and its logo", "thing", "Hallam Theatre and its logo"),
        ("how to claim; the policy", "thing", "how to claim"),
        (
            "when writing to clients about their work",
            "doing",
            "writing to clients about their work",
        ),
    ],
)
def test_a_hint_is_understood(hint: str, kind: str, text: str) -> None:
    around = "We print for Hallam Theatre and for Milo."

    assert pieces(f"<conditional>{hint}</conditional>", around=around) == [(kind, text)]


@loop_over_rows(
    ("sentence", "found"),
    [
        (
            "The lease runs until May.",
            [("claim", "the lease runs until May"), ("thing", "the lease")],
        ),
        ("Ingrid lives in Bergen.", [("claim", "Ingrid lives in Bergen"), ("thing", "Ingrid")]),
        (
            "Lessons are on Wednesday.",
            [("claim", "lessons are on Wednesday"), ("thing", "lessons")],
        ),
        ("The user prefers aisle seats.", [("mine", "I prefer aisle seats")]),
        ("The user never carries their keys.", [("mine", "I never carry my keys")]),
        ("The user's dog is called Rex.", [("claim", "my dog is called Rex"), ("thing", "my dog")]),
        ("User is left-handed and hates scissors.", [("mine", "I am left-handed")]),
        ("Drain the queue before it is full.", [("quote", "Drain the queue before it is full")]),
        (
            "By train wherever it takes nine hours.",
            [("quote", "By train wherever it takes nine hours")],
        ),
        ("Check the door is locked.", [("quote", "Check the door is locked")]),
        ("If it stops, call the garage.", [("quote", "If it stops, call the garage")]),
        ('Never say "just" to **anyone**.', [("quote", "Never say 'just' to anyone")]),
        ("Das Teleskop steht im Keller.", [("quote", "Das Teleskop steht im Keller")]),
        ("The flat is paid: two bedrooms.", [("claim", "the flat is paid"), ("thing", "the flat")]),
    ],
)
def test_a_sentence_is_claimed_or_quoted(sentence: str, found: list[tuple[str, str]]) -> None:
    assert pieces(sentence) == found


def test_an_action_of_a_named_person_is_a_claim() -> None:
    text = "Odile enrolled in a pottery class."

    assert pieces(text)[0] == ("quote", "Odile enrolled in a pottery class")
    assert pieces(text, around="We met Odile.")[0] == (
        "claim",
        "Odile enrolled in a pottery class",
    )


def test_the_rows_of_a_table_are_not_sentences() -> None:
    assert pieces("| what we print | number of cards | price |") == []


def test_sentences_that_point_elsewhere_are_passed_over() -> None:
    assert pieces("He answers letters only. Mr Okoro wants the rent early.")[0][1].startswith("Mr")


def test_keywords_come_in_pairs_with_the_capitals_of_names() -> None:
    text = "<fuzzy-match>ghent, fair, hotel</fuzzy-match>"

    assert pieces(text, around="We go to Ghent for the fair.") == [("thing", "Ghent and fair")]


def test_the_name_of_the_file_is_not_given_away() -> None:
    body = "The garden beds are watered early. The tomatoes were planted in May."

    found = pieces(body, name="garden-beds")

    assert [text for _, text in found] == ["the tomatoes were planted in May", "the tomatoes"]
    assert pieces("The garden beds are watered early.", name="garden_beds") == []
    assert pieces("See memory/trains.md for all of it.") == []


def test_a_name_of_one_word_may_be_said_if_there_is_nothing_else_to_say() -> None:
    assert pieces("The lease runs until May.", name="lease") == [
        ("claim", "the lease runs until May"),
        ("thing", "the lease"),
    ]


def test_a_memory_that_says_nothing_has_no_pieces() -> None:
    assert pieces("") == []
    assert pieces("---\n\n***\n") == []


def test_every_memory_of_the_drawer_has_something_to_say() -> None:
    casing = learn_casing(memories())

    assert all(extract_topics(memory, casing) for memory in memories())


def test_every_kind_has_several_sentences_with_one_place_each() -> None:
    phrases = load_phrases()
    for kind in TopicKind:
        assert len(phrases.alone[kind]) >= 4
        assert all(
            pattern.count("{}") == 1 for pattern in (*phrases.alone[kind], phrases.about[kind])
        )
    assert all(pattern.count("{}") == 2 for pattern in phrases.together)
    assert MemoryTopic(TopicKind.THING, "x") == MemoryTopic(TopicKind.THING, "x")
