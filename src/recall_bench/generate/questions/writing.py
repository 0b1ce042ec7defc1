"""`generate-qa`: questions on a story, window by window, each examined before it is kept.

Windows are written side by side and decided in story order, for what is kept of one depends on
what was kept before it. What came of a window is on record before `questions.yaml` follows.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.lowlevel

from recall_bench.core.usage import Usage
from recall_bench.datasets.layout import Layout
from recall_bench.errors import ModelFault, ModelGone
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.caller import Caller
from recall_bench.generate.carrying_out import carried_out
from recall_bench.generate.lanes import side_by_side
from recall_bench.generate.outcome import Generated, Missing, Stopped
from recall_bench.generate.questions.books import Books, Told
from recall_bench.generate.questions.preparing import (
    ModelledWriter,
    Prepared,
    modelled_writer,
    offline_writer,
    prepare,
)
from recall_bench.generate.questions.question_file import QuestionFile
from recall_bench.generate.questions.request import STANDARD, QuestionsRequest
from recall_bench.generate.questions.window_record import WindowRecord
from recall_bench.generate.questions.windows import share, unasked
from recall_bench.generate.questions.writer import Entry, QuestionWriter, Window
from recall_bench.generate.rounds import Unwritten
from recall_bench.replacement import replace_file

if TYPE_CHECKING:
    from recall_bench.generate.checks.checker import Checker
    from recall_bench.models.model import Model

    CheckerOf = Callable[[Layout, Sequence[Mapping[str, object]]], Checker]


def generate_questions(
    request: QuestionsRequest,
    told: Told = lambda _: None,
    model: "Model | None" = None,
    *,
    checker_of: "CheckerOf | None" = None,
) -> Generated:
    """Write questions on every window of days that was not asked about yet.

    A window is in the files, whole, the moment it is decided, and the same request goes on where
    an earlier one stopped. A model or a checker of one's own may take the place of the usual.
    """
    prepared = prepare(request)
    layout = prepared.layout
    file = QuestionFile(layout.questions_file, layout.name(layout.questions_file))
    file.entries()
    is_ours = model is None and not request.is_offline
    if model is None and is_ours:
        from recall_bench.generate.opening import open_model

        model = open_model(request)
    with ExitStack() as stack:
        record = stack.enter_context(WindowRecord(layout.folder, layout.suffix))
        books = Books(
            record=record,
            file=file,
            prefix=prepared.telling.persona.id,
            mode=request.mode,
            anew=request.overwrite,
            told=told,
        )
        log = caller = None
        if model is not None:
            path = log_path(layout.folder, f"questions-{request.mode}", layout.suffix)
            log = stack.enter_context(CallLog(path))
            caller = Caller.of(request, model, log)
        work = _Pass(request, prepared, books, told, log, caller)
        return work.carry_out(checker_of, model if is_ours else None)


@dataclass(slots=True)
class _Pass:
    """The windows of a request under way."""

    request: QuestionsRequest
    prepared: Prepared
    books: Books
    told: Told
    log: CallLog | None
    caller: Caller | None
    owed: list[Window] = field(default_factory=list)
    written: int = 0
    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected questions, by what was wrong first."""
    missing: list[Missing] = field(default_factory=list)
    modelled: ModelledWriter | None = None
    silent: list[Window] = field(default_factory=list)
    """Those in which the model found nothing to ask."""

    def carry_out(self, checker_of: "CheckerOf | None", closing: "Model | None") -> Generated:
        """Write what is owed; a model that is given is closed in the end."""
        self._begin()
        if not self.owed:
            self._end(None)
            return self._outcome(None)
        writer = self._writer()
        queue = _Queue(self, writer, self._checker(checker_of))

        async def work() -> None:
            await side_by_side(self.owed, queue.write, at_once=self.request.parallelism)

        stopped = carried_out(work, closing)
        self._end(stopped)
        return self._outcome(stopped)

    def amount(self, window: Window) -> int:
        """How many questions are wanted on a window; a secret is asked for twice."""
        amount = share(window, self.request.amount, self.request.days_between)
        return amount if self.request.mode == STANDARD else 2 * amount

    def decided(
        self, window: Window, candidates: Sequence[Entry], how: tuple["Checker", str]
    ) -> None:
        """Keep what is sound of a window."""
        found = self.books.decide(window, candidates, *how)
        self.written += 1
        if not candidates and self._was_asked(window):
            self.silent.append(window)
        self.kept += len(found.kept)
        self.reasons.update(refused.problems[0].kind for refused in found.refused)
        self.told(
            f"Window {window.number}/{self.prepared.checkpoints} ({window.name}): "
            f"{len(found.kept)} kept, {len(found.refused)} rejected"
        )

    def failed(self, window: Window, reason: str) -> None:
        """Nothing could be had for a window this time."""
        unit = _named(window)
        self.missing.append(Missing(unit=unit, reason=reason))
        self.told(f"[questions] {unit} skipped: {reason}")

    def _was_asked(self, window: Window) -> bool:
        """Whether a model was asked about a window: not if nobody is a stranger to its secrets."""
        writer = self.modelled
        return writer is not None and bool(writer.prompts(window, self.amount(window)))

    def _begin(self) -> None:
        self.books.recover()
        if self.log is not None:
            self.log.begin(overwrite=self.request.overwrite)
        if self.request.overwrite:
            self.books.record.begin(self.request.mode)
        asked = self.books.record.asked(self.request.mode, anew=self.request.overwrite)
        days = self.prepared.telling.days
        rest = (unasked(window, days, asked) for window in self.prepared.windows)
        self.owed = [window for window in rest if window is not None]

    def _end(self, stopped: Stopped | None) -> None:
        if stopped is None and not self.missing:
            # The replies first: a round that is over in the record alone would begin again.
            if self.log is not None:
                self.log.end()
            self.books.record.end(self.request.mode)

    def _writer(self) -> QuestionWriter:
        if self.caller is None:
            return self._world()
        writer = modelled_writer(self.request, self.prepared.telling, self.caller)
        self._estimate(writer)
        self.modelled = writer
        return writer

    def _world(self) -> QuestionWriter:
        """The world as writer, with what a proof of its answers needs beside the questions."""
        writer = offline_writer(self.request, self.prepared.layout)
        for name, text in writer.beside.items():
            replace_file(self.books.file.path.with_name(name), text.encode())
        return writer

    def _estimate(self, writer: ModelledWriter) -> None:
        from recall_bench.generate.estimate import estimate

        asked = [len(writer.prompts(window, self.amount(window))) for window in self.owed]
        # Days grow as a story goes on: the middle window stands for them all.
        middle = self.owed[len(self.owed) // 2]
        for sample in writer.prompts(middle, self.amount(middle))[:1]:
            self.told(estimate(self.request.model, sum(asked), sample, writer.usual_tokens))

    def _checker(self, checker_of: "CheckerOf | None") -> "Checker":
        from recall_bench.generate.checks.examining import open_checker

        opening = checker_of or open_checker
        return opening(self.prepared.layout, self.books.known(self.owed))

    def _outcome(self, stopped: Stopped | None) -> Generated:
        return Generated(
            what="windows",
            folder=str(self.books.file.path.parent),
            wanted=len(self.prepared.windows),
            written=self.written,
            kept=len(self.prepared.windows) - len(self.owed),
            missing=tuple(self.missing),
            notes=self._notes(),
            fill=self.request.again,
            usage=self.caller.usage if self.caller else Usage(),
            spent=self.log.spent if self.log else Usage(),
            stopped=stopped,
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.written:
            return ()
        told = f"{self.kept} questions kept, {self.reasons.total()} rejected"
        if self.reasons:
            why = ", ".join(f"{count} {kind}" for kind, count in self.reasons.most_common())
            told += f" ({why}): see {self.books.rejected}"
        return (told, *self._silence())

    def _silence(self) -> Iterator[str]:
        for window in self.silent[:1]:
            named = ", ".join(map(_named, self.silent))
            instead = "" if self.request.days is None else " in the place of --days"
            each = "" if len(self.silent) == 1 else ", and so on for each"
            yield (
                f"the model found nothing to ask in {named}; to ask again, give the same command "
                f"with --overwrite --start {window.first} --end {window.last}{instead}{each}"
            )


def _named(window: Window) -> str:
    return f"window {window.number} ({window.name})"


class _Queue:
    """Takes what was written in any order, and hands it on in the order of the windows."""

    def __init__(self, work: _Pass, writer: QuestionWriter, checker: "Checker") -> None:
        self._pass = work
        self._writer = writer
        self._checker = checker
        self._found: dict[Window, Sequence[Entry] | str] = {}
        self._next = 0
        self._is_deciding = False

    async def write(self, window: Window) -> None:
        """Have a window written; what can be decided then is."""
        # Offline nobody is ever waited for: without this nobody could interrupt it.
        await anyio.lowlevel.checkpoint()
        try:
            self._found[window] = await self._writer.write(window, self._pass.amount(window))
        except ModelGone:
            raise
        except (Unwritten, ModelFault) as fault:
            self._found[window] = str(fault)
        self._decide()

    def _decide(self) -> None:
        # One that broke ends the pass, but others may come in before the end gets through.
        if self._is_deciding:
            return
        self._is_deciding = True
        owed = self._pass.owed
        while self._next < len(owed) and owed[self._next] in self._found:
            window = owed[self._next]
            found = self._found.pop(window)
            if isinstance(found, str):
                self._pass.failed(window, found)
            else:
                self._pass.decided(window, found, (self._checker, self._writer.name))
            self._next += 1
        self._is_deciding = False
