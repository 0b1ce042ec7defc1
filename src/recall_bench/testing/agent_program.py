"""Small agents with known faults, as a program that is run once for each message.

Python and its standard library are all it needs, so that it starts fast: `python agent_program.py
notes`. What it remembers is in the file `notes.json` of its home. `agent_server` serves the same
agents over HTTP.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

BEHAVIOURS = ("notes", "chat", "echo", "forgetful", "slow", "streams", "crashes", "endless")
"""`notes` keeps every line and quotes the one that fits, `chat` does so in one conversation; the
others are named for what they do."""

CRASH_DAY = 5
NO_RECORD = "I have no record of that."

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    "a an and are did i in is it of on the to today took was what which who".split()
)


class AgentCrash(Exception):
    """The agent breaks down, as `crashes` does at the fifth day."""


class NoteTaker:
    """What an agent remembers of one user, and its reply to a message."""

    def __init__(self, behaviour: str, notes: list[list[str]], pause_s: float = 0.0) -> None:
        self._behaviour = behaviour
        self.notes = notes
        """The lines of each message with a day, oldest first."""
        self._pause_s = pause_s

    def reply(self, message: str) -> str:
        """Answer a question, remember anything else."""
        if self._behaviour == "slow":
            time.sleep(self._pause_s)
        if self._behaviour == "echo":
            return message
        if _is_question(message):
            return self._find_line(message)
        self.notes.append(split_lines(message))
        if self._behaviour == "forgetful":
            del self.notes[:-1]
        if self._behaviour == "crashes" and len(self.notes) >= CRASH_DAY:
            raise AgentCrash(f"message {len(self.notes)} is too much for me")
        return "Noted."

    @property
    def is_endless(self) -> bool:
        """Whether it calls tools and never answers."""
        return self._behaviour == "endless"

    def _find_line(self, question: str) -> str:
        """The line with most words of the question, the latest of several."""
        wanted = _extract_words(question)
        best, most = NO_RECORD, 0
        for lines in self.notes:
            # The first line is how the message opens, with its date.
            for line in lines[1:] or lines:
                common = len(wanted & _extract_words(line))
                if common and common >= most:
                    best, most = line, common
        return best


def split_lines(message: str) -> list[str]:
    """What is kept of a message."""
    return [line for line in message.splitlines() if line.strip()]


def split_words(text: str) -> Iterator[str]:
    """The pieces in which a reply is streamed."""
    yield from re.findall(r"\s*\S+|\s+$", text)


def _is_question(message: str) -> bool:
    """A day opens with a request to remember it; a question opens with its date alone."""
    is_opening = message.startswith("Today is ")
    return (is_opening and "Please remember" not in message) or message.rstrip().endswith("?")


def _extract_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


def main() -> None:
    """Read a message, print the reply."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("behaviour", choices=BEHAVIOURS)
    parser.add_argument("--prompt", help="the message; standard input without it")
    parser.add_argument("--prompt-file", type=Path)
    parser.add_argument("--reply-file", type=Path, help="where the reply goes; else it is printed")
    parser.add_argument("--session", default="", help="the conversation")
    parser.add_argument("--json", action="store_true", help="print JSON with tokens and cost")
    parser.add_argument("--pause", type=float, default=0.0, help="the seconds that `slow` takes")
    given = parser.parse_args()
    if given.prompt is not None:
        message = given.prompt
    elif given.prompt_file is not None:
        message = given.prompt_file.read_text(encoding="utf-8")
    else:
        message = sys.stdin.buffer.read().decode("utf-8", "replace")
    name = f"notes-{given.session}.json" if given.behaviour == "chat" else "notes.json"
    place = Path(os.environ["HOME"], name)
    notes = json.loads(place.read_text(encoding="utf-8")) if place.exists() else []
    agent = NoteTaker(given.behaviour, notes, given.pause)
    while agent.is_endless:
        sys.stderr.write("calling the tool search_notes\n")
        time.sleep(0.05)
    text = agent.reply(message)
    place.write_text(json.dumps(notes), encoding="utf-8")
    if given.json:
        used = {"input_tokens": len(message.split()), "output_tokens": len(text.split())}
        text = json.dumps({"result": text, "usage": used, "total_cost_usd": 0.001})
    if given.reply_file is not None:
        given.reply_file.write_text(text, encoding="utf-8")
        return
    for piece in split_words(text):
        sys.stdout.write(piece)
        if given.behaviour == "streams":
            sys.stdout.flush()


if __name__ == "__main__":
    main()
