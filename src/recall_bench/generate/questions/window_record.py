"""Which windows were asked about, and what came of each: on disk before the question file changes.

It lies beside the replies on record, in `.generation/questions-<suffix>.windows.jsonl`, and serves
both modes. A window that gave nothing is on record and is not asked again; one that failed is not,
and is.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import msgspec

from recall_bench.core.append_log import AppendLog, read_lines
from recall_bench.core.errors import DataError
from recall_bench.core.record import Record
from recall_bench.generate.call_log import log_path
from recall_bench.generate.questions.candidates import RejectedQuestion
from recall_bench.generate.questions.window import QuestionWindow


class WindowRoundStart(Record, frozen=True, kw_only=True, tag="overwriting"):
    """From here on every window of a mode is asked about anew."""

    mode: str
    round: int


class WindowDecision(Record, frozen=True, kw_only=True, omit_defaults=True, tag="decided"):
    """What came of a window; the question file is about to follow."""

    mode: str
    round: int
    number: int
    first: int
    last: int
    model: str
    anew: bool = False
    """Whether it takes the place of what an earlier round decided."""
    kept: tuple[dict[str, object], ...] = ()
    refused: tuple[RejectedQuestion, ...] = ()
    removed: tuple[dict[str, object], ...] = ()
    """Entries of earlier rounds that leave the file."""

    @property
    def window(self) -> QuestionWindow:
        """The window it is about."""
        return QuestionWindow(number=self.number, first=self.first, last=self.last)


class AppliedDecision(Record, frozen=True, kw_only=True, tag="settled"):
    """The question file has followed the decision before."""


class WindowRoundEnd(Record, frozen=True, kw_only=True, tag="overwritten"):
    """Every window that was to be asked about anew was."""

    mode: str


class RecordReset(Record, frozen=True, kw_only=True, tag="forgotten"):
    """The question file was taken away: what was decided before does not count any more."""


WindowRecordEntry = (
    WindowRoundStart | WindowDecision | AppliedDecision | WindowRoundEnd | RecordReset
)


class WindowRecord(AppendLog):
    """The record of a story's windows. Open it with `with`; one process at a time can."""

    def __init__(self, persona: Path, suffix: str) -> None:
        path = log_path(persona, "questions", suffix).with_suffix(".windows.jsonl")
        super().__init__(path, otherwise="stop it first", elsewhere="make the folder writable")
        self._where = path
        self._all: list[WindowDecision] = []
        self._standing: list[WindowDecision] = []
        self._rounds: dict[str, int] = {}
        self._open: set[str] = set()
        self.unsettled: WindowDecision | None = None
        """A decision that the question file may not have followed yet."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            for number, (_, line) in enumerate(read_lines(self._where), start=1):
                self._apply_entry(_decode_entry(line, f"{self._where}, line {number}"))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def begin_round(self, mode: str) -> None:
        """Ask everything of a mode anew; a round of that which was cut short goes on."""
        if mode not in self._open:
            self._append_entry(WindowRoundStart(mode=mode, round=self._rounds.get(mode, 0) + 1))

    def end_round(self, mode: str) -> None:
        """Every window wanted was asked about: the next overwriting is another round."""
        if mode in self._open:
            self._append_entry(WindowRoundEnd(mode=mode))

    def find_asked_days(self, mode: str, *, anew: bool) -> frozenset[int]:
        """The days that were asked about; `anew` counts only the round that is under way."""
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
        """The entries of earlier rounds that a window's new ones take the place of."""
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
        """Put on record what came of a window; it is on the disk before this returns."""
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
        """The question file has followed."""
        self._append_entry(AppliedDecision())

    def reset(self) -> None:
        """Nothing was asked about yet; replies of models stay on record elsewhere."""
        self._append_entry(RecordReset())

    def list_written(self) -> list[Mapping[str, object]]:
        """Every entry that was kept, replaced ones too: no id of theirs is given again."""
        return [entry for each in self._all for entry in each.kept]

    def list_rejections(self) -> Iterator[tuple[WindowDecision, RejectedQuestion]]:
        """Everything that was rejected and not asked about anew since."""
        for each in self._standing:
            for refused in each.refused:
                yield each, refused

    def _append_entry(self, entry: WindowRecordEntry) -> None:
        self.append_line(msgspec.json.encode(entry))
        self._apply_entry(entry)

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
    """Whether its checkpoint lies in a window that is asked about in a later round."""
    return (
        decided.mode == mode
        and decided.round < current
        and window.first <= decided.last <= window.last
    )


def _decode_entry(line: bytes, where: str) -> WindowRecordEntry:
    try:
        entry: WindowRecordEntry = msgspec.json.decode(line, type=WindowRecordEntry)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"{where}: is no record of a window ({error}); remove the file to ask about every "
            "window anew, which leaves the questions there are alone"
        ) from error
    return entry
