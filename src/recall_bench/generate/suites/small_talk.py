"""Messages to an assistant that need no memory."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product


@dataclass(frozen=True, slots=True)
class ChatCategory:
    """A kind of message."""

    brief: str
    """The description for a model that writes one."""
    patterns: tuple[str, ...]
    """Our own messages; `{a|b}` is either of the two."""


CATEGORIES: dict[str, ChatCategory] = {
    "greeting": ChatCategory(
        "a greeting with nothing else in it",
        (
            "{Hi|Hello|Hey there}, {how is it going|good to see you|are you around}?",
            "Good {morning|afternoon|evening} to you, {my friend|old pal|stranger}!",
            "{Howdy|Greetings|Salutations}, nice to be back.",
        ),
    ),
    "thanks": ChatCategory(
        "thanks for an answer that was just given",
        (
            "{Thanks a lot|Many thanks|Thank you so much}, that {was clear|helped|did the trick}.",
            "{Brilliant|Wonderful|Splendid}, {exactly what I was after|you saved my afternoon}.",
            "Much appreciated, {that is plenty|nothing else for now}.",
        ),
    ),
    "farewell": ChatCategory(
        "a goodbye at the end of a conversation",
        (
            "{Bye for now|See you later|Good night}, {take care|sleep well|until next time}!",
            "I'm off, {talk soon|catch you another day|have a good one}.",
            "That's it from me, {over and out|cheerio|farewell}.",
        ),
    ),
    "go-ahead": ChatCategory(
        "a short go-ahead or a no to something that was just proposed",
        (
            "{Yes|Sure|Fine}, {go ahead|do it like that|sounds good to me}.",
            "{No|Nah|Nope}, {leave it|let's not|I'd rather skip that}.",
            "{Whichever|Either one} {is okay|suits me|will do}.",
        ),
    ),
    "arithmetic": ChatCategory(
        "a small sum or conversion of units",
        (
            "What is {17|38|64|125} {times|plus|divided by} {4|9|12|23}?",
            "How many {inches|centimetres} are there in {a yard|two feet|three metres}?",
            "What is {15|18|35} percent of {60|240|900}?",
        ),
    ),
    "geography": ChatCategory(
        "a question of general knowledge about the world's places",
        (
            "What is the capital of {Mongolia|Uruguay|Bhutan|Senegal|Latvia}?",
            "Which {ocean|sea} lies between {Africa and Australia|Sweden and Estonia}?",
            "Is {Greenland|Madagascar|Borneo} larger than {Iceland|New Guinea|Cuba}?",
        ),
    ),
    "science": ChatCategory(
        "a question about nature or science that any encyclopedia answers",
        (
            "Why {is the sky blue|do cats purr|does ice float|do leaves turn red}?",
            "How far is {the moon|Mars|Neptune} from {the earth|the sun}?",
            "Explain {photosynthesis|gravity|static electricity} {to a child|in two lines}.",
        ),
    ),
    "history": ChatCategory(
        "a question about history or art that any encyclopedia answers",
        (
            "Who {painted|stole} the Mona Lisa?",
            "In which century did {the Vikings|the Aztecs|the Ottomans} {rise|decline}?",
            "What was {the Hanseatic League|the Rosetta Stone|the Silk Road}?",
        ),
    ),
    "language": ChatCategory(
        "a question about a word, its meaning, spelling or translation",
        (
            "What does the word {serendipity|obsequious|quixotic|petrichor} mean?",
            "How do you say {see you tomorrow|cheers|butterfly} in {Spanish|Finnish|Korean}?",
            "Is it {affect or effect|stationary or stationery|principal or principle}, and when?",
        ),
    ),
    "joke": ChatCategory(
        "a wish to be amused with a joke, a riddle or a pun",
        (
            "Tell me a {joke|pun|limerick} about {penguins|vikings|skeletons|snails}.",
            "Got any good {riddles|tongue twisters} for {a rainy day|bored kids}?",
            "{Cheer me up|Make me laugh} with something {silly|absurd|daft}.",
        ),
    ),
    "verse": ChatCategory(
        "a wish for a few lines of poetry or a tiny story about something general",
        (
            "Write a {haiku|couplet|four-line poem} about {autumn rain|lighthouses|snow|owls}.",
            "Make up a {bedtime story|fable} about a {dragon|hedgehog|comet} in three lines.",
        ),
    ),
    "rewording": ChatCategory(
        "a request to reword, shorten or tidy the assistant's own last reply",
        (
            "Can you say that again in {simpler words|one line|a friendlier tone}?",
            "{Shorten|Rephrase|Polish} your last {reply|paragraph}, please.",
            "Turn that into {bullets|a table|plain prose}.",
        ),
    ),
    "mood": ChatCategory(
        "a passing remark on the writer's mood or the weather, with nothing to look up",
        (
            "I feel {a bit tired|rather cheerful|strangely restless} {today|right now}.",
            "What {gloomy|gorgeous|muggy} weather, {don't you think|isn't it|honestly}.",
            "{Ugh|Phew|Whew}, {Monday again|what a long afternoon|finally some quiet}.",
        ),
    ),
    "second thoughts": ChatCategory(
        "a message that takes back or puts off what was just asked",
        (
            "{Never mind|Forget it|Scratch that}, {I worked it out|it solved itself}.",
            "{Hold on|Wait|One moment}, {let me think|somebody is at the door|I'll be back}.",
            "Actually, {ignore my last message|that was meant for somebody else}.",
        ),
    ),
    "about you": ChatCategory(
        "a question about the assistant itself",
        (
            "Are you a {robot|person|program}, and do you {dream|get bored|ever sleep}?",
            "What {can't|can} you do, in general?",
            "Do you prefer being called {he|she|it}, or {nothing|something} else?",
        ),
    ),
    "game": ChatCategory(
        "an invitation to a quick game or quiz",
        (
            "Let's play {twenty questions|hangman|rock paper scissors}, you {start|go first}.",
            "Quiz me on {flags|dinosaurs|chess openings|constellations}, three questions.",
            "Flip a coin: {heads or tails|yes or no}?",
        ),
    ),
}
"""Categories by name; their messages suit any user on any day."""

_EITHER = re.compile(r"\{([^{}]*)\}")


@cache
def list_messages(category: str) -> tuple[str, ...]:
    """All our own messages of a category."""
    return tuple(
        text for pattern in CATEGORIES[category].patterns for text in _expand_pattern(pattern)
    )


def _expand_pattern(pattern: str) -> list[str]:
    parts = _EITHER.split(pattern)
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]
