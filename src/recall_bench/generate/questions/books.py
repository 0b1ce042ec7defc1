"""What is kept of a window: decided once, on record first, then in the files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.generate.questions.keeping import sort_candidates
from recall_bench.generate.questions.question_file import QuestionFile, parse_number
from recall_bench.generate.questions.window_record import WindowDecision, WindowRecord
from recall_bench.generate.questions.writer import QuestionEntry, QuestionWindow
from recall_bench.replacement import remove_leftovers, replace_file

if TYPE_CHECKING:
    from recall_bench.generate.checks.checker import QuestionChecker

OnProgress = Callable[[str], None]
"""Hears a sentence about each window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStore:
    """The question file, the rejected ones beside it, and the record they follow."""

    record: WindowRecord
    file: QuestionFile
    prefix: str
    """What ids begin with: the persona's own."""
    mode: str
    anew: bool
    """Whether what this command wrote before is replaced."""
    told: OnProgress

    @property
    def rejected(self) -> Path:
        """Where the questions are that were not kept."""
        return self.file.path.with_name("rejected.jsonl")

    def recover(self) -> None:
        """Bring the files to where the record is, if they were left behind.

        A question file that somebody has taken away takes with it what the record says of it.
        """
        remove_leftovers(self.file.path.parent)
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
        self.told(f"{self.file.name} is gone, so every window is asked about again")
        self.record.reset()

    def list_known(self, windows: Sequence[QuestionWindow]) -> list[QuestionEntry]:
        """The questions that stay when these windows are asked about."""
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
        """Keep what is sound of a window's candidates, and write all of it down."""
        given = (parse_number(self.prefix, entry) for entry in self.record.list_written())
        highest = max(self.file.find_highest_number(self.prefix), *given, 0)
        ids = (f"{self.prefix}-q{number:03}" for number in count(highest + 1))
        found = sort_candidates(candidates, checker, ids)
        decided = self.record.record_decision(
            self.mode,
            window,
            model,
            kept=found.kept,
            refused=found.refused,
            anew=self.anew,
        )
        for edited in self.file.rewrite(decided.removed, decided.kept):
            self.told(f"[questions] {edited['id']} was edited by hand, so it stays")
        self._write_rejections()
        return decided

    def _write_rejections(self) -> None:
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
            for decided, refused in self.record.list_rejections()
        ]
        if lines or self.rejected.exists():
            replace_file(self.rejected, b"".join(line + b"\n" for line in lines))
        self.record.mark_done()
