"""Plain markdown files and grep: what an agent has that was given nothing but a folder.

True limits: a note is found only by the very words of the question, in whatever order and case;
"paid" does not find "pays". Rare words count for more, and nothing else counts. A date counts as
far as the question spells it as the lines do: 2026-01-31.
"""

import math
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recall_bench.systems.products.notes import (
    NO_SESSION,
    DayNote,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import Product, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_WORD = re.compile(r"\w+")
_NOTE = re.compile(r"- (?P<quoted>On \S{10}(?: \((?P<session>\S+)\))?: .*?)(?: <!-- .* -->)?")


class GrepHit(NamedTuple):
    """A line that was found, and where."""

    day: int
    line: int
    quoted: str
    session: str
    words: frozenset[str]


class MarkdownFiles:
    """A markdown file a day, searched with grep: finds notes by their words."""

    name = "files"
    clock = "native"
    answers = False

    def __init__(self, *, state_dir: Path, k: int = 10, respect_sessions: bool = False) -> None:
        self.version = _read_grep_version()
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Write the day's file, a line a note."""
        lines = [f"# {metadata.date}", "", *map(_format_note, split_notes(day, content, metadata))]
        path = self._folder / f"day-{day:04}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The notes with most of the question's words, rare ones first; of equals the later."""
        hits = self._find_hits(frozenset(_WORD.findall(question.lower())))
        rarity = self._weigh_words(hits)
        seen = list_visible_sessions(context) if self.honours_sessions else None
        ranked = sorted(
            (math.fsum(rarity[word] for word in hit.words), hit.day, hit.line, hit.quoted)
            for hit in hits
            if seen is None or hit.session in seen
        )
        return {
            "passages": [
                {"text": quoted, "day": day, "source": f"day-{day:04}.md:{line}", "score": score}
                for score, day, line, quoted in ranked[::-1][: context.top_k or self._k]
            ]
        }

    def days_ingested(self) -> int:
        """How many files there are."""
        return sum(1 for _ in self._folder.glob("day-*.md"))

    def stored_days(self) -> Iterator[int]:
        """The days there is a file of."""
        return (_parse_day(path) for path in self._folder.glob("day-*.md"))

    def stored_bytes(self) -> int:
        """What its folder takes."""
        return measure_folder(self._folder)

    def _find_hits(self, words: frozenset[str]) -> list[GrepHit]:
        """The notes with any of the words, as grep finds them."""
        if not words:
            return []
        wanted = [option for word in sorted(words) for option in ("-e", word)]
        hits: list[GrepHit] = []
        for found in _run_grep(self._folder, "-n", "-i", "-w", "-F", *wanted):
            file, line, text = found.split(":", 2)
            if note := _NOTE.fullmatch(text):
                matched = words.intersection(_WORD.findall(text.lower()))
                session = note["session"] or NO_SESSION
                hits.append(
                    GrepHit(_parse_day(Path(file)), int(line), note["quoted"], session, matched)
                )
        return hits

    def _weigh_words(self, hits: list[GrepHit]) -> dict[str, float]:
        """What each word is worth: nothing if it is in every note, more the fewer have it."""
        counts = _run_grep(self._folder, "-c", "-e", "^- On")
        notes = sum(int(line.rpartition(":")[2]) for line in counts)
        having = Counter(word for hit in hits for word in hit.words)
        return {word: math.log(notes / count) for word, count in having.items()}


def _parse_day(path: Path) -> int:
    return int(path.stem.removeprefix("day-"))


def _format_note(note: DayNote) -> str:
    """A list entry; the headings it stood under follow as a comment, for grep to see."""
    context = " — ".join(note.context.replace("--", "—").splitlines())
    return f"- {note.quoted}" + (f" <!-- {context} -->" if context else "")


def _run_grep(folder: Path, *options: str) -> list[str]:
    """The lines grep prints for the files below a folder."""
    done = _run_program("grep", "-r", "-a", *options, ".", folder=folder)
    if done.returncode > 1:
        raise RuntimeError(f"grep failed: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8", "replace").splitlines()


def _read_grep_version() -> str:
    """Which grep it is."""
    found = re.search(r"\d+\.\d[\w.-]*", _run_program("grep", "--version").stdout.decode())
    return found[0] if found else "undeclared"


def _run_program(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)  # noqa: S603


product = Product(MarkdownFiles, programs=("grep",))
