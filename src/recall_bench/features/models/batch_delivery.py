"""Sends the request files of a folder to a batch service, and fetches their results.

    batch-0001.jsonl          requests, as `BatchFiles` writes them
    batch-0001.state.json     whose they are and what was sent, written before each next step
    batch-0001.results.jsonl  one line for each request, once its batch has ended

A process may be killed between any two steps. An upload is repeated, which costs nothing. Before a
batch is made again, the service is asked whether it has it.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from filelock import Timeout

from recall_bench.core.append_log import make_lock
from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, ModelBusy, ModelGone
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.models.batch_files import CANCELLED, EXPIRED, NO_RESULT, REQUEST_FILE
from recall_bench.features.models.batch_service import (
    BatchService,
    BatchStage,
    BatchStatus,
    SentRequests,
)

_MAX_SHORT_FETCHES = 3
"""How often results that lack a request are fetched before they are taken as they are."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryResult:
    """What came of the requests of one file."""

    file: str
    replies: int = 0
    failures: int = 0
    expired: int = 0
    notes: tuple[str, ...] = ()
    """What was wrong with the results, a sentence each."""

    def __str__(self) -> str:
        """The counts, and then the notes, each on a line."""
        parts = [format_quantity(self.replies, "reply", "replies")]
        parts += [f"{self.failures:,} failed"] if self.failures else []
        parts += [f"{self.expired:,} expired"] if self.expired else []
        return "\n".join(f"{self.file}: {each}" for each in (", ".join(parts), *self.notes))


class BatchDelivery:
    """Delivers the request files of one model in one folder."""

    def __init__(self, folder: Path, shown: str, service: BatchService, model: str) -> None:
        """`shown` is the folder as the user wrote it."""
        self._folder = folder
        self._shown = shown
        self.service = service
        self._model = model
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
            was_tried = state.begun is not None
            if not was_tried:
                sent = replace(sent, file=await self.service.upload(sent))
                state = state.replace(begun=sent.begun, file=sent.file)
                self._write_state(name, state)
            known = await self.service.find(sent) if was_tried else None
            batch = known or await self._create(name, state, sent)
            self._write_state(name, state.replace(batch=batch, adopted=known is not None))
        is_one = len(keys) == 1
        count = "1 request" if is_one else f"{len(keys):,} requests"
        verb = "is" if is_one else "are"
        how = f"{verb} with" if known else f"{verb} sent to"
        return f"{self._shown}/{name}: {count} {how} {self.service.address} as {batch}"

    async def _create(self, name: str, state: DeliveryState, sent: SentRequests) -> str:
        try:
            return await self.service.create(sent)
        except ModelGone:
            # It is certain that nothing was made, and the file may not be there any more.
            self._write_state(name, state.replace(begun=None, file=None))
            raise

    async def fetch(self, name: str) -> BatchStatus | DeliveryResult:
        """Look at the batch of a request file; its results, which are then on disk, if it ended.

        ModelBusy if that may be tried again, ModelGone if the batch was refused or cancelled.
        """
        state = self._require_state(name)
        if state.batch is None:
            raise AssertionError("it was sent")
        status = await self.service.fetch_status(state.batch)
        if status.stage is BatchStage.WORKING:
            return status
        if status.stage is BatchStage.REFUSED:
            self._write_state(name, state.replace(begun=None, file=None, batch=None))
            raise ModelGone(
                f"{self._shown}/{name}: the batch service refused {state.batch} and ran nothing: "
                f"{status.problem}; correct that and run the same command again to resend the file"
            )
        keys, _ = self._read_requests(name, state)
        results = ResultLines(keys)
        for place in status.places:
            results.add(await self.service.fetch_results(place))
        if state.adopted and results.unknown and not results.lines:
            others = (*state.others, state.batch)
            self._write_state(name, state.replace(batch=None, adopted=False, others=others))
            raise ModelBusy(f"{state.batch} is a batch of other requests; ours is sent now")
        return self._take_results(name, state.batch, status.stage, results)

    def _take_results(
        self, name: str, batch: str, stage: BatchStage, results: "ResultLines"
    ) -> DeliveryResult:
        was_cancelled = stage is BatchStage.CANCELLED
        if results.missing and not was_cancelled:
            self._short_fetches[name] += 1
            if self._short_fetches[name] < _MAX_SHORT_FETCHES:
                raise ModelBusy(
                    f"{batch}: the results were cut off or lack {results.missing:,} requests"
                )
        code = CANCELLED if was_cancelled else NO_RESULT
        content = results.render(code, f"{batch} has no result for it")
        replace_file(self._name_results(name), content)
        delivered = results.describe(f"{self._shown}/{name}", asks_again=not was_cancelled)
        if was_cancelled:
            raise ModelGone(
                f"{self._shown}/{name}: {batch} was cancelled at the service; "
                f"{delivered.replies:,} of its replies were kept; run the same command again to "
                "resend the other requests"
            )
        return delivered

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
        self.unknown = 0
        self._repeated = 0
        self._unreadable = 0

    def add(self, content: bytes) -> None:
        """Take the lines of one file; a reply goes before a failure of the same request."""
        for text in content.split(b"\n"):
            if not text.strip():
                continue
            line = _parse_line(text)
            key = None if line is None else line.get("custom_id")
            if line is None or not isinstance(key, str) or not _is_result(line):
                self._unreadable += 1
            elif key not in self._keys:
                self.unknown += 1
            elif key not in self.lines:
                self.lines[key] = line
            else:
                self._repeated += 1
                if _is_reply(line) and not _is_reply(self.lines[key]):
                    self.lines[key] = line

    @property
    def missing(self) -> int:
        """Requests without a result."""
        return len(self._keys) - len(self.lines)

    def render(self, code: str, message: str) -> bytes:
        """The lines of a result file; a request without a result has an error with this code.

        The service's own id of a result is left out: not every service makes a new one each time,
        and the same result twice is recognised by it.
        """
        lost = {"error": {"code": code, "message": message}}
        lines = ({**self.lines.get(key, lost), "custom_id": key, "id": None} for key in self._keys)
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def describe(self, file: str, *, asks_again: bool) -> DeliveryResult:
        """The counts of what came, and sentences about what was wrong with it."""
        replies = sum(map(_is_reply, self.lines.values()))
        expired = sum(map(_is_expired, self.lines.values()))
        again = "; they are sent again" if asks_again else ""
        notes = {
            "{} came twice, and one result of each counts": self._repeated,
            "{} with an id that was not asked, and ignored": self.unknown,
            "{} that cannot be read": self._unreadable,
        }
        sentences = [
            words.format(format_quantity(count, "result"))
            for words, count in notes.items()
            if count
        ]
        if self.missing:
            sentences.append(f"{self.missing:,} of {len(self._keys):,} have no result{again}")
        return DeliveryResult(
            file=file,
            replies=replies,
            failures=len(self.lines) - replies - expired,
            expired=expired,
            notes=tuple(sentences),
        )


def _parse_line(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_result(line: dict[str, Any]) -> bool:
    match line:
        case {"response": {"status_code": int()}} | {"error": {}}:
            return True
        case {"result": {"type": "succeeded", "message": {}}}:
            return True
        case {"result": {"type": "errored" | "expired" | "canceled"}}:
            return True
    return False


def _is_reply(line: dict[str, Any]) -> bool:
    match line:
        case {"response": {"status_code": 200, "body": {}}} | {"result": {"type": "succeeded"}}:
            return True
    return False


def _is_expired(line: dict[str, Any]) -> bool:
    match line:
        case {"error": {"code": code}}:
            return bool(code == EXPIRED)
        case {"result": {"type": "expired"}}:
            return True
    return False
