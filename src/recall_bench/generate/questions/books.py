"""What is kept of a window: decided once, on record first, then in the files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.generate.questions.keeping import sort_out
from recall_bench.generate.questions.question_file import QuestionFile, number_of
from recall_bench.generate.questions.window_record import Decided, WindowRecord
from recall_bench.generate.questions.writer import Entry, Window
from recall_bench.replacement import replace_file, sweep

if TYPE_CHECKING:
    from recall_bench.generate.checks.checker import Checker

Told = Callable[[str], None]
"""Hears a sentence about each window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """The question file, the rejected ones beside it, and the record they follow."""

    record: WindowRecord
    file: QuestionFile
    prefix: str
    """What ids begin with: the persona's own."""
    mode: str
    anew: bool
    """Whether what this command wrote before is replaced."""
    told: Told

    @property
    def rejected(self) -> Path:
        """Where the questions are that were not kept."""
        return self.file.path.with_name("rejected.jsonl")

    def recover(self) -> None:
        """Bring the files to where the record is, if they were left behind.

        A question file that somebody has taken away takes with it what the record says of it.
        """
        sweep(self.file.path.parent)
        decided = self.record.unsettled
        others = len(self.record.written()) > (0 if decided is None else len(decided.kept))
        if others and not self.file.path.exists():
            self._forget()
        elif decided is not None:
            ids = {entry.get("id") for entry in self.file.entries()}
            if ids.isdisjoint(entry["id"] for entry in decided.kept):
                self.file.rewrite(decided.removed, decided.kept)
            self._settle()

    def _forget(self) -> None:
        self.told(f"{self.file.name} is gone, so every window is asked about again")
        self.record.forget()

    def known(self, windows: Sequence[Window]) -> list[Entry]:
        """The questions that stay when these windows are asked about."""
        going = [
            entry
            for window in (windows if self.anew else ())
            for entry in self.record.replaceable(self.mode, window)
        ]
        return [entry for entry in self.file.entries() if entry not in going]

    def decide(
        self, window: Window, candidates: Sequence[Entry], checker: "Checker", model: str
    ) -> Decided:
        """Keep what is sound of a window's candidates, and write all of it down."""
        given = (number_of(self.prefix, entry) for entry in self.record.written())
        highest = max(self.file.highest(self.prefix), *given, 0)
        ids = (f"{self.prefix}-q{number:03}" for number in count(highest + 1))
        found = sort_out(candidates, checker, ids)
        decided = self.record.decide(
            self.mode,
            window,
            model,
            kept=found.kept,
            refused=found.refused,
            anew=self.anew,
        )
        for edited in self.file.rewrite(decided.removed, decided.kept):
            self.told(f"[questions] {edited['id']} was edited by hand, so it stays")
        self._settle()
        return decided

    def _settle(self) -> None:
        """The rejected ones follow, and the record says that all is done."""
        lines = [
            msgspec.json.encode(
                {
                    "mode": decided.mode,
                    "window": decided.window.name,
                    "entry": refused.entry,
                    "problems": refused.problems,
                }
            )
            for decided, refused in self.record.refusals()
        ]
        if lines or self.rejected.exists():
            replace_file(self.rejected, b"".join(line + b"\n" for line in lines))
        self.record.settle()
