"""The record of decided windows, written before the question file changes.

It is the file `.generation/questions-<suffix>.windows.jsonl`, for both modes. A window without
questions is recorded and not asked again; a failed window is not recorded and is asked again.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from recall_bench.core.record import Record
from recall_bench.generate.call_log import EntryLog, log_path
from recall_bench.generate.questions.candidates import RejectedQuestion
from recall_bench.generate.questions.window import QuestionWindow


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
            "is no window record ({}); remove the file to ask about every window again; existing "
            "questions are kept"
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
            for each in self._all
            if each.mode == mode and (not anew or each.round == current)
            for day in range(each.first, each.last + 1)
        )

    def list_replaceable(
        self, mode: str, window: QuestionWindow
    ) -> tuple[Mapping[str, object], ...]:
        """The entries of earlier rounds that a window replaces."""
        current = self._rounds.get(mode, 0)
        return tuple(
            entry
            for each in self._standing
            if _is_obsolete(each, mode, current, window)
            for entry in each.kept
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
        return [entry for each in self._all for entry in each.kept]

    def list_rejections(self) -> Iterator[tuple[WindowDecision, RejectedQuestion]]:
        """The rejected questions of all valid decisions."""
        for each in self._standing:
            for refused in each.refused:
                yield each, refused

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
                        each
                        for each in self._standing
                        if not _is_obsolete(each, entry.mode, entry.round, entry.window)
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
