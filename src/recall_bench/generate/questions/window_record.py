"""Which windows were asked about, and what came of each: on disk before the question file changes.

It lies beside the replies on record, in `.generation/questions-<suffix>.windows.jsonl`, and serves
both modes. A window that gave nothing is on record and is not asked again; one that failed is not,
and is.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import msgspec

from recall_bench.appending import LineFile, lines
from recall_bench.core.record import Record
from recall_bench.errors import DataError
from recall_bench.generate.call_log import log_path
from recall_bench.generate.questions.keeping import Refused
from recall_bench.generate.questions.writer import Window


class Overwriting(Record, frozen=True, kw_only=True, tag="overwriting"):
    """From here on every window of a mode is asked about anew."""

    mode: str
    round: int


class Decided(Record, frozen=True, kw_only=True, omit_defaults=True, tag="decided"):
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
    refused: tuple[Refused, ...] = ()
    removed: tuple[dict[str, object], ...] = ()
    """Entries of earlier rounds that leave the file."""

    @property
    def window(self) -> Window:
        """The window it is about."""
        return Window(number=self.number, first=self.first, last=self.last)


class Settled(Record, frozen=True, kw_only=True, tag="settled"):
    """The question file has followed the decision before."""


class Overwritten(Record, frozen=True, kw_only=True, tag="overwritten"):
    """Every window that was to be asked about anew was."""

    mode: str


class Forgotten(Record, frozen=True, kw_only=True, tag="forgotten"):
    """The question file was taken away: what was decided before does not count any more."""


Entry = Overwriting | Decided | Settled | Overwritten | Forgotten


class WindowRecord(LineFile):
    """The record of a story's windows. Open it with `with`; one process at a time can."""

    def __init__(self, persona: Path, suffix: str) -> None:
        path = log_path(persona, "questions", suffix).with_suffix(".windows.jsonl")
        super().__init__(path, otherwise="stop it first", elsewhere="make the folder writable")
        self._where = path
        self._all: list[Decided] = []
        self._standing: list[Decided] = []
        self._rounds: dict[str, int] = {}
        self._open: set[str] = set()
        self.unsettled: Decided | None = None
        """A decision that the question file may not have followed yet."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            for number, (_, line) in enumerate(lines(self._where), start=1):
                self._note(_decoded(line, f"{self._where}, line {number}"))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def begin(self, mode: str) -> None:
        """Ask everything of a mode anew; a round of that which was cut short goes on."""
        if mode not in self._open:
            self._add(Overwriting(mode=mode, round=self._rounds.get(mode, 0) + 1))

    def end(self, mode: str) -> None:
        """Every window wanted was asked about: the next overwriting is another round."""
        if mode in self._open:
            self._add(Overwritten(mode=mode))

    def asked(self, mode: str, *, anew: bool) -> frozenset[int]:
        """The days that were asked about; `anew` counts only the round that is under way."""
        current = self._rounds.get(mode, 0)
        return frozenset(
            day
            for each in self._all
            if each.mode == mode and (not anew or each.round == current)
            for day in range(each.first, each.last + 1)
        )

    def replaceable(self, mode: str, window: Window) -> tuple[Mapping[str, object], ...]:
        """The entries of earlier rounds that a window's new ones take the place of."""
        current = self._rounds.get(mode, 0)
        return tuple(
            entry
            for each in self._standing
            if _is_superseded(each, mode, current, window)
            for entry in each.kept
        )

    def decide(
        self,
        mode: str,
        window: Window,
        model: str,
        *,
        kept: tuple[dict[str, object], ...],
        refused: tuple[Refused, ...],
        anew: bool,
    ) -> Decided:
        """Put on record what came of a window; it is on the disk before this returns."""
        removed = self.replaceable(mode, window) if anew else ()
        decided = Decided(
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
        self._add(decided)
        return decided

    def settle(self) -> None:
        """The question file has followed."""
        self._add(Settled())

    def forget(self) -> None:
        """Nothing was asked about yet; replies of models stay on record elsewhere."""
        self._add(Forgotten())

    def written(self) -> list[Mapping[str, object]]:
        """Every entry that was kept, replaced ones too: no id of theirs is given again."""
        return [entry for each in self._all for entry in each.kept]

    def refusals(self) -> Iterator[tuple[Decided, Refused]]:
        """Everything that was rejected and not asked about anew since."""
        for each in self._standing:
            for refused in each.refused:
                yield each, refused

    def _add(self, entry: Entry) -> None:
        self.append_line(msgspec.json.encode(entry))
        self._note(entry)

    def _note(self, entry: Entry) -> None:
        match entry:
            case Overwriting():
                self._rounds[entry.mode] = entry.round
                self._open.add(entry.mode)
            case Overwritten():
                self._open.discard(entry.mode)
            case Decided():
                if entry.anew:
                    self._standing = [
                        each
                        for each in self._standing
                        if not _is_superseded(each, entry.mode, entry.round, entry.window)
                    ]
                self._standing.append(entry)
                self._all.append(entry)
                self.unsettled = entry
            case Settled():
                self.unsettled = None
            case Forgotten():
                self._all.clear()
                self._standing.clear()
                self.unsettled = None


def _is_superseded(decided: Decided, mode: str, current: int, window: Window) -> bool:
    """Whether its checkpoint lies in a window that is asked about in a later round."""
    return (
        decided.mode == mode
        and decided.round < current
        and window.first <= decided.last <= window.last
    )


def _decoded(line: bytes, where: str) -> Entry:
    try:
        entry: Entry = msgspec.json.decode(line, type=Entry)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"{where}: is no record of a window ({error}); remove the file to ask about every "
            "window anew, which leaves the questions there are alone"
        ) from error
    return entry
