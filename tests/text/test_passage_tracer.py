"""A passage belongs to the episode its text stands in; a claim is checked, and believed if need be.

Only what was fed counts. Of several episodes with the same text the first is meant, because that
is where the system was told, and because it stays the same however many days follow.
"""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.memory import DatedPassage, Passage
from recall_bench.core.scenario import Episode, Turn, compute_story_date
from recall_bench.text.passage_tracer import PROBES, SHINGLE, PassageTracer
from tests.loops import loop_over_rows

EPOCH = date(2024, 1, 1)

HARBOUR = (
    "The harbour master closed the north basin after the storm and moved both ferries to the old "
    "quay, where the pilots had to wait until the divers had cleared the anchor chain from it."
)
KITCHEN = (
    "Lunch was lentil soup with bread that Marta had baked before dawn, and nobody in the whole "
    "kitchen crew wanted to talk about the broken oven or about who was going to pay for it."
)
RAIN = "Rain."


def episode(day: int, text: str, *turns: Turn) -> Episode:
    return Episode(
        id=f"day-{day:04}",
        day=day,
        at=compute_story_date(EPOCH, day),
        text=text,
        turns=tuple(turns),
    )


def story(*texts: str) -> PassageTracer:
    return PassageTracer([episode(day, text) for day, text in enumerate(texts, start=1)])


def day_of(tracer: PassageTracer, passage: Passage, until: int = 99) -> int | None:
    return tracer.trace(passage, until).day


def test_a_claimed_id_is_confirmed_by_the_text() -> None:
    tracer = story(KITCHEN, HARBOUR)

    assert day_of(tracer, Passage(text=HARBOUR, id="day-0002")) == 2


def test_an_id_comes_before_a_day() -> None:
    tracer = story(HARBOUR, HARBOUR)

    assert day_of(tracer, Passage(text=HARBOUR, id="day-0002", day=1)) == 2


@pytest.mark.parametrize(
    "passage",
    [
        pytest.param(Passage(text=HARBOUR, id="day-0001"), id="an id"),
        pytest.param(Passage(text=HARBOUR, day=1), id="a day"),
        pytest.param(Passage(text=HARBOUR, id="row 17", day=1), id="a day beside a strange id"),
    ],
)
def test_the_text_decides_against_a_claim(passage: Passage) -> None:
    tracer = story(KITCHEN, HARBOUR)

    assert day_of(tracer, passage) == 2


@pytest.mark.parametrize("text", ["Ferries were relocated for safety.", "Summary.", ""])
@pytest.mark.parametrize("named", [{"day": 2}, {"id": "day-0002"}], ids=["day", "id"])
def test_a_claim_about_a_text_that_is_found_nowhere_is_kept_apart(
    text: str, named: dict[str, Any]
) -> None:
    """Anybody can name a day: without its words nothing was found."""
    traced = story(KITCHEN, HARBOUR).trace(Passage(text=text, **named), 2)

    assert traced.day is None
    assert traced.claimed == 2


def test_a_system_cannot_say_what_the_tracer_says() -> None:
    quoted = story(KITCHEN, HARBOUR).trace(Passage(text=HARBOUR, claimed=1, turn=3), 2)

    assert (quoted.day, quoted.claimed, quoted.turn) == (2, None, None)


@pytest.mark.parametrize(
    "passage",
    [
        pytest.param(Passage(text="Ferries were relocated.", id="day-0003"), id="an id"),
        pytest.param(Passage(text="Ferries were relocated.", day=3), id="a day"),
    ],
)
def test_a_claim_of_a_day_that_was_not_fed_yet_counts_for_nothing(passage: Passage) -> None:
    tracer = story(KITCHEN, HARBOUR, "Something else altogether.")

    assert day_of(tracer, passage, until=2) is None


def test_a_text_that_was_fed_only_after_the_checkpoint_is_not_found() -> None:
    tracer = story(KITCHEN, RAIN, HARBOUR)
    passage = Passage(text=HARBOUR)

    before, after = day_of(tracer, passage, until=2), day_of(tracer, passage, until=3)

    assert (before, after) == (None, 3)


def test_a_find_of_a_late_checkpoint_is_not_reused_at_an_early_one() -> None:
    tracer = story(KITCHEN, RAIN, HARBOUR)
    passage = Passage(text=HARBOUR)

    late, early = day_of(tracer, passage, until=3), day_of(tracer, passage, until=2)

    assert (late, early) == (3, None)


def test_of_two_days_with_the_same_text_the_first_is_returned() -> None:
    tracer = story(RAIN, HARBOUR, KITCHEN, HARBOUR)

    days = [day_of(tracer, Passage(text=HARBOUR), until=until) for until in (2, 3, 4)]

    assert days == [2, 2, 2]


def test_a_claim_tells_two_days_with_the_same_text_apart() -> None:
    tracer = story(RAIN, HARBOUR, KITCHEN, HARBOUR)

    assert day_of(tracer, Passage(text=HARBOUR, day=4)) == 4


def test_line_breaks_and_blanks_do_not_matter() -> None:
    tracer = story(KITCHEN, HARBOUR)

    assert day_of(tracer, Passage(text=HARBOUR.replace(" ", "\n  "))) == 2


def test_a_passage_cut_inside_of_a_word_is_found() -> None:
    tracer = story(KITCHEN, HARBOUR)

    assert day_of(tracer, Passage(text=HARBOUR[6:-6])) == 2


def test_the_day_that_shares_most_of_the_words_wins() -> None:
    first_half = " ".join(HARBOUR.split()[:20])
    tracer = story(f"{first_half} and so on.", f"{HARBOUR} The end.", KITCHEN)
    passage = Passage(text=f"From my notes: {HARBOUR} That is all.")

    assert day_of(tracer, passage) == 2


def test_less_than_half_of_the_words_is_not_enough() -> None:
    words = HARBOUR.split()
    tracer = story(" ".join(words[:12]), KITCHEN)

    assert day_of(tracer, Passage(text=HARBOUR)) is None


def test_a_date_before_a_short_passage_does_not_hide_it() -> None:
    text = "Marta baked the bread for lunch before dawn again."
    tracer = story(RAIN, text, KITCHEN)

    assert day_of(tracer, Passage(text=f"On 2024-01-02: {text}")) == 2


def test_a_short_passage_is_not_found_inside_of_other_words() -> None:
    tracer = story("Figures were late.", "The cat is Fig.")

    assert day_of(tracer, Passage(text="Fig")) == 2


@pytest.mark.parametrize("text", ["", "  \n", "— … !"])
def test_a_passage_without_a_word_has_no_place_of_its_own(text: str) -> None:
    tracer = story(RAIN, "— … !")

    assert day_of(tracer, Passage(text=text)) is None


def test_a_long_passage_is_probed_and_not_read_word_by_word() -> None:
    many = " ".join(f"w{n}" for n in range(PROBES * SHINGLE * 4))
    tracer = story(RAIN, f"{many}!")

    assert day_of(tracer, Passage(text=f"so: {many} (end)")) == 2


ADA = Turn(speaker="Ada", text="The boat leaves at noon, and not before the tide has turned.")
BO = Turn(speaker="Bo", text="Then I shall bring the charts and the two lamps we bought.")


def chat() -> PassageTracer:
    text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in (ADA, BO))
    return PassageTracer([episode(1, RAIN), episode(2, text, ADA, BO)])


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        pytest.param(BO.text, 1, id="an utterance"),
        pytest.param(f"Bo: {BO.text}", 1, id="with its speaker"),
        pytest.param("bring the charts and the two lamps", 1, id="a part of one"),
        pytest.param(f"[2024-01-02] Ada said: {ADA.text}", 0, id="with something added"),
        pytest.param(
            "On 2024-01-02: Bo: shall bring the charts and the two lamps we bought.", 1, id="both"
        ),
        pytest.param(f"Ada: {ADA.text}\nBo: {BO.text}", None, id="several"),
        pytest.param(
            "before the tide has turned. Bo: Then I shall bring the charts",
            None,
            id="halves of two",
        ),
    ],
)
def test_the_turn_is_reported_if_the_passage_is_from_one(text: str, turn: int | None) -> None:
    found = chat().trace(Passage(text=text), 2)

    assert (found.day, found.turn) == (2, turn)


def test_a_passage_of_several_turns_is_of_all_it_holds_whole() -> None:
    tracer = chat()
    both, half = f"Ada: {ADA.text} Bo: {BO.text}", f"Ada: {ADA.text} Bo: Then I shall"

    assert tracer.trace(Passage(text=both), 2).turns == (0, 1)
    assert tracer.trace(Passage(text=half), 2).turns == ()
    assert tracer.trace(Passage(text=BO.text), 2).turns == ()


def test_a_short_turn_does_not_split_a_sequence_of_turns() -> None:
    told = [Turn(speaker="Ada", text=text) for text in ("Yes.", "Rain.", "Is it? Yes.", "So so.")]
    tracer = PassageTracer([episode(1, "\n".join(f"Ada: {turn.text}" for turn in told), *told)])

    found = tracer.trace(Passage(text="Ada: Is it? Yes. Ada: So so."), 1)

    assert found.turns == (2, 3)


WORDS = st.lists(st.sampled_from([f"w{n:02}" for n in range(40)]), min_size=1, max_size=40)
STORIES = st.lists(WORDS, min_size=1, max_size=6)


@given(STORIES, st.data())
def test_any_stretch_of_a_fed_day_is_traced_to_the_first_day_that_has_it(
    told: list[list[str]], data: st.DataObject
) -> None:
    tracer = story(*(" ".join(words) for words in told))
    until = data.draw(st.integers(1, len(told)))
    source = told[data.draw(st.integers(0, until - 1))]
    start = data.draw(st.integers(0, len(source) - 1))
    end = data.draw(st.integers(start + 1, len(source)))
    text = f" {' '.join(source[start:end])} "

    found = day_of(tracer, Passage(text=text), until)

    first = next(day for day, words in enumerate(told, 1) if text in f" {' '.join(words)} ")
    assert found == first


@given(STORIES, WORDS, st.integers(0, 7), st.integers(0, 7))
def test_no_passage_is_ever_traced_to_a_day_after_the_checkpoint(
    told: list[list[str]], words: list[str], claim: int, until: int
) -> None:
    tracer = story(*(" ".join(each) for each in told))

    found = tracer.trace(Passage(text=" ".join(words), day=claim), until)

    assert found.day is None or found.day <= min(until, len(told))


LOG = (
    f"# session: quay\n\n{HARBOUR}  The divers\nwere paid. It rained.\n\n"
    f"# session: mess\n\n{KITCHEN}\n"
)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param(HARBOUR, HARBOUR, id="as it stands"),
        pytest.param("The divers were paid.", "The divers\nwere paid.", id="other white space"),
        pytest.param(
            f"2024-01-01: {HARBOUR} The divers were paid.",
            f"{HARBOUR}  The divers\nwere paid.",
            id="a date in front",
        ),
        pytest.param(
            "the quay: the old quay, where the pilots had to wait",
            "the old\nquay, where the pilots had to wait".replace("\n", " "),
            id="part of a sentence, and a place in front",
        ),
        pytest.param("The divers got their money.", None, id="other words"),
        pytest.param("The divers were paid. Lunch was lentil soup.", None, id="two places"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_quotation_has_a_range_in_its_day(text: str, quoted: str | None) -> None:
    (found,) = story(LOG).find_spans([Passage(text=text, day=1)]) or (None,)

    assert (None if found is None else LOG[slice(*found)]) == quoted


def test_ranges_are_those_of_the_days_alone() -> None:
    """Evidence refers to the days: a range in a transcript of them would be another place."""
    retold = PassageTracer([episode(1, LOG)], is_verbatim=False)
    spoken = PassageTracer([episode(1, KITCHEN, Turn(speaker="Ada", text=KITCHEN))])

    assert retold.find_spans([Passage(text=HARBOUR, day=1)]) == ()
    assert spoken.find_spans([Passage(text=KITCHEN, day=1)]) == ()
    assert story(LOG).find_spans([Passage(text=HARBOUR)]) == ()


def test_ranges_stand_beside_their_passages() -> None:
    passages = [Passage(text="Nothing of it.", day=1), Passage(text=KITCHEN, day=1)]

    first, second = story(LOG).find_spans(passages)

    assert first is None
    assert second is not None


@loop_over_rows("text", ["the", "The", "about who", "the old"])
def test_a_word_that_is_in_other_days_too_does_not_prove_a_claim(text: str) -> None:
    tracer = story(HARBOUR, KITCHEN + " About who the old man was.", KITCHEN + " The old one.")

    assert day_of(tracer, Passage(text=text, day=3)) != 3


def test_a_word_that_is_in_one_day_only_proves_a_claim_until_others_say_it() -> None:
    texts = HARBOUR, KITCHEN, "Marta came again and brought the divers with her this time around."
    tracer = story(*texts)
    found = [day_of(tracer, Passage(text="Marta", day=2), until) for until in (2, 3)]

    assert found == [2, 2]
    assert day_of(tracer, Passage(text="Marta", day=3), 3) == 2
    assert day_of(story(*texts), Passage(text="Marta", day=3), 3) == 2


def test_a_short_turn_or_line_is_of_the_day_that_is_named() -> None:
    lines = "Did it rain?\n\nYes, it did.\n"
    turns = Turn(speaker="Ada", text="Yes, it did."), Turn(speaker="Bo", text="Good.")
    tracer = PassageTracer([episode(1, lines), episode(2, lines), episode(3, lines, *turns)])

    assert day_of(tracer, Passage(text="Yes, it did.", day=2)) == 2
    assert day_of(tracer, Passage(text="Yes, it did.", id="day-0003")) == 3


DAY = "# session: board\n\nThe loan is due.\n\n# session: crew\n\nThe crane is broken."


@pytest.mark.parametrize(
    ("passage", "dated"),
    [
        pytest.param(Passage(text=HARBOUR, id="day-0002"), ("2024-01-02", None), id="an id"),
        pytest.param(Passage(text=HARBOUR, day=2), ("2024-01-02", None), id="a day"),
        pytest.param(Passage(text=KITCHEN, day=2), ("2024-01-02", None), id="a wrong day"),
        pytest.param(Passage(text="A summary.", day=1), ("2024-01-01", None), id="a summary"),
        pytest.param(Passage(text=HARBOUR), None, id="nothing, though it can be traced"),
        pytest.param(Passage(text=HARBOUR, claimed=2), None, id="nothing itself"),
        pytest.param(Passage(text=RAIN, day=4), None, id="a day that was not fed"),
        pytest.param(
            Passage(text="The loan is due.", day=3, source="crew"),
            ("2024-01-03", "crew"),
            id="room",
        ),
        pytest.param(
            Passage(text="The loan is due.", day=3, source="x" * 9), ("2024-01-03", None), id="file"
        ),
    ],
)
def test_a_reader_learns_the_day_and_session_that_the_system_names_and_no_more(
    passage: Passage, dated: tuple[str, str | None] | None
) -> None:
    found = story(KITCHEN, HARBOUR, DAY, RAIN).date_passage(passage, until=3)

    if dated is None:
        assert found == passage
        assert not isinstance(found, DatedPassage)
    else:
        assert isinstance(found, DatedPassage)
        assert (found.at.date().isoformat(), found.session) == dated
        assert (found.text, found.day) == (passage.text, passage.day)


def test_a_session_of_its_own_is_named_with_its_episode() -> None:
    chat = episode(1, RAIN).replace(session="book-club")
    found = PassageTracer([chat]).date_passage(Passage(text=RAIN, id="day-0001"), until=1)

    assert isinstance(found, DatedPassage)
    assert found.session == "book-club"
