"""What an agent is told and asked, word for word: another wording is another version."""

from datetime import datetime

from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.features.agents.talk_settings import (
    WORDING_VERSION,
    Telling,
    ask_question,
    tell_episode,
)

MONDAY = datetime(2025, 3, 3, 9)
OPENING = (
    "Today is Monday, 2025-03-03. Please remember what follows, I will come back to it another "
    "day. A short reply is enough."
)
DIALOGUE = Episode(
    id="day-0001",
    day=1,
    at=MONDAY,
    text="user: Anything new?\nassistant: The boiler leaks.\nuser: Call Ada.\nuser: Today.",
    turns=(
        Turn(speaker="assistant", text="Good morning."),
        Turn(speaker="user", text="Anything new?"),
        Turn(speaker="assistant", text="The boiler leaks."),
        Turn(speaker="user", text="Call Ada."),
        Turn(speaker="user", text="Today."),
    ),
)


def test_the_wording_of_version_one() -> None:
    day = Episode(id="day-0001", day=1, at=MONDAY, text="The boiler leaks.")
    question = Question(id="q", text="What leaks?", asked_at=MONDAY, scenario="s")

    assert WORDING_VERSION == 1
    assert tell_episode(day) == (f"{OPENING}\n\nThe boiler leaks.",)
    assert ask_question(question) == "Today is Monday, 2025-03-03. What leaks?"


def test_a_session_and_options_are_stated() -> None:
    day = Episode(id="day-0001", day=1, at=MONDAY, text="The boiler leaks.", session="finance")
    question = Question(
        id="q",
        text="What leaks?",
        asked_at=MONDAY,
        scenario="s",
        session="finance",
        choices=("(A) the tap", "(B) the boiler"),
    )

    assert 'This is from the session "finance".' in tell_episode(day)[0]
    assert ask_question(question) == (
        'Today is Monday, 2025-03-03. I ask from the session "finance". What leaks? '
        "\n\nAnswer with one of these:\n(A) the tap\n(B) the boiler"
    )


def test_each_turn_of_the_user_is_a_message_and_nothing_is_lost() -> None:
    assert tell_episode(DIALOGUE) == (
        f"{OPENING}\n\nassistant: Good morning.\n\nAnything new?\n\nassistant: The boiler leaks.",
        "Call Ada.",
        "Today.",
    )


def test_what_others_say_can_be_left_out() -> None:
    assert tell_episode(DIALOGUE, Telling.USER_TURNS) == (
        f"{OPENING}\n\nAnything new?",
        "Call Ada.",
        "Today.",
    )


def test_a_dialogue_can_be_one_message_and_one_without_a_user_always_is() -> None:
    friends = DIALOGUE.replace(turns=(Turn(speaker="Ada", text="Hello."),))

    assert tell_episode(DIALOGUE, Telling.DAY) == (f"{OPENING}\n\n{DIALOGUE.text}",)
    assert tell_episode(friends) == (f"{OPENING}\n\n{DIALOGUE.text}",)
