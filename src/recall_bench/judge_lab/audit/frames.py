"""Sentences to say a value in. None of them adds a fact, a number or a name."""

from recall_bench.judge_lab.audit.values import ValueKind

_BARE_FRAMES = ("{V}.", "{v}")
_ANY_FRAMES = (
    "According to the notes: {v}.",
    "Short answer: {v}.",
    "Going by what was written down at the time, {v}.",
    "I have it down as {v}.",
    "From the log: {v}.",
    "I looked this up, and the entry says {v}.",
    "As far as I remember, and the log bears me out, {v}.",
    "**Answer:** {v}",
    "The notes are clear on this: {v}.",
    "It's {v}.",
    "That'd be {v}.",
    "If I'm not mistaken, {v}.",
    "{V}, I believe.",
    "From memory: {v}.",
    "It looks like {v}.",
    "One entry settles it: {v}.",
    "The answer you want is {v}, according to my notes.",
    "{V} (I have checked).",
    "Let me see: {v}.",
    "OK, here goes: {v}.",
    "Sure! Here is what I found: {v}.",
)
_KIND_FRAMES: dict[ValueKind, tuple[str, ...]] = {
    ValueKind.DATE: (
        "It was {v}.",
        "The date in the log is {v}.",
        "{V} is the day you are after.",
        "That fell on {v}.",
        "The day given for it is {v}.",
    ),
    ValueKind.TIME: (
        "At {v}.",
        "It was {v} by the clock.",
        "The hour noted for it is {v}.",
    ),
    ValueKind.MONEY: (
        "It came to {v}.",
        "The sum was {v}.",
        "{V}, that is the figure on record.",
        "The amount given is {v}.",
    ),
    ValueKind.PERCENT: (
        "It stood at {v}.",
        "The figure was {v}.",
        "{V}, according to the entry.",
    ),
    ValueKind.MEASURE: (
        "It was {v}.",
        "The figure is {v}.",
        "{V}, by the record.",
        "It came to {v}.",
    ),
    ValueKind.NUMBER: (
        "I count {v}.",
        "The number is {v}.",
        "It comes to {v}.",
        "Going through the entries one by one, I get {v}.",
    ),
    ValueKind.CODE: (
        "It is {v}.",
        "The one on file is {v}.",
        "The number you want is {v}.",
    ),
    ValueKind.PERSON: (
        "It was {v}.",
        "That was {v}.",
        "{V} was the one.",
        "The name in the log is {v}.",
        "The person you mean is {v}.",
    ),
    ValueKind.NAME: (
        "It was {v}.",
        "That would be {v}.",
        "{V}, as the entry has it.",
        "The name noted is {v}.",
    ),
    ValueKind.PHRASE: (
        "In so many words: {v}.",
        "What the entry says is this: {v}.",
        "{V}, as it was put at the time.",
        "Summed up, the entry says: {v}.",
    ),
}


def list_frames(kind: ValueKind) -> tuple[str, ...]:
    """The sentences fit for a value of this make; `{v}` is the value, `{V}` opens the sentence."""
    return _KIND_FRAMES[kind] + _ANY_FRAMES + _BARE_FRAMES


def list_sentence_frames(kind: ValueKind) -> tuple[str, ...]:
    """The same without those that are nothing but the value."""
    return _KIND_FRAMES[kind] + _ANY_FRAMES


def fill_frame(frame: str, text: str) -> str:
    """The text in its sentence."""
    spoken = frame.replace("{V}", capitalise(text)).replace("{v}", text)
    return spoken.replace("..", ".") if text.endswith(".") else spoken


def capitalise(text: str) -> str:
    """The text with a capital, unless it starts with an identifier or a figure."""
    first = text.partition(" ")[0]
    if any(mark.isdigit() or mark.isupper() for mark in first):
        return text
    return text[:1].upper() + text[1:]
