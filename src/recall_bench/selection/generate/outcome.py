"""What became of a batch of samples."""

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage


class FailedSample(Record, frozen=True, kw_only=True):
    """A sample that gave no test, however often it was drawn."""

    sample: int
    """Counted from 1."""
    reason: str


class BatchStop(Record, frozen=True, kw_only=True):
    """Why a batch ended before its last sample."""

    reason: str
    exit_code: int


class GeneratedSuite(Record, frozen=True, kw_only=True):
    """A batch that came to its end.

    Every sample is in exactly one of the lists, or was not finished because the batch was stopped.
    """

    folder: str
    samples: int
    """How many were asked for."""
    written: tuple[str, ...]
    """File names of the new tests, by sample."""
    kept: tuple[str, ...]
    """File names of this batch's tests that were there already."""
    failed: tuple[FailedSample, ...]
    redrawn: int
    """Draws that made no test and were followed by another."""
    usage: Usage
    stopped: BatchStop | None

    @property
    def exit_code(self) -> int:
        """0 if every sample has its test, 1 if some failed, else why the batch was stopped."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.failed else 0

    @property
    def in_words(self) -> str:
        """One sentence: how many of the tests asked for there are."""
        there = len(self.written) + len(self.kept)
        told = [f"{there} of {self.samples} tests are in {self.folder}"]
        if self.kept:
            told.append(f"{len(self.kept)} were there already")
        if self.failed:
            told.append(
                f"{len(self.failed)} failed, first sample {self.failed[0].sample}: "
                f"{self.failed[0].reason}"
            )
        if self.stopped is not None:
            told.append(self.stopped.reason)
        return "; ".join(told)
