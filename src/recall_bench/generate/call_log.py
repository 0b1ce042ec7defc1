"""What a pass was told by its model: every reply, on record before anything is made of it.

The log of a pass lies in the persona's folder, `.generation/<pass>-<suffix>.jsonl`. The next run of
the same pass reads it, and asks for nothing it holds. `--overwrite` begins a new round, in which
everything is asked for anew; a round that was cut short goes on with the same flag.
"""

from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from recall_bench.core.append_log import AppendLog, read_lines
from recall_bench.core.errors import DataError
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.usage import Usage
from recall_bench.models.model import Finish, Prompt, Reply

FOLDER = ".generation"


class ModelCall(Record, frozen=True, kw_only=True, omit_defaults=True, tag="call"):
    """One reply that arrived."""

    at: WallTime
    unit: str
    """What it was asked for, in words: `day 12, principal`."""
    key: str
    model: str
    text: str
    usage: Usage
    finish: Finish = Finish.STOP


class CallRoundStart(Record, frozen=True, kw_only=True, tag="overwriting"):
    """From here on everything is asked for anew, and what is there is replaced."""

    round: int


class ReplacedUnit(Record, frozen=True, kw_only=True, tag="replaced"):
    """A unit was written in the round of overwriting that is under way."""

    unit: str


class CallRoundEnd(Record, frozen=True, kw_only=True, tag="overwritten"):
    """The round of overwriting came to its end."""


CallLogEntry = ModelCall | CallRoundStart | ReplacedUnit | CallRoundEnd


class CallLog(AppendLog):
    """The replies of a pass. Open it with `with`; one process at a time can."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, otherwise="stop it first", elsewhere="make the folder writable")
        self._log = path
        self._replies: dict[str, Reply] = {}
        self._replaced: set[str] = set()
        self._round = 0
        self._is_overwriting = False
        self.spent = Usage()
        """What every call on record cost, of this run and of those before it."""
        self.max_call_cost: dict[str, float] = {}
        """The most that one call on record cost, by the model's name; only where it is known."""
        self.unpriced: set[str] = set()
        """The models with a call on record whose price nobody knows."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            for number, (_, line) in enumerate(read_lines(self._log), start=1):
                self._apply_entry(_decode_entry(line, f"{self._log}, line {number}"))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def begin_round(self, *, overwrite: bool) -> None:
        """Say whether what is there is to be replaced. An unfinished round of that goes on."""
        if overwrite and not self._is_overwriting:
            self._append_entry(CallRoundStart(round=self._round + 1))

    def end_round(self) -> None:
        """Everything wanted was written: the next overwriting is another round."""
        if self._is_overwriting:
            self._append_entry(CallRoundEnd())

    def is_written_anew(self, unit: str) -> bool:
        """Whether the unit was written in the round of overwriting that is under way."""
        return unit in self._replaced

    def mark_written(self, unit: str) -> None:
        """The unit was written; matters only while overwriting."""
        if self._is_overwriting:
            self._append_entry(ReplacedUnit(unit=unit))

    def make_key(self, model: str, prompt: Prompt, attempt: int) -> str:
        """Names a question to a model: the same words put once more are another attempt."""
        parts = (model, prompt.system, prompt.user, str(attempt), str(self._round))
        return sha256("\0".join(parts).encode(errors="replace")).hexdigest()

    def __len__(self) -> int:
        """How many questions have a reply on record."""
        return len(self._replies)

    def find_reply(self, key: str) -> Reply | None:
        """The reply on record to this question."""
        return self._replies.get(key)

    def record_call(self, call: ModelCall) -> None:
        """Put a reply on record: a process that is killed after this has it."""
        self._append_entry(call)

    def _append_entry(self, entry: CallLogEntry) -> None:
        self.append_line(msgspec.json.encode(entry))
        self._apply_entry(entry)

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
    """Where the log of a pass lies; `what` is the pass and `suffix` the story's, if it has one."""
    return persona / FOLDER / (f"{what}-{suffix}.jsonl" if suffix else f"{what}.jsonl")


def _decode_entry(line: bytes, where: str) -> CallLogEntry:
    try:
        entry: CallLogEntry = msgspec.json.decode(line, type=CallLogEntry)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"{where}: is not a call on record ({error}); remove the file to ask everything anew"
        ) from error
    return entry
