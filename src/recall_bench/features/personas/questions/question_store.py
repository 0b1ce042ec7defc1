"""The question file of a story, and the record of decided windows behind it.

The record is the file `.generation/questions-<suffix>.windows.jsonl`, for both modes. It is written
before the question file changes. A window without questions is recorded and not asked again; a
failed window is not recorded and is asked again. In the question file questions are appended, and
everything that other authors wrote is kept byte for byte.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.yaml12 import Document, decode_text
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.call_log import EntryLog, log_path
from recall_bench.features.personas.pass_run import OnProgress
from recall_bench.features.personas.questions.candidates import RejectedQuestion, sort_candidates
from recall_bench.features.personas.questions.window import QuestionEntry, QuestionWindow
from recall_bench.stories.yaml_fields import describe_value

if TYPE_CHECKING:
    from recall_bench.features.personas.checks.check_result import QuestionChecker


class WindowRoundStart(Record, frozen=True, kw_only=True, tag="overwriting"):
    """Starts a round of overwriting a mode."""

    mode: str
    round: int


class WindowDecision(Record, frozen=True, kw_only=True, omit_defaults=True, tag="decided"):
    """The result of a window, before it is applied to the question file."""

    mode: str
    round: int
    number: int
    first: int
    last: int
    model: str
    anew: bool = False
    """Whether it replaces results of earlier rounds."""
    kept: tuple[dict[str, object], ...] = ()
    refused: tuple[RejectedQuestion, ...] = ()
    removed: tuple[dict[str, object], ...] = ()
    """Entries of earlier rounds that it removes from the file."""

    @property
    def window(self) -> QuestionWindow:
        """The window."""
        return QuestionWindow(number=self.number, first=self.first, last=self.last)


class AppliedDecision(Record, frozen=True, kw_only=True, tag="settled"):
    """The previous decision was applied to the question file."""


class WindowRoundEnd(Record, frozen=True, kw_only=True, tag="overwritten"):
    """Ends a round of overwriting a mode."""

    mode: str


class RecordReset(Record, frozen=True, kw_only=True, tag="forgotten"):
    """The question file was removed, so earlier decisions no longer count."""


WindowRecordEntry = (
    WindowRoundStart | WindowDecision | AppliedDecision | WindowRoundEnd | RecordReset
)


class WindowRecord(EntryLog[WindowRecordEntry]):
    """The record of a story's windows."""

    def __init__(self, persona: Path, suffix: str) -> None:
        path = log_path(persona, "questions", suffix).with_suffix(".windows.jsonl")
        problem = (
            "is not a window record ({}); remove the file to ask about every window again; "
            "existing questions are kept"
        )
        super().__init__(path, msgspec.json.Decoder(WindowRecordEntry), problem)
        self._all: list[WindowDecision] = []
        self._standing: list[WindowDecision] = []
        self._rounds: dict[str, int] = {}
        self._open: set[str] = set()
        self.unsettled: WindowDecision | None = None
        """A decision that may not have been applied yet."""

    def begin_round(self, mode: str) -> None:
        """Start a round of overwriting a mode; an unfinished one continues."""
        if mode not in self._open:
            self._append_entry(WindowRoundStart(mode=mode, round=self._rounds.get(mode, 0) + 1))

    def end_round(self, mode: str) -> None:
        """End the round, so that the next `--overwrite` starts another."""
        if mode in self._open:
            self._append_entry(WindowRoundEnd(mode=mode))

    def find_asked_days(self, mode: str, *, anew: bool) -> frozenset[int]:
        """The days that were asked about; with `anew` only in the current round."""
        current = self._rounds.get(mode, 0)
        return frozenset(
            day
            for item in self._all
            if item.mode == mode and (not anew or item.round == current)
            for day in range(item.first, item.last + 1)
        )

    def list_replaceable(
        self, mode: str, window: QuestionWindow
    ) -> tuple[Mapping[str, object], ...]:
        """The entries of earlier rounds that a window replaces."""
        current = self._rounds.get(mode, 0)
        return tuple(
            entry
            for item in self._standing
            if _is_obsolete(item, mode, current, window)
            for entry in item.kept
        )

    def record_decision(
        self,
        mode: str,
        window: QuestionWindow,
        model: str,
        *,
        kept: tuple[dict[str, object], ...],
        refused: tuple[RejectedQuestion, ...],
        anew: bool,
    ) -> WindowDecision:
        """Record the result of a window; it is on disk when this returns."""
        removed = self.list_replaceable(mode, window) if anew else ()
        decided = WindowDecision(
            mode=mode,
            round=self._rounds.get(mode, 0),
            number=window.number,
            first=window.first,
            last=window.last,
            model=model,
            anew=anew,
            kept=kept,
            refused=refused,
            removed=tuple(dict(entry) for entry in removed),
        )
        self._append_entry(decided)
        return decided

    def mark_done(self) -> None:
        """Record that the decision was applied."""
        self._append_entry(AppliedDecision())

    def reset(self) -> None:
        """Forget all decisions; the logged replies of models are kept."""
        self._append_entry(RecordReset())

    def list_written(self) -> list[Mapping[str, object]]:
        """Every entry ever kept, because their ids are never reused."""
        return [entry for item in self._all for entry in item.kept]

    def list_rejections(self) -> Iterator[tuple[WindowDecision, RejectedQuestion]]:
        """The rejected questions of all valid decisions."""
        for item in self._standing:
            for refused in item.refused:
                yield item, refused

    def _apply_entry(self, entry: WindowRecordEntry) -> None:
        match entry:
            case WindowRoundStart():
                self._rounds[entry.mode] = entry.round
                self._open.add(entry.mode)
            case WindowRoundEnd():
                self._open.discard(entry.mode)
            case WindowDecision():
                if entry.anew:
                    self._standing = [
                        item
                        for item in self._standing
                        if not _is_obsolete(item, entry.mode, entry.round, entry.window)
                    ]
                self._standing.append(entry)
                self._all.append(entry)
                self.unsettled = entry
            case AppliedDecision():
                self.unsettled = None
            case RecordReset():
                self._all.clear()
                self._standing.clear()
                self.unsettled = None


def _is_obsolete(decided: WindowDecision, mode: str, current: int, window: QuestionWindow) -> bool:
    """Whether a later round replaces the decision."""
    return (
        decided.mode == mode
        and decided.round < current
        and window.first <= decided.last <= window.last
    )


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
"""The order of the first fields; others follow."""

_PROBE: Mapping[str, object] = {"id": "probe"}


def render_entry(entry: Mapping[str, object]) -> str:
    """An entry as in the file; the order of its fields does not matter."""
    first = {key: entry[key] for key in _ORDER if key in entry}
    return dump_yaml([first | {key: part for key, part in entry.items() if key not in first}])


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The question file of a story."""

    path: Path
    name: str
    """Its name in messages."""

    def read_entries(self) -> list[Mapping[str, object]]:
        """All questions; none if there is no file.

        Malformed if the file is no list or cannot be appended to.
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
        return [item for item in content if isinstance(item, dict)]

    def rewrite(
        self, removed: Sequence[Mapping[str, object]], added: Sequence[Mapping[str, object]]
    ) -> list[Mapping[str, object]]:
        """Remove entries and append others, in one atomic step.

        Returns the entries that were not removed because they were edited.
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
        """The highest number of an id `<prefix>-q<number>` in the file; 0 without one."""
        numbers = re.findall(rb"(?<![\w-])%s-q(\d+)" % re.escape(prefix.encode()), self._read())
        return max(map(int, numbers), default=0)

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
    """The number in an id `<prefix>-q<number>`; 0 for other ids."""
    number = str(entry.get("id")).removeprefix(f"{prefix}-q")
    return int(number) if number.isdecimal() else 0


def _parse_content(raw: bytes, name: str, otherwise: object = None) -> object:
    """The parsed content; `otherwise`, if given, where it is no YAML."""
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
    """The entry, indented like the entries of the file."""
    dash = re.search(rb"^( *)- ", raw, re.MULTILINE)
    margin = dash[1] if dash else b""
    return b"".join(
        margin + line for line in render_entry(entry).encode().splitlines(keepends=True)
    )


def _remove_entry(raw: bytes, entry: Mapping[str, object]) -> bytes | None:
    """The file without the entry; None if the entry was edited."""
    text = _indent_entry(raw, entry)
    start = raw.find(text)
    while start > 0 and raw[start - 1 : start] != b"\n":
        start = raw.find(text, start + 1)
    if start < 0:
        return None
    end = start + len(text)
    margin = len(text) - len(text.lstrip(b" "))
    # A deeper line belongs to the entry: it was edited.
    if re.match(rb" {%d,}" % (margin + 1), raw[end:]):
        return None
    return raw[:start] + raw[end:]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStore:
    """The question file, the file of rejected questions, and the record that both follow."""

    record: WindowRecord
    file: QuestionFile
    prefix: str
    """The prefix of ids: that of the persona."""
    mode: str
    anew: bool
    """Whether earlier results of the pass are replaced."""
    on_progress: OnProgress

    @property
    def rejected(self) -> Path:
        """The file of rejected questions."""
        return self.file.path.with_name("rejected.jsonl")

    def recover(self) -> None:
        """Apply a recorded decision that the files do not show yet.

        If the question file was removed, the record is reset.
        """
        sweep_folder(self.file.path.parent)
        decided = self.record.unsettled
        others = len(self.record.list_written()) > (0 if decided is None else len(decided.kept))
        if others and not self.file.path.exists():
            self._reset_record()
        elif decided is not None:
            ids = {entry.get("id") for entry in self.file.read_entries()}
            if ids.isdisjoint(entry["id"] for entry in decided.kept):
                self.file.rewrite(decided.removed, decided.kept)
            self._write_rejections()

    def _reset_record(self) -> None:
        self.on_progress(f"{self.file.name} is gone, so every window is asked about again")
        self.record.reset()

    def list_known(self, windows: Sequence[QuestionWindow]) -> list[QuestionEntry]:
        """The questions that are kept when these windows are asked about."""
        going = [
            entry
            for window in (windows if self.anew else ())
            for entry in self.record.list_replaceable(self.mode, window)
        ]
        return [entry for entry in self.file.read_entries() if entry not in going]

    def decide_window(
        self,
        window: QuestionWindow,
        candidates: Sequence[QuestionEntry],
        checker: "QuestionChecker",
        model: str,
    ) -> WindowDecision:
        """Keep the valid candidates of a window, and write the files."""
        values = (parse_number(self.prefix, entry) for entry in self.record.list_written())
        highest = max(self.file.find_highest_number(self.prefix), *values, 0)
        ids = (f"{self.prefix}-q{number:03}" for number in count(highest + 1))
        results = sort_candidates(candidates, checker, ids)
        decided = self.record.record_decision(
            self.mode,
            window,
            model,
            kept=results.kept,
            refused=results.refused,
            anew=self.anew,
        )
        for edited in self.file.rewrite(decided.removed, decided.kept):
            self.on_progress(f"[questions] {edited['id']} was edited by hand, so it stays")
        self._write_rejections()
        return decided

    def _write_rejections(self) -> None:
        """Write the rejected questions, then mark the decision as applied."""
        lines = [
            msgspec.json.encode(
                {
                    "mode": decided.mode,
                    "window": decided.window.name,
                    "entry": refused.entry,
                    "problems": refused.problems,
                }
            )
            for decided, refused in self.record.list_rejections()
        ]
        if lines or self.rejected.exists():
            replace_file(self.rejected, b"".join(line + b"\n" for line in lines))
        self.record.mark_done()
