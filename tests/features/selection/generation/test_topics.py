"""A memory's hints and keywords become parts of a sentence, and everything else is quoted."""

from recall_bench.features.selection.generation.composer import load_phrases
from recall_bench.features.selection.generation.topics import TopicKind, extract_topics
from recall_bench.features.selection.memory_file import read_memory
from tests.features.selection.generation.sample_memories import memories
from tests.loops import loop_over_rows


def pieces(text: str, name: str = "x9") -> list[tuple[str, str]]:
    memory = read_memory(f"memory/{name}.md", text)
    return [(topic.kind.value, topic.text) for topic in extract_topics(memory)]


@loop_over_rows(
    ("hint", "kind", "text"),
    [
        ("if the user wants to book a flight", "wish", "book a flight"),
        ("Relevant when the user mentions taxes or deductions", "thing", "taxes or deductions"),
        ("When the user asks about repairing bicycles", "thing", "repairing bicycles"),
        ("Use this note when baking", "case", "when baking"),
        ("when spring comes to the yard", "case", "when spring comes to the yard"),
        ("Before a release goes out", "case", "before a release goes out"),
        ("Hallam Theatre and its logo", "thing", "Hallam Theatre and its logo"),
        ("how to claim; the policy", "thing", "how to claim"),
    ],
)
def test_a_hint_is_understood(hint: str, kind: str, text: str) -> None:
    assert pieces(f"<conditional>{hint}</conditional>") == [(kind, text)]


def test_a_hint_that_still_speaks_of_the_user_is_no_topic() -> None:
    assert pieces("<conditional>when the user is training for a race</conditional>") == []


def test_the_first_word_of_a_hint_is_a_name_unless_it_is_written_small_too() -> None:
    hint = "<conditional>Loading dock rules</conditional>"

    assert pieces(hint)[0] == ("thing", "Loading dock rules")
    assert pieces(f"{hint}\nEvery loading takes an hour.")[0] == ("thing", "loading dock rules")


@loop_over_rows(
    ("sentence", "quote"),
    [
        ("The lease runs until May.", "The lease runs until May"),
        ('Never say "just" to **anyone**.', "Never say 'just' to anyone"),
        ("Das Teleskop steht im Keller.", "Das Teleskop steht im Keller"),
    ],
)
def test_a_sentence_is_quoted(sentence: str, quote: str) -> None:
    assert pieces(sentence) == [("quote", quote)]


def test_of_a_long_sentence_a_clause_is_quoted() -> None:
    text = f"The kiln is fired on Mondays, {'and then once more ' * 5}if there is time."

    assert pieces(text) == [("quote", "The kiln is fired on Mondays")]


def test_the_rows_of_a_table_are_not_sentences() -> None:
    assert pieces("| what we print | number of cards | price |") == []


def test_sentences_that_point_elsewhere_are_passed_over() -> None:
    assert pieces("He answers letters only. Mr Okoro wants the rent early.")[0][1].startswith("Mr")


def test_keywords_come_in_pairs() -> None:
    assert pieces("<fuzzy-match>ghent, fair, hotel</fuzzy-match>") == [("thing", "ghent and fair")]


def test_the_name_of_the_file_is_not_given_away() -> None:
    body = "The garden beds are watered early. The tomatoes were planted in May."

    assert pieces(body, name="garden-beds") == [("quote", "The tomatoes were planted in May")]
    assert pieces("The garden beds are watered early.", name="garden_beds") == []
    assert pieces("See memory/trains.md for all of it.") == []


def test_a_name_of_one_word_may_be_said_if_there_is_nothing_else_to_say() -> None:
    assert pieces("The lease runs until May.", name="lease") == [
        ("quote", "The lease runs until May")
    ]


def test_a_memory_that_says_nothing_has_no_pieces() -> None:
    assert pieces("") == []
    assert pieces("---\n\n***\n") == []


def test_every_memory_of_the_drawer_has_something_to_say() -> None:
    assert all(map(extract_topics, memories()))


def test_every_kind_has_several_sentences_with_one_place_each() -> None:
    phrases = load_phrases()
    for kind in TopicKind:
        assert len(phrases.alone[kind]) >= 4
        assert all(
            pattern.count("{}") == 1 for pattern in (*phrases.alone[kind], phrases.about[kind])
        )
    assert all(pattern.count("{}") == 2 for pattern in phrases.together)
