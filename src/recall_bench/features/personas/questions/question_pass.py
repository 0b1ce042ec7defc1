"""The pass `generate-qa`: questions on a story, window by window, each checked before it is kept.

Windows are written concurrently and decided in story order, because what is kept of one depends on
those before it. A decision is recorded before `questions.yaml` follows.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import anyio.lowlevel

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.personas.checks.story_checker import open_checker
from recall_bench.features.personas.day_log import UNREACHABLE_DAY, list_day_files, read_day_log
from recall_bench.features.personas.model_caller import ModelCaller
from recall_bench.features.personas.model_pass import ModelPass
from recall_bench.features.personas.model_reply import NoUsableReply
from recall_bench.features.personas.pass_request import STANDARD, QuestionsRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult, run_units
from recall_bench.features.personas.questions.question_store import (
    QuestionFile,
    QuestionStore,
    WindowRecord,
)
from recall_bench.features.personas.questions.story_view import SessionMembers, StoryView
from recall_bench.features.personas.questions.window import (
    QuestionEntry,
    QuestionWindow,
    QuestionWriter,
    compute_share,
    count_checkpoints,
    find_unasked_part,
    list_windows,
)
from recall_bench.stories.persona_files import LEDGER_FILE, Layout
from recall_bench.stories.persona_story import read_persona, read_story

if TYPE_CHECKING:
    from recall_bench.features.personas.checks.check_result import QuestionChecker
    from recall_bench.features.personas.questions.offline_questions import OfflineQuestionWriter
    from recall_bench.systems.models.model import Model, Prompt

    CheckerFactory = Callable[[Layout, Sequence[Mapping[str, object]]], QuestionChecker]


class PromptingWriter(QuestionWriter, Protocol):
    """A writer that asks a model."""

    @property
    def usual_tokens(self) -> int:
        """The usual length of a reply."""
        ...

    def build_prompts(self, window: QuestionWindow, amount: int) -> "Sequence[Prompt]":
        """The prompts for a window."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """A story and the windows of a request."""

    layout: Layout
    view: StoryView
    windows: tuple[QuestionWindow, ...]
    checkpoints: int
    """The number of checkpoints of the story so far."""


def prepare_questions(request: QuestionsRequest) -> QuestionPlan:
    """Read the story; UsageError or DataError if it has no questions of this mode."""
    layout = request.find_layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    files = list_day_files(layout, range(1, UNREACHABLE_DAY))
    days = {file.day: read_day_log(file, story) for file in files}
    view = StoryView(persona, story, days, SessionMembers(persona, story))
    numbers = list(days)
    span = request.select_days(numbers[-1])
    secret_windows = list_windows(numbers, request.days_between, span)
    _check_asker(request, view.members)
    if request.mode != STANDARD:
        secret_windows = _select_secret_windows(request, view, secret_windows)
    if not secret_windows:
        raise UsageError(
            f"{layout.name(layout.memories)} tells nothing from day {span[0]} to {span[-1]} that "
            f"--mode {request.mode} could ask about; it ends on day {numbers[-1]}"
        )
    return QuestionPlan(
        layout=layout,
        view=view,
        windows=secret_windows,
        checkpoints=count_checkpoints(numbers, request.days_between),
    )


def make_model_writer(
    request: QuestionsRequest, view: StoryView, caller: ModelCaller
) -> PromptingWriter:
    """The writer for the mode that asks a model."""
    from recall_bench.features.personas.questions.model_questions import (
        BoundaryQuestionWriter,
        ModelQuestionWriter,
    )

    if request.mode == STANDARD:
        return ModelQuestionWriter(
            view,
            caller,
            per_days=(request.amount, request.days_between),
            asker=request.query_session or PRINCIPAL,
        )
    return BoundaryQuestionWriter(view, caller, asker=request.query_session)


def make_offline_writer(request: QuestionsRequest, layout: Layout) -> "OfflineQuestionWriter":
    """The simulator as writer; UsageError if it did not make the persona."""
    from recall_bench.features.personas.questions.offline_questions import OfflineQuestionWriter
    from recall_bench.features.personas.simulator.world_files import open_world

    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"{layout.id}: the simulator did not make this persona and cannot ask about it; name a "
            "model with --model (folder:DIR writes the prompts to files and sends nothing), or "
            f"write {layout.name(layout.questions_file)} yourself"
        )
    return OfflineQuestionWriter(world, layout, request.mode)


def _check_asker(request: QuestionsRequest, members: SessionMembers) -> None:
    name = request.query_session
    if name is not None and name not in members.names:
        raise UsageError(
            f"--query-session: there is no session {name}; there is {', '.join(members.names)}"
        )
    if request.is_offline and name is not None:
        raise UsageError(
            "--query-session: offline asks from where the story has it asked; leave it out, or "
            "name a model with --model"
        )


def _select_secret_windows(
    request: QuestionsRequest, view: StoryView, found: Sequence[QuestionWindow]
) -> tuple[QuestionWindow, ...]:
    """The windows with content of an isolated session that another session must not know."""
    members = view.members
    if not members.isolated:
        raise UsageError(
            f"--mode boundary: {view.persona.id} has no isolated session, so it has no secrets "
            "to ask for; mark one with `isolated: true` in persona.yaml"
        )
    asker = request.query_session
    probed = [
        session.id
        for session in members.isolated
        if (outside := members.find_outside_sessions(session.id))
        and (asker is None or asker in outside)
    ]
    if not probed:
        names = ", ".join(session.id for session in members.isolated)
        where = asker or "any other session"
        raise UsageError(
            f"--mode boundary: {where} has no participant outside of {names}, so nothing is "
            "secret; "
            + ("ask from another --query-session" if asker else "add a session with others in it")
        )
    return tuple(
        window
        for window in found
        if any(set(probed).intersection(day.sessions) for day in view.list_days(window))
    )


def generate_questions(
    request: QuestionsRequest,
    on_progress: OnProgress = lambda _: None,
    model: "Model | None" = None,
    *,
    make_checker: "CheckerFactory | None" = None,
) -> PassResult:
    """Write questions on every window that was not asked about yet.

    A window is in the files as soon as it is decided, and the same request continues an interrupted
    one. A given model or checker replaces the default.
    """
    prepared = prepare_questions(request)
    layout = prepared.layout
    file = QuestionFile(layout.questions_file, layout.name(layout.questions_file))
    file.read_entries()
    frame = ModelPass("questions", request, on_progress, model)
    frame.open_model()
    with ExitStack() as stack:
        record = stack.enter_context(WindowRecord(layout.folder, layout.suffix))
        store = QuestionStore(
            record=record,
            file=file,
            prefix=prepared.view.persona.id,
            mode=request.mode,
            anew=request.overwrite,
            on_progress=on_progress,
        )
        if frame.model is not None:
            name = f"questions-{request.mode}"
            stack.enter_context(frame.open_log(layout.folder, name, layout.suffix))
        return _QuestionPass(frame, request, prepared, store).run(make_checker or open_checker)


@dataclass(slots=True)
class _QuestionPass:
    """The state of one pass."""

    frame: ModelPass
    request: QuestionsRequest
    prepared: QuestionPlan
    store: QuestionStore
    owed: list[QuestionWindow] = field(default_factory=list)
    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected questions by the kind of their first problem."""
    prompting: PromptingWriter | None = None
    silent: list[QuestionWindow] = field(default_factory=list)
    """Windows for which the model had no questions."""

    def run(self, make_checker: "CheckerFactory") -> PassResult:
        """Write the missing windows."""
        self._begin()
        if self.owed:
            writer = self._make_writer()
            checker = make_checker(self.prepared.layout, self.store.list_known(self.owed))
            queue = _WindowQueue(self, writer, checker)
            self.frame.run(
                lambda: run_units(self.owed, queue.write, concurrency=self.request.parallelism)
            )
        else:
            self.frame.end_round()
        # The log ends first: otherwise an ended round would start again.
        if self.frame.is_complete:
            self.store.record.end_round(self.request.mode)
        return self.frame.make_result(
            "windows",
            self.store.file.path.parent,
            wanted=len(self.prepared.windows),
            kept=len(self.prepared.windows) - len(self.owed),
            notes=self._list_notes(),
        )

    def count_questions(self, window: QuestionWindow) -> int:
        """The number of questions of a window; a secret gives two."""
        amount = compute_share(window, self.request.amount, self.request.days_between)
        return amount if self.request.mode == STANDARD else 2 * amount

    def decide_window(
        self,
        window: QuestionWindow,
        candidates: Sequence[QuestionEntry],
        how: tuple["QuestionChecker", str],
    ) -> None:
        """Keep the valid candidates of a window."""
        results = self.store.decide_window(window, candidates, *how)
        self.frame.written += 1
        # Boundary windows may have no prompt.
        if (
            not candidates
            and self.prompting is not None
            and self.prompting.build_prompts(window, self.count_questions(window))
        ):
            self.silent.append(window)
        self.kept += len(results.kept)
        self.reasons.update(refused.problems[0].kind for refused in results.refused)
        self.frame.on_progress(
            f"Window {window.number}/{self.prepared.checkpoints} ({window.name}): "
            f"{len(results.kept)} kept, {len(results.refused)} rejected"
        )

    def _begin(self) -> None:
        self.store.recover()
        self.frame.begin()
        if self.request.overwrite:
            self.store.record.begin_round(self.request.mode)
        asked_days = self.store.record.find_asked_days(
            self.request.mode, anew=self.request.overwrite
        )
        days = self.prepared.view.days
        rest = (find_unasked_part(window, days, asked_days) for window in self.prepared.windows)
        self.owed = [window for window in rest if window is not None]

    def _make_writer(self) -> QuestionWriter:
        if self.frame.caller is not None:
            self.prompting = make_model_writer(self.request, self.prepared.view, self.frame.caller)
            self._report_estimate(self.prompting)
            return self.prompting
        # The simulator; its ledger is written for verification.
        writer = make_offline_writer(self.request, self.prepared.layout)
        replace_file(self.store.file.path.with_name(LEDGER_FILE), writer.ledger.encode())
        return writer

    def _report_estimate(self, writer: PromptingWriter) -> None:
        call_counts = [
            len(writer.build_prompts(window, self.count_questions(window))) for window in self.owed
        ]
        # Days get longer in the course of a story: the middle window stands for all.
        middle = self.owed[len(self.owed) // 2]
        days = [day for window in self.owed for day in self.prepared.view.list_days(window)]
        what = f"excerpts of {format_quantity(len(days), 'day')} of {self.prepared.layout.id}"
        for sample in writer.build_prompts(middle, self.count_questions(middle))[:1]:
            self.frame.report_estimate(sum(call_counts), sample, writer.usual_tokens, what)

    def _list_notes(self) -> tuple[str, ...]:
        if not self.frame.written:
            return ()
        summary = f"{self.kept} questions kept, {self.reasons.total()} rejected"
        if self.reasons:
            why = ", ".join(f"{count} {kind}" for kind, count in self.reasons.most_common())
            summary += f" ({why}): see {self.store.rejected}"
        if not self.silent:
            return (summary,)
        first, named = self.silent[0], ", ".join(map(_name_window, self.silent))
        instead = "" if self.request.days is None else " in the place of --days"
        others = "" if len(self.silent) == 1 else ", and so on for each"
        silence = (
            f"the model found nothing to ask in {named}; to ask again, run the same command "
            f"with --overwrite --start {first.first} --end {first.last}{instead}{others}"
        )
        return summary, silence


def _name_window(window: QuestionWindow) -> str:
    return f"window {window.number} ({window.name})"


class _WindowQueue:
    """Collects written windows in any order and decides them in story order."""

    def __init__(
        self, work: _QuestionPass, writer: QuestionWriter, checker: "QuestionChecker"
    ) -> None:
        self._pass = work
        self._writer = writer
        self._checker = checker
        self._found: dict[QuestionWindow, Sequence[QuestionEntry] | str] = {}
        self._next = 0
        self._is_deciding = False

    async def write(self, window: QuestionWindow) -> None:
        """Write a window, then decide what can be decided."""
        # Offline nothing awaits: without this the pass could not be interrupted.
        await anyio.lowlevel.checkpoint()
        try:
            self._found[window] = await self._writer.write(
                window, self._pass.count_questions(window)
            )
        except NoUsableReply as fault:
            self._found[window] = str(fault)
        self._decide_ready()

    def _decide_ready(self) -> None:
        # After an error, other windows may still arrive before the pass ends.
        if self._is_deciding:
            return
        self._is_deciding = True
        owed = self._pass.owed
        while self._next < len(owed) and owed[self._next] in self._found:
            window = owed[self._next]
            outcome = self._found.pop(window)
            if isinstance(outcome, str):
                self._pass.frame.skip(_name_window(window), outcome)
            else:
                self._pass.decide_window(window, outcome, (self._checker, self._writer.name))
            self._next += 1
        self._is_deciding = False
