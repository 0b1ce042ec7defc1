"""The frame of every pass: its log, its model, what is written or missing, and its end."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog, log_path
from recall_bench.features.personas.model_caller import ModelCaller, describe_estimate, open_model
from recall_bench.features.personas.model_reply import (
    MAX_ATTEMPTS,
    NoUsableReply,
    RejectedReply,
    ask_until_usable,
)
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.pass_run import (
    MissingUnit,
    OnProgress,
    PassResult,
    PassStop,
    run_parts,
    run_pass,
)
from recall_bench.systems.models.target import describe_sending

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model, Prompt

Reading = TypeVar("Reading")


class ModelPass:
    """One run of a pass; what a pass writes, and from which prompts, is its own."""

    def __init__(
        self, name: str, request: PassRequest, on_progress: OnProgress, model: "Model | None" = None
    ) -> None:
        """A given model replaces that of the request and is not closed."""
        self.name = name
        self.request = request
        self.on_progress = on_progress
        self.model = model
        self._is_given = model is not None
        self.log: CallLog | None = None
        self.caller: ModelCaller | None = None
        self.written = 0
        self.missing: list[MissingUnit] = []
        self.stopped: PassStop | None = None

    def open_model(self, *, usual_temperature: float = 0.7) -> None:
        """Open the model of the request, unless there is one or the pass is offline."""
        if self.model is None and not self.request.is_offline:
            self.model = open_model(self.request, usual_temperature=usual_temperature)

    @contextmanager
    def open_log(self, folder: Path, name: str, suffix: str) -> Iterator[CallLog]:
        """Read and lock the log of this name in the persona's folder."""
        with CallLog(log_path(folder, name, suffix)) as self.log:
            yield self.log

    def begin(self) -> None:
        """Begin or continue a round of overwriting, and make the model answerable."""
        if self.log is not None:
            self.log.begin_round(overwrite=self.request.overwrite)
            if self.model is not None:
                self.caller = ModelCaller.from_request(self.request, self.model, self.log)

    def is_done(self, unit: str, *, exists: bool) -> bool:
        """Whether the unit is there and not to be overwritten."""
        is_kept = not self.request.overwrite or (
            self.log is not None and self.log.is_done_in_round(unit)
        )
        return exists and is_kept

    def report_estimate(
        self, calls: int, sample: "Prompt", usual_tokens: int, material: str | None = None
    ) -> None:
        """Say what the calls will cost if they are like the sample, and what material is sent."""
        if material is not None:
            self.on_progress(describe_sending(self.request.model, material))
        self.on_progress(describe_estimate(self.request.model, calls, sample, usual_tokens))

    def has_reply(self, prompt: "Prompt") -> bool:
        """Whether the log has a reply to the first attempt."""
        if self.log is None or self.model is None:
            return False
        return self.log.find_reply(self.log.make_key(self.model.name, prompt, 0)) is not None

    async def ask(
        self,
        unit: str,
        prompt: "Prompt",
        read: Callable[[str], Reading | RejectedReply],
        *,
        attempts: int = MAX_ATTEMPTS,
    ) -> Reading:
        """The result of `read` for the first usable reply; see `ask_until_usable`."""
        if self.caller is None:
            raise AssertionError("a pass asks its model after it has begun")
        return await ask_until_usable(self.caller, unit, prompt, read, attempts=attempts)

    async def write_entries(
        self, day: int, arcs: str, sessions: Mapping[str, Callable[[], Awaitable[str]]]
    ) -> dict[str, str] | None:
        """The entries of a day's sessions; if one fails, None and a missing day."""
        entries: dict[str, str] = {}
        failures: dict[str, str] = {}

        async def write_entry(name: str) -> None:
            try:
                entries[name] = await sessions[name]()
            except NoUsableReply as fault:
                failures[name] = str(fault)

        await run_parts(tuple(sessions), write_entry)
        if failures:
            reason = "; ".join(
                f"session {name}: {failures[name]}" for name in sessions if name in failures
            )
            self.skip(f"day {day}", reason, day=day, label=f"arc={arcs or 'none'} day={day}")
            return None
        return {name: entries[name] for name in sessions}

    def note_written(self, unit: str) -> None:
        """Count a unit whose file is on disk."""
        if self.log is not None:
            self.log.mark_written(unit)
        self.written += 1

    def skip(
        self, unit: str, reason: str, *, day: int | None = None, label: str | None = None
    ) -> None:
        """Report a unit that could not be written; the next run tries it again."""
        self.missing.append(MissingUnit(unit=unit, reason=reason, day=day))
        self.on_progress(f"[{self.name}] {label or unit} skipped: {reason}")

    def run(self, work: Callable[[], Awaitable[None]], *, ends_round: bool = True) -> None:
        """Do the work, close the model if it is ours, and end the round if nothing is missing."""
        self.stopped = run_pass(work, None if self._is_given else self.model)
        if ends_round:
            self.end_round()

    def end_round(self) -> None:
        """End a round of overwriting in which everything was written."""
        if self.log is not None and self.is_complete:
            self.log.end_round()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing and nothing stopped the pass."""
        return self.stopped is None and not self.missing

    @property
    def usage(self) -> Usage:
        """The usage of this run."""
        return Usage() if self.caller is None else self.caller.usage

    @property
    def spent(self) -> Usage:
        """The usage of all runs."""
        return Usage() if self.log is None else self.log.spent

    def make_result(
        self, what: str, folder: Path, *, wanted: int, kept: int, notes: tuple[str, ...] = ()
    ) -> PassResult:
        """The result of the pass; missing days in their order."""
        return PassResult(
            what=what,
            folder=str(folder),
            wanted=wanted,
            written=self.written,
            kept=kept,
            missing=tuple(sorted(self.missing, key=lambda unit: unit.day or 0)),
            notes=notes,
            fill=self.request.resume_command,
            usage=self.usage,
            spent=self.spent,
            stopped=self.stopped,
        )
