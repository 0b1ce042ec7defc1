"""`questions.yaml`, which grows at its end: what is not ours stays as it is, to the byte."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_bench.datasets.fields import describe_value
from recall_bench.errors import Malformed
from recall_bench.replacement import replace_file
from recall_bench.world.plain_yaml import dump_yaml
from recall_bench.yaml12 import Document, decode_text

_ORDER = (
    "id",
    "question",
    "answer",
    "category",
    "difficulty",
    "relevant_days",
    "requires_synthesis",
    "query_session",
    "forbidden_sessions",
    "expected_disclosure",
    "irrelevant_after",
    "answerable_from",
    "changes_on",
)
"""How an entry begins; other fields follow as its author has them."""

_PROBE: Mapping[str, object] = {"id": "probe"}


def render_entry(entry: Mapping[str, object]) -> str:
    """One entry as it stands in the file: the same for the same fields, in whatever order."""
    first = {key: entry[key] for key in _ORDER if key in entry}
    return dump_yaml([first | {key: part for key, part in entry.items() if key not in first}])


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a story on disk."""

    path: Path
    name: str
    """As messages show it."""

    def read_entries(self) -> list[Mapping[str, object]]:
        """Every question there is; none if there is no file.

        Malformed if the file is no list, or is written so that nothing can be put at its end.
        """
        raw = self._read()
        content = _parse_content(raw, self.name)
        if content is None:
            return []
        if not isinstance(content, list):
            raise Malformed(
                self.name, f"holds {describe_value(content)}; write a list of questions"
            )
        if _parse_content(_append_entries(raw, [_PROBE]), self.name, otherwise=content) != [
            *content,
            _PROBE,
        ]:
            raise Malformed(
                self.name,
                "cannot be added to as it is written; put each question under a dash of its own, "
                "or move the file away",
            )
        return [each for each in content if isinstance(each, dict)]

    def rewrite(
        self, removed: Sequence[Mapping[str, object]], added: Sequence[Mapping[str, object]]
    ) -> list[Mapping[str, object]]:
        """Take out entries that stand there as they were written, and add others at the end.

        Both happen at once or not at all. Gives the entries that were not taken out, because
        somebody has edited them since.
        """
        raw = self._read()
        content, edited = raw, []
        for entry in removed:
            without = _remove_entry(content, entry)
            if without is None:
                edited.append(entry)
            else:
                content = without
        content = _append_entries(content, added) if added else content
        if content != raw:
            replace_file(self.path, content)
        return edited

    def find_highest_number(self, prefix: str) -> int:
        """The highest number of an id `<prefix>-q<number>` that the file holds; 0 without one."""
        found = re.findall(rb"(?<![\w-])%s-q(\d+)" % re.escape(prefix.encode()), self._read())
        return max(map(int, found), default=0)

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise Malformed(
                self.name, f"cannot be read ({error.strerror}); check the file"
            ) from error


def parse_number(prefix: str, entry: Mapping[str, object]) -> int:
    """The number of an entry's id `<prefix>-q<number>`; 0 if its id is another."""
    number = str(entry.get("id")).removeprefix(f"{prefix}-q")
    return int(number) if number.isdecimal() else 0


def _parse_content(raw: bytes, name: str, otherwise: object = None) -> object:
    """What the bytes hold; `otherwise`, if there is one, where they are no YAML."""
    try:
        return Document(name, decode_text(raw, name, "utf-8-sig")).content
    except Malformed:
        if otherwise is None:
            raise
        return otherwise


def _append_entries(raw: bytes, added: Sequence[Mapping[str, object]]) -> bytes:
    end = b"" if not raw or raw.endswith(b"\n") else b"\n"
    return raw + end + b"".join(_indent_entry(raw, entry) for entry in added)


def _indent_entry(raw: bytes, entry: Mapping[str, object]) -> bytes:
    """The entry with its dash where the file has its dashes."""
    dash = re.search(rb"^( *)- ", raw, re.MULTILINE)
    margin = dash[1] if dash else b""
    return b"".join(
        margin + line for line in render_entry(entry).encode().splitlines(keepends=True)
    )


def _remove_entry(raw: bytes, entry: Mapping[str, object]) -> bytes | None:
    """The file without the entry; None if it does not stand there as it was written."""
    text = _indent_entry(raw, entry)
    start = raw.find(text)
    while start > 0 and raw[start - 1 : start] != b"\n":
        start = raw.find(text, start + 1)
    if start < 0:
        return None
    end = start + len(text)
    margin = len(text) - len(text.lstrip(b" "))
    # A line further in belongs to the entry: somebody has added to it.
    if re.match(rb" {%d,}" % (margin + 1), raw[end:]):
        return None
    return raw[:start] + raw[end:]
