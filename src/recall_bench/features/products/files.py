"""Plain markdown files and grep: what an agent has that was given nothing but a folder.

True limits: a note is found only by the very words of the question, in whatever order and case;
"paid" does not find "pays". Rare words count for more, and nothing else counts. A date counts only
if the question spells it as the lines do: 2026-01-31.
"""

import math
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from recall_bench.core.memory import UNDECLARED
from recall_bench.features.products.product import NoteEraser, NoteFinder, Product
from recall_bench.systems.notes import NO_SESSION, DayNote, StoredNote, split_notes
from recall_bench.systems.python.adapter import DayMetadata

_WORD = re.compile(r"\w+")
_NOTE = re.compile(r"- (?P<quoted>On \S{10}(?: \((?P<session>\S+)\))?: .*?)(?: <!-- .* -->)?")


_HEADING = re.compile(r"# \S+(?: <!-- (?P<episode>.*) -->)?")


class GrepHit(NamedTuple):
    """A line that grep found, and the words of the question in it."""

    day: int
    line: int
    quote: str
    session: str
    words: frozenset[str]


class MarkdownFiles(NoteEraser, NoteFinder):
    """A markdown file a day, searched with grep: finds notes by their words."""

    name = "files"

    @property
    def version(self) -> str:
        """The version of grep."""
        match = re.search(r"\d+\.\d[\w.-]*", _run_program("grep", "--version").stdout.decode())
        return match[0] if match else UNDECLARED

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Write the day's file, a line a note."""
        lines = [
            (
                f"# {metadata.date}"
                + (f" <!-- {metadata.episode_id} -->" if metadata.episode_id else "")
            ),
            "",
            *map(_format_note, split_notes(day, content, metadata)),
        ]
        path = self.state_dir / f"day-{day:04}.md"
        _write_lines(path, lines)

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The notes with most of the question's words, rare ones first; of equals the later."""
        hits = self._find_hits(frozenset(_WORD.findall(question.lower())))
        # 0 for a word in every note, more the fewer notes have it.
        counts = _run_grep(self.state_dir, "-c", "-e", "^- On")
        notes = sum(int(line.rpartition(":")[2]) for line in counts)
        having = Counter(word for hit in hits for word in hit.words)
        weights = {word: math.log(notes / count) for word, count in having.items()}
        ranked = sorted(
            (math.fsum(weights[word] for word in hit.words), hit.day, hit.line, hit.quote)
            for hit in hits
            if sessions is None or hit.session in sessions
        )
        return [
            {"text": quote, "day": day, "source": f"day-{day:04}.md:{line}", "score": score}
            for score, day, line, quote in ranked[::-1][:limit]
        ]

    def days_ingested(self) -> int:
        """The number of files."""
        return sum(1 for _ in self.state_dir.glob("day-*.md"))

    def stored_days(self) -> set[int]:
        """The days that have a file."""
        return {_parse_day(path) for path in self.state_dir.glob("day-*.md")}

    def reopen(self) -> None:
        """Nothing to do: the files are there."""

    def list_notes(self) -> Iterator[StoredNote]:
        """The notes in the files; the key is the file and the line."""
        for path in sorted(self.state_dir.glob("day-*.md")):
            heading, *lines = _read_lines(path)
            title = _HEADING.fullmatch(heading)
            for number, line in enumerate(lines, start=2):
                if note := _NOTE.fullmatch(line):
                    yield StoredNote(
                        key=f"{path.name}:{number}",
                        text=note["quoted"],
                        episode=(title and title["episode"]) or "",
                        session=note["session"] or NO_SESSION,
                        day=_parse_day(path),
                    )

    def erase_notes(self, keys: Sequence[str]) -> int:
        """Write the files without these lines; a file without a note is removed."""
        meant: defaultdict[str, set[int]] = defaultdict(set)
        for key in keys:
            name, _, number = key.partition(":")
            meant[name].add(int(number))
        for name, numbers in meant.items():
            path = self.state_dir / name
            lines = _read_lines(path)
            rest = [line for number, line in enumerate(lines, 1) if number not in numbers]
            if any(map(_NOTE.fullmatch, rest)):
                _write_lines(path, rest)
            else:
                path.unlink()
        return sum(map(len, meant.values()))

    def _find_hits(self, words: frozenset[str]) -> list[GrepHit]:
        if not words:
            return []
        patterns = [option for word in sorted(words) for option in ("-e", word)]
        hits: list[GrepHit] = []
        for row in _run_grep(self.state_dir, "-n", "-i", "-w", "-F", *patterns):
            file, line, text = row.split(":", 2)
            if note := _NOTE.fullmatch(text):
                shared = words.intersection(_WORD.findall(text.lower()))
                session = note["session"] or NO_SESSION
                day = _parse_day(Path(file))
                hits.append(GrepHit(day, int(line), note["quoted"], session, shared))
        return hits


def _parse_day(path: Path) -> int:
    return int(path.stem.removeprefix("day-"))


def _format_note(note: DayNote) -> str:
    """A list entry; its headings follow as a comment, for grep to see."""
    context = " — ".join(note.context.replace("--", "—").splitlines())
    return f"- {note.quote}" + (f" <!-- {context} -->" if context else "")


def _read_lines(path: Path) -> list[str]:
    return _split_lines(path.read_bytes().decode("utf-8"))


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _split_lines(text: str) -> list[str]:
    """Split at line feeds only, as grep does: `splitlines` splits at other characters too."""
    return text.split("\n")[:-1]


def _run_grep(folder: Path, *options: str) -> list[str]:
    """The lines grep prints for the files below a folder."""
    done = _run_program("grep", "-r", "-a", *options, ".", folder=folder)
    if done.returncode > 1:
        raise RuntimeError(f"grep failed: {done.stderr.decode('utf-8', 'replace').strip()}")
    return _split_lines(done.stdout.decode("utf-8", "replace"))


def _run_program(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)  # noqa: S603


product = Product(MarkdownFiles, programs=("grep",))
