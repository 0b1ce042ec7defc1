"""What users say around what they mean."""

from dataclasses import dataclass

from recall_bench.selection.generate.topics import MemoryTopic, TopicKind

ALONE: dict[TopicKind, tuple[str, ...]] = {
    TopicKind.THING: (
        "What do we have on {}?",
        "Can you remind me about {}?",
        "What was the story with {} again?",
        "Fill me in on {} before I get started.",
        "I have to deal with {} today, so what should I keep in mind?",
        "Where did we leave things with {}?",
        "Somebody asked me about {} this morning, and I drew a blank.",
    ),
    TopicKind.DOING: (
        "I'm about to start {}, so what should I keep in mind?",
        "Can you give me a hand with {}?",
        "What did we settle on for {}?",
        "Anything I should know before {}?",
        "Next on my list is {}.",
    ),
    TopicKind.WISH: (
        "I want to {}, so where do I start?",
        "I need to {} this week.",
        "Could you help me {}?",
        "What is the best way to {}?",
        "It's about time to {}, and I'd rather not get it wrong.",
    ),
    TopicKind.CASE: (
        "What do we usually do {}?",
        "I never remember what to do {}.",
        "What is there to think of {}?",
        "Walk me through what happens {}.",
    ),
    TopicKind.CLAIM: (
        "Is it still the case that {}?",
        "Am I right that {}?",
        "I could have sworn that {}, or did that change?",
        "Can you settle whether {}?",
        "Let's assume that {} and go from there.",
    ),
    TopicKind.MINE: (
        "Did I ever mention that {}?",
        "Please bear in mind that {}.",
        "You do remember that {}, right?",
        "Given that {}, what would you suggest?",
    ),
    TopicKind.QUOTE: (
        'I found a scribble that says "{}", what was that about?',
        'Does "{}" still apply?',
        'My old notes read "{}", is that still up to date?',
        'What did I mean by "{}"?',
    ),
}
"""One sentence about one piece."""

ABOUT: dict[TopicKind, str] = {
    TopicKind.THING: "{}",
    TopicKind.DOING: "{}",
    TopicKind.WISH: "how to {}",
    TopicKind.CASE: "what to do {}",
    TopicKind.CLAIM: "whether {}",
    TopicKind.MINE: "the fact that {}",
    TopicKind.QUOTE: 'my note "{}"',
}
"""A piece as a noun, so that two fit into one sentence."""

TOGETHER: tuple[str, ...] = (
    "I have a question about {}, and another one about {}.",
    "Two things are on my mind today: {}, and {}.",
    "Can you look into {}, and then into {}?",
    "Before I forget, let's talk about {}, and also about {}.",
    "Please tell me what you know about {}, and about {}.",
)

FRAMES: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("", ""),
    ("Quick question.", ""),
    ("Hi again.", ""),
    ("", "Thanks!"),
    ("", "No rush."),
    ("I only have a minute.", ""),
    ("", "A short answer will do."),
    ("Sorry to bother you with this.", ""),
)
"""What comes before and after, where there is room for it."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A sentence, and the pattern it was made by."""

    pattern: str
    text: str


def phrase_alone(topic: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every way to bring the piece up in a sentence of its own."""
    return tuple(Phrasing(pattern, pattern.format(topic.text)) for pattern in ALONE[topic.kind])


def phrase_together(one: MemoryTopic, two: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every way to bring up two pieces in one sentence."""
    nouns = [ABOUT[topic.kind].format(topic.text) for topic in (one, two)]
    return tuple(Phrasing(pattern, pattern.format(*nouns)) for pattern in TOGETHER)
