"""Small agents with known faults, as a program that is run once for each message.

Python and its standard library are all it needs, so that it starts fast: `python agent_program.py
notes`. What it remembers is in the file `notes.json` of its home. `agent_server` serves the same
agents over HTTP.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence

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


_OPTIONS = {
    "--prompt": "the message; standard input without it",
    "--prompt-file": "the file with the message",
    "--reply-file": "where the reply goes; else it is printed",
    "--session": "the conversation",
    "--pause": "the seconds that `slow` takes",
}
_JSON = "--json"
_HELP = "\n".join(
    (
        f"usage: agent_program.py [OPTION VALUE]... [{_JSON}] {{{','.join(BEHAVIOURS)}}}\n",
        *(f"  {name:<14}{use}" for name, use in _OPTIONS.items()),
        f"  {_JSON:<14}print JSON with tokens and cost",
    )
)


def _read_words(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The behaviour and the options. To import argparse takes as long as all the rest."""
    behaviour, given, rest = "", dict[str, str](), iter(words)
    for word in rest:
        name, sign, value = word.partition("=")
        if word == _JSON:
            given[word] = ""
        elif name in _OPTIONS and (found := value if sign else next(rest, None)) is not None:
            given[name] = found
        elif word in BEHAVIOURS and not behaviour:
            behaviour = word
        else:
            sys.exit(_HELP if word == "--help" else f"unknown: {word}\n{_HELP}")
    return behaviour or sys.exit(_HELP), given


def _read_file(path: str) -> str:
    # To import pathlib takes a third of the time of this program.
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def _write_file(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def main() -> None:
    """Read a message, print the reply."""
    behaviour, given = _read_words(sys.argv[1:])
    if "--prompt" in given:
        message = given["--prompt"]
    elif "--prompt-file" in given:
        message = _read_file(given["--prompt-file"])
    else:
        message = sys.stdin.buffer.read().decode("utf-8", "replace")
    name = f"notes-{given.get('--session', '')}.json" if behaviour == "chat" else "notes.json"
    place = f"{os.environ['HOME']}/{name}"
    notes = json.loads(_read_file(place)) if os.access(place, os.F_OK) else []
    agent = NoteTaker(behaviour, notes, float(given.get("--pause", 0)))
    while agent.is_endless:
        sys.stderr.write("calling the tool search_notes\n")
        time.sleep(0.05)
    text = agent.reply(message)
    _write_file(place, json.dumps(notes))
    if _JSON in given:
        used = {"input_tokens": len(message.split()), "output_tokens": len(text.split())}
        text = json.dumps({"result": text, "usage": used, "total_cost_usd": 0.001})
    if "--reply-file" in given:
        _write_file(given["--reply-file"], text)
        return
    for piece in split_words(text):
        sys.stdout.write(piece)
        if behaviour == "streams":
            sys.stdout.flush()


if __name__ == "__main__":
    main()
