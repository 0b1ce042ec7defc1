"""The log of a pass's model calls: every reply is written before it is used.

It is the file `.generation/<pass>-<suffix>.jsonl` in the persona's folder. The next run of the pass
takes replies from it instead of asking again. `--overwrite` starts a new round, in which everything
is asked again; an interrupted round continues with the same flag.
"""

from abc import ABC, abstractmethod
from hashlib import sha256
from pathlib import Path
from typing import Generic, Self, TypeVar

import msgspec

from recall_bench.core.append_log import AppendLog, read_lines
from recall_bench.core.errors import DataError
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.untrusted_json import decode_untrusted_line
from recall_bench.core.usage import Usage
from recall_bench.systems.models.model import Finish, Prompt, Reply

FOLDER = ".generation"

Entry = TypeVar("Entry")


class ModelCall(Record, frozen=True, kw_only=True, omit_defaults=True, tag="call"):
    """One reply of the model."""

    at: WallTime
    unit: str
    """What the call was for: `day 12, principal`."""
    key: str
    model: str
    text: str
    usage: Usage
    finish: Finish = Finish.STOP


class CallRoundStart(Record, frozen=True, kw_only=True, tag="overwriting"):
    """Starts a round of overwriting: everything is asked again and replaced."""

    round: int


class ReplacedUnit(Record, frozen=True, kw_only=True, tag="replaced"):
    """A unit that the current round has written."""

    unit: str


class CallRoundEnd(Record, frozen=True, kw_only=True, tag="overwritten"):
    """Ends a round of overwriting."""


CallLogEntry = ModelCall | CallRoundStart | ReplacedUnit | CallRoundEnd


class EntryLog(AppendLog, ABC, Generic[Entry]):
    """An append-only log of entries, as a context manager that reads and locks the file."""

    def __init__(self, path: Path, decoder: msgspec.json.Decoder[Entry], problem: str) -> None:
        """`problem` says what a line is not; `{}` in it is the error."""
        super().__init__(path, otherwise="stop it first", elsewhere="make the folder writable")
        self._decoder = decoder
        self._problem = problem

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            for number, (_, line) in enumerate(read_lines(self._path), start=1):
                self._apply_entry(self._decode_entry(line, number))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def _append_entry(self, entry: Entry) -> None:
        self.append_line(msgspec.json.encode(entry))
        self._apply_entry(entry)

    @abstractmethod
    def _apply_entry(self, entry: Entry) -> None:
        """Change the state by an entry that was read or appended."""

    def _decode_entry(self, line: bytes, number: int) -> Entry:
        try:
            return decode_untrusted_line(self._decoder, line)
        except msgspec.DecodeError as error:
            problem = self._problem.format(error)
            raise DataError(f"{self._path}, line {number}: {problem}") from error


class CallLog(EntryLog[CallLogEntry]):
    """The logged replies of a pass."""

    def __init__(self, path: Path) -> None:
        problem = "is not a logged call ({}); remove the file to ask everything again"
        super().__init__(path, msgspec.json.Decoder(CallLogEntry), problem)
        self._replies: dict[str, Reply] = {}
        self._replaced: set[str] = set()
        self._round = 0
        self._is_overwriting = False
        self.spent = Usage()
        """The usage of all logged calls, of this run and earlier ones."""
        self.max_call_cost: dict[str, float] = {}
        """The highest known cost of one logged call, by model."""
        self.unpriced: set[str] = set()
        """Models with a logged call of unknown price."""

    def begin_round(self, *, overwrite: bool) -> None:
        """Start a round of overwriting if asked to; an unfinished one continues."""
        if overwrite and not self._is_overwriting:
            self._append_entry(CallRoundStart(round=self._round + 1))

    def end_round(self) -> None:
        """End the round, so that the next `--overwrite` starts another."""
        if self._is_overwriting:
            self._append_entry(CallRoundEnd())

    def is_done_in_round(self, unit: str) -> bool:
        """Whether the current round has written the unit."""
        return unit in self._replaced

    def mark_written(self, unit: str) -> None:
        """Note that the unit was written; has an effect only in a round of overwriting."""
        if self._is_overwriting:
            self._append_entry(ReplacedUnit(unit=unit))

    def make_key(self, model: str, prompt: Prompt, attempt: int) -> str:
        """The key of a call; another attempt with the same prompt has another key."""
        parts = (model, prompt.system, prompt.user, str(attempt), str(self._round))
        return sha256("\0".join(parts).encode(errors="replace")).hexdigest()

    def name_variant(self, attempt: int) -> str:
        """The variant of a prompt, for models that keep their replies themselves."""
        return f"round {self._round}, attempt {attempt}" if self._round or attempt else ""

    def __len__(self) -> int:
        """The number of logged replies."""
        return len(self._replies)

    def find_reply(self, key: str) -> Reply | None:
        """The logged reply with this key."""
        return self._replies.get(key)

    def record_call(self, call: ModelCall) -> None:
        """Log a reply; it survives a kill after this returns."""
        self._append_entry(call)

    def _apply_entry(self, entry: CallLogEntry) -> None:
        match entry:
            case ModelCall():
                self._replies[entry.key] = Reply(
                    text=entry.text, usage=Usage(cached=1), finish=entry.finish
                )
                self._count_usage(entry.model, entry.usage)
            case CallRoundStart():
                self._round, self._is_overwriting = entry.round, True
                self._replaced.clear()
            case ReplacedUnit():
                self._replaced.add(entry.unit)
            case CallRoundEnd():
                self._is_overwriting = False
                self._replaced.clear()

    def _count_usage(self, model: str, usage: Usage) -> None:
        self.spent += usage
        if usage.unpriced:
            self.unpriced.add(model)
        else:
            self.max_call_cost[model] = max(self.max_call_cost.get(model, 0.0), usage.cost_usd)


def log_path(persona: Path, what: str, suffix: str) -> Path:
    """The path of a pass's log; `suffix` is that of the story, if it has one."""
    return persona / FOLDER / (f"{what}-{suffix}.jsonl" if suffix else f"{what}.jsonl")
