"""Sends the request files of a folder to a batch service, and fetches their results.

    batch-0001.jsonl          requests, as `BatchFiles` writes them
    batch-0001.state.json     whose they are and what was sent, written before each next step
    batch-0001.results.jsonl  one line for each request, once its batch has ended

A process may be killed between any two steps. An upload is repeated, which costs nothing. Before a
batch is made again, the service is asked whether it has it.

A command whose model sends batches collects its requests, ends with ModelPending and closes its
models. Then everything that waits is sent by `deliver_batches`, and when all of it is there the
same command is run again: it finds the replies as if it had been killed in between.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import anyio
import msgspec
from filelock import Timeout

from recall_bench.core.append_log import make_lock
from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, Interrupted, ModelBusy, ModelGone, ModelPending
from recall_bench.core.plain_text import format_quantity, join_words
from recall_bench.core.record import Record
from recall_bench.core.runtime import cancel_on_signals, run_to_end
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.models.batch_files import REQUEST_FILE
from recall_bench.features.models.batch_formats import (
    CANCELLED,
    EXPIRED,
    NO_RESULT,
    BatchFailure,
    parse_line,
    read_result,
)
from recall_bench.features.models.batch_senders import SENDERS
from recall_bench.features.models.batch_service import (
    BatchService,
    BatchStage,
    BatchStatus,
    SentRequests,
)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""Between two looks at the batches; each pause is twice as long as the one before."""
MAX_FAILURES = 10
"""Looks in a row that may fail before the command ends and leaves the batches for later."""
_MAX_SHORT_FETCHES = 3
"""How often results that lack a request are fetched before they are taken as they are."""

Say = Callable[[str], None]


class DeliveryState(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one request file."""

    service: str
    model: str
    begun: datetime | None = None
    """When a batch of it was first to be made; None if that was not tried."""
    file: str | None = None
    batch: str | None = None
    adopted: bool = False
    """Whether the batch was found, and not made by the process that wrote this."""
    others: tuple[str, ...] = ()
    """Batches that were found and turned out to be of other requests."""


class BatchDelivery:
    """Delivers the request files of one model in one folder."""

    def __init__(
        self, folder: Path, shown: str, service: BatchService, model: str, wait_s: float
    ) -> None:
        """`shown` is the folder as the user wrote it, `wait_s` how long a command may wait."""
        self._folder = folder
        self._shown = shown
        self.service = service
        self._model = model
        self.wait_s = wait_s
        self._short_fetches: Counter[str] = Counter()

    def claim(self, name: str) -> None:
        """Note that a request file that is about to appear is ours to send."""
        self._write_state(name, DeliveryState(service=self.service.address, model=self._model))

    def list_own(self) -> list[str]:
        """The request files of this model."""
        own = self.service.address, self._model
        return [
            path.name
            for path in sorted(self._folder.glob("batch-*.jsonl"))
            if REQUEST_FILE.fullmatch(path.name)
            # Of a process that was killed before it had written the file, an empty one is left.
            and path.stat().st_size
            and (state := self._read_state(path.name)) is not None
            and (state.service, state.model) == own
        ]

    def list_open(self) -> list[str]:
        """The request files of this model without results."""
        return [name for name in self.list_own() if not self._name_results(name).exists()]

    def name_batch(self, name: str) -> str | None:
        """The id of the batch of a request file; None if it has none yet."""
        state = self._read_state(name)
        return None if state is None else state.batch

    async def send(self, name: str) -> str | None:
        """Make the batch of a request file; a sentence for the user, None if it was made before.

        ModelBusy if that may be tried again.
        """
        with self._lock():
            state = self._require_state(name)
            if state.batch is not None:
                return None
            keys, sent = self._read_requests(name, state)
            stored = None
            if state.begun is not None:
                stored = await self.service.find(sent)
            else:
                sent = replace(sent, file=await self.service.upload(sent))
                state = state.replace(begun=sent.begun, file=sent.file)
                self._write_state(name, state)
            try:
                batch = stored or await self.service.create(sent)
            except ModelGone:
                # It is certain that nothing was made, and the file may not be there any more.
                self._write_state(name, state.replace(begun=None, file=None))
                raise
            self._write_state(name, state.replace(batch=batch, adopted=stored is not None))
        verb = "is" if len(keys) == 1 else "are"
        how = f"{verb} with" if stored else f"{verb} sent to"
        count = format_quantity(len(keys), "request")
        return f"{self._shown}/{name}: {count} {how} {self.service.address} as {batch}"

    async def fetch(self, name: str) -> BatchStatus | str:
        """Look at the batch of a request file; what came of it, if it ended and is on disk.

        ModelBusy if that may be tried again, ModelGone if the batch was refused or cancelled.
        """
        state = self._require_state(name)
        assert state.batch is not None  # noqa: S101 - it was sent
        status = await self.service.fetch_status(state.batch)
        if status.stage is BatchStage.WORKING:
            return status
        place = f"{self._shown}/{name}"
        if status.stage is BatchStage.REFUSED:
            self._write_state(name, state.replace(begun=None, file=None, batch=None))
            raise ModelGone(
                f"{place}: the batch service refused {state.batch} and ran nothing: "
                f"{status.problem}; correct that and run the same command again to resend the file"
            )
        results = ResultLines(self._read_requests(name, state)[0])
        for path in status.places:
            results.add(await self.service.fetch(path))
        if state.adopted and results.unknown and not results.lines:
            others = (*state.others, state.batch)
            self._write_state(name, state.replace(batch=None, adopted=False, others=others))
            raise ModelBusy(f"{state.batch} is a batch of other requests; ours is sent now")
        was_cancelled = status.stage is BatchStage.CANCELLED
        if results.missing and not was_cancelled:
            self._short_fetches[name] += 1
            if self._short_fetches[name] < _MAX_SHORT_FETCHES:
                raise ModelBusy(
                    f"{state.batch}: the results were cut off or lack {results.missing:,} requests"
                )
        code = CANCELLED if was_cancelled else NO_RESULT
        content = results.render(code, f"{state.batch} has no result for it")
        replace_file(self._name_results(name), content)
        if was_cancelled:
            raise ModelGone(
                f"{place}: {state.batch} was cancelled at the service; "
                f"{results.replies:,} of its replies were kept; run the same command again to "
                "resend the other requests"
            )
        return "\n".join(f"{place}: {sentence}" for sentence in results.describe())

    def _read_requests(self, name: str, state: DeliveryState) -> tuple[list[str], SentRequests]:
        content = (self._folder / name).read_bytes()
        keys = [json.loads(line)["custom_id"] for line in content.splitlines() if line.strip()]
        return keys, SentRequests(
            name=name,
            content=content,
            count=len(keys),
            begun=state.begun or datetime.now(UTC),
            file=state.file,
            others=frozenset(state.others),
        )

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Of two commands that share a folder, one sends at a time."""
        try:
            with make_lock(self._folder / "send"):
                yield
        except Timeout:
            raise ModelBusy(f"another command is sending files of {self._shown}") from None

    def _require_state(self, name: str) -> DeliveryState:
        state = self._read_state(name)
        if state is None:
            raise ModelGone(
                f"{self._shown}/{name}: its state file was removed; see at the service whether it "
                "was sent, then remove it too or run the same command without send=yes"
            )
        return state

    def _read_state(self, name: str) -> DeliveryState | None:
        path = self._folder / name.replace(".jsonl", ".state.json")
        try:
            return decode_untrusted_json(path.read_bytes(), DeliveryState)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise DataError(
                f"{path}: is not the state of a batch ({error}); restore it, or remove it and its "
                "request file if nothing was sent"
            ) from error

    def _write_state(self, name: str, state: DeliveryState) -> None:
        path = self._folder / name.replace(".jsonl", ".state.json")
        replace_file(path, msgspec.json.encode(state) + b"\n")

    def _name_results(self, name: str) -> Path:
        return self._folder / name.replace(".jsonl", ".results.jsonl")


class ResultLines:
    """The results of one batch: one line for each request, whatever the service sent."""

    def __init__(self, keys: Collection[str]) -> None:
        self._keys = dict.fromkeys(keys)
        self.lines: dict[str, dict[str, Any]] = {}
        self._failures: dict[str, BatchFailure] = {}
        self.unknown = 0
        self._repeated = 0
        self._unreadable = 0

    def add(self, content: bytes) -> None:
        """Take the lines of one file; a reply goes before a failure of the same request."""
        for text in filter(bytes.strip, content.split(b"\n")):
            line = parse_line(text)
            key = None if line is None else line.get("custom_id")
            result = None if line is None else read_result(line)
            if line is None or result is None or not isinstance(key, str):
                self._unreadable += 1
                continue
            if key not in self._keys:
                self.unknown += 1
                continue
            self._repeated += key in self.lines
            if not isinstance(result, BatchFailure):
                if key not in self.lines or key in self._failures:
                    self._failures.pop(key, None)
                    self.lines[key] = line
            elif key not in self.lines:
                self.lines[key], self._failures[key] = line, result

    @property
    def missing(self) -> int:
        """Requests without a result."""
        return len(self._keys) - len(self.lines)

    @property
    def replies(self) -> int:
        """Requests with a reply."""
        return len(self.lines) - len(self._failures)

    def render(self, code: str, message: str) -> bytes:
        """The lines of a result file; a request without a result has an error with this code.

        The service's own id of a result is left out: not every service makes a new one each time,
        and the same result twice is recognised by it.
        """
        lost = {"error": {"code": code, "message": message}}
        lines = ({**self.lines.get(key, lost), "custom_id": key, "id": None} for key in self._keys)
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def describe(self) -> Iterator[str]:
        """The counts of what came, and sentences about what was wrong with it."""
        expired = sum(failure.code == EXPIRED for failure in self._failures.values())
        parts = [format_quantity(self.replies, "reply", "replies")]
        for count, word in ((len(self._failures) - expired, "failed"), (expired, "expired")):
            parts += [f"{count:,} {word}"] if count else []
        yield ", ".join(parts)
        for count, words in (
            (self._repeated, "came twice, and one result of each counts"),
            (self.unknown, "with an id that was not asked, and ignored"),
            (self._unreadable, "that cannot be read"),
        ):
            if count:
                yield f"{format_quantity(count, 'result')} {words}"
        if self.missing:
            yield f"{self.missing:,} of {len(self._keys):,} have no result; they are sent again"


def deliver_batches(say: Say, show: Say) -> bool:
    """Send the batches of this process's models and wait for them; whether all have come.

    False if there was nothing to wait for. `say` receives what happened, `show` what goes on.
    ModelPending if they take longer than the user wants to wait, ModelGone if one cannot succeed,
    Interrupted at a signal.
    """
    delivery = _DeliveryRound(say, show)
    return bool(delivery.list_open()) and run_to_end(_deliver_until_signal, delivery)


async def _deliver_until_signal(delivery: "_DeliveryRound") -> bool:
    with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
        async with AsyncExitStack() as stack:
            for own in {own: None for own, _ in delivery.list_open()}:
                await stack.enter_async_context(own.service)
            await delivery.run()
    if received:
        delivery.say(delivery.describe_open())
        raise Interrupted(received[0])
    return True


@runtime_checkable
class BatchSender(Protocol):
    """A model that sends batches."""

    @property
    def delivery(self) -> BatchDelivery:
        """Sends and fetches its files."""

    def list_open_files(self) -> list[str]:
        """The request files that this command needs and that have no results yet."""


class _DeliveryRound:
    """Looks at all open batches until there is none."""

    def __init__(self, say: Say, show: Say) -> None:
        senders = (model for model in SENDERS.models if isinstance(model, BatchSender))
        self._models = [model for model in senders if model.list_open_files()]
        self.say = say
        self._show = show
        self._failures = 0
        self._retry_after_s = 0.0
        self._progress: dict[str, BatchStatus] = {}

    def list_open(self) -> Sequence[tuple[BatchDelivery, str]]:
        """The request files that wait for results."""
        return [
            (model.delivery, name) for model in self._models for name in model.list_open_files()
        ]

    async def run(self) -> None:
        """Return when every batch has its results on disk."""
        until = anyio.current_time() + min(model.delivery.wait_s for model in self._models)
        pause_s, last = FIRST_PAUSE_S, ""
        while True:
            self._retry_after_s, busy = 0.0, None
            for delivery, name in self.list_open():
                busy = await self._advance(delivery, name) or busy
            self._failures = self._failures + 1 if busy else 0
            if not self.list_open():
                return
            left_s = until - anyio.current_time()
            if left_s <= 0 or self._failures >= MAX_FAILURES:
                why = f"{busy}; " if busy else ""
                raise ModelPending(why + self.describe_open())
            done = sum(status.done for status in self._progress.values())
            total = sum(status.total for status in self._progress.values())
            words = f"{done:,} of {total:,} requests are done"
            words = f"{busy}; it is asked again" if busy else words
            if words != last:
                self._show(words)
                last = words
            await anyio.sleep(min(max(pause_s, self._retry_after_s), left_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def describe_open(self) -> str:
        """What is with the services, and how to go on."""
        batches = [
            delivery.name_batch(name) or f"{name}, which was not sent"
            for delivery, name in self.list_open()
        ]
        named = join_words(batches[:5]) + (f" and {len(batches) - 5} more" if batches[5:] else "")
        verb = "has" if len(batches) == 1 else "have"
        return (
            f"{named} {verb} not ended; run the same command again to continue; nothing is paid "
            "for twice"
        )

    async def _advance(self, delivery: BatchDelivery, name: str) -> ModelBusy | None:
        """Send or look at one file; why that has to be tried again, if it has."""
        try:
            if (message := await delivery.send(name)) is not None:
                self.say(message)
            outcome = await delivery.fetch(name)
        except ModelBusy as busy:
            self._retry_after_s = max(self._retry_after_s, busy.retry_after_s)
            return busy
        if isinstance(outcome, str):
            self._progress.pop(name, None)
            self.say(outcome)
        else:
            self._progress[name] = outcome
        return None
