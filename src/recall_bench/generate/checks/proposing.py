"""Where the findings and the repaired version of a question file are written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recall_bench.generate.checks.checker import QuestionRepair
from recall_bench.generate.checks.editing import rewrite_questions
from recall_bench.replacement import replace_file
from recall_bench.yaml12 import decode_text

_BOM = b"\xef\xbb\xbf"
_PROPOSED = re.compile(r"\.proposed-\d+\Z")


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A question file as it was read; it is never written to."""

    path: Path
    name: str
    """As messages show it."""
    raw: bytes

    @property
    def text(self) -> str:
        """What it holds; Malformed where that is not UTF-8."""
        return decode_text(self.raw, self.name, "utf-8-sig")

    @property
    def stem(self) -> str:
        """Its name without the ending and without the number of a proposal."""
        return _PROPOSED.sub("", self.path.stem)


def choose_findings_path(folder: Path, file: QuestionSource, own: Path) -> Path:
    """Where the findings go: those on another file than the story's own are named after it."""
    if file.path.resolve() == own.resolve():
        return folder / "verification.jsonl"
    return folder / f"verification.{file.path.stem}.jsonl"


def write_proposal(
    folder: Path, file: QuestionSource, repairs: Mapping[int, QuestionRepair]
) -> Path | None:
    """Write the next version of the file, and say where it is; None if nothing is repaired.

    A version of the same bytes that is there already is not written again.
    """
    if not repairs:
        return None
    text = rewrite_questions(file.name, file.text, repairs).encode()
    content = _BOM + text if file.raw.startswith(_BOM) else text
    number = 1
    while (path := folder / f"{file.stem}.proposed-{number}.yaml").exists():
        if path.read_bytes() == content:
            return path
        number += 1
    replace_file(path, content)
    return path
