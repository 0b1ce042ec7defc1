"""A memory under an agent: how far each fact came, from the day it was read to the answer.

Every question is followed through the calls of the agent, and counted where its trail ends. What a
memory did otherwise than its tools promise is named apart: it is the memory's fault, and not the
agent's.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.core.tool_call import (
    LOOP_PREFIX,
    AgentCall,
    CallProblem,
    SessionEnd,
    ToolRole,
)
from recall_bench.engine.runs.agent_log import AgentLog, RecordedSession, read_agent_log
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.reporting.analyses.attribution import is_miss
from recall_bench.reporting.analyses.note_history import (
    NoteHistory,
    NoteText,
    flatten,
    format_query,
)
from recall_bench.text.words import WordSequence


class FactStage(StrEnum):
    """How far a fact came; `STAGE_MEANINGS` says what each means."""

    NEVER_SAVED = "never-saved"
    OVERWRITTEN = "overwritten"
    DELETED = "deleted"
    NOT_LOOKED_FOR = "never-looked-for"
    SEARCH_FAILED = "search-failed"
    MISSED = "looked-for-and-missed"
    IN_PART = "returned-in-part"
    FOUND = "found"
    UNTRACED = "not-traced"


STAGE_MEANINGS: Final = {
    FactStage.NEVER_SAVED: "no note ever held all values of the answer",
    FactStage.OVERWRITTEN: "a note held them, and the agent updated it to a text without them",
    FactStage.DELETED: "a note held them, and the agent deleted it",
    FactStage.NOT_LOOKED_FOR: "notes held them, and the agent answered without a search",
    FactStage.SEARCH_FAILED: "notes held them, and the memory failed every search",
    FactStage.MISSED: "notes held them, and no search returned them",
    FactStage.IN_PART: "a search returned such a note without the part that holds them",
    FactStage.FOUND: "a search returned them; a wrong answer did not use them",
    FactStage.UNTRACED: "no value of the answer stands in its evidence, such as a sum",
}


class StageCount(Record, frozen=True, kw_only=True):
    """The trials whose fact came this far."""

    stage: FactStage
    right: int
    wrong: int
    """Wrong answers, and questions that the agent did not answer."""
    examples: tuple[Trial, ...]
    """At most three wrong ones."""


class SessionCounts(Record, frozen=True, kw_only=True):
    """The sessions about days, or about questions."""

    sessions: int
    steps: int
    calls: int
    malformed: int
    """Calls of no tool that was offered, or with arguments that do not fit."""
    failed: int
    """Calls that the memory answered with an error."""
    refused: int
    """Calls that came when none was allowed any more."""
    repeated: int
    """Calls that had been made in the same session, with the same arguments."""
    unreadable: int
    """Replies of the model that were neither calls nor an answer."""
    ended: dict[SessionEnd, int]


class ToolCount(Record, frozen=True, kw_only=True):
    """The calls of one tool."""

    tool: str
    role: ToolRole | None
    on_days: int
    on_questions: int


class MemoryChecks(Record, frozen=True, kw_only=True):
    """What the memory did with the notes, as far as the searches show it."""

    saved: int
    updated: int
    deleted: int
    unmatched: int
    """Updates and deletes of notes whose id neither a save nor a search on a day had named."""
    old_texts_returned: int
    """Updated notes whose old text came back after the update."""
    deleted_texts_returned: int
    """Deleted notes that came back."""
    notes_returned: int
    """Notes that a search returned while they stood."""
    returned_in_part: int
    """Those of them that never came back whole."""
    searches: int
    """Searches on questions, while the memory held more notes than it returned."""
    empty_searches: int
    """Those of them that returned nothing."""
    served_searches: int
    """Searches on questions that the memory answered, whatever with."""
    failed_searches: int
    """Searches on questions that it answered with an error."""
    queries: int
    """Different queries of one memory at one checkpoint, summed up, where it had several."""
    results: int
    """Different results of these queries."""
    compared: int
    """The memories at checkpoints that had several different queries."""


class ToolLoopReport(Record, frozen=True, kw_only=True):
    """A memory under an agent."""

    days: SessionCounts
    questions: SessionCounts
    tools: tuple[ToolCount, ...]
    stages: tuple[StageCount, ...]
    """Every stage in order, empty ones too."""
    nothing_to_find: int
    """Trials whose right answer is that there is nothing, or to withhold it; not in the stages."""
    undecided: int
    """Trials without an outcome; not in the stages either."""
    memory: MemoryChecks
    faults: tuple[str, ...]
    """What the memory did otherwise than its tools promise, a sentence each."""


def analyse_tool_loop(folder: RunFolder, table: TrialTable) -> ToolLoopReport | None:
    """Analyse a run under the loop agent; None for any other run."""
    if not folder.plan.system.name.startswith(LOOP_PREFIX):
        return None
    return build_tool_loop(read_agent_log(folder), table.rows)


def build_tool_loop(log: AgentLog, rows: Sequence[TrialRow]) -> ToolLoopReport:
    """Follow every trial through the sessions of a run."""
    follower = _FactFollower(log)
    stages: dict[FactStage, list[tuple[TrialRow, bool]]] = {stage: [] for stage in FactStage}
    nothing = undecided = 0
    for row in rows:
        missed, session = is_miss(row), log.trials.get(row.trial)
        if missed is None or session is None:
            undecided += 1
        elif not row.item.truth.is_answerable:
            nothing += 1
        else:
            stages[follower.find_stage(row, session)].append((row, missed))
    checks = follower.check_memories(rows)
    on_days = [session for memory in follower.list_memories(rows) for session in log.days[memory]]
    on_questions = [log.trials[row.trial] for row in rows if row.trial in log.trials]
    return ToolLoopReport(
        days=_count_sessions(on_days),
        questions=_count_sessions(on_questions),
        tools=_count_tools(on_days, on_questions),
        stages=tuple(_count_stage(stage, trials) for stage, trials in stages.items()),
        nothing_to_find=nothing,
        undecided=undecided,
        memory=checks,
        faults=tuple(describe_faults(checks)),
    )


@dataclass(slots=True)
class _FactFollower:
    """Replays each memory up to each checkpoint that is asked about it, once."""

    log: AgentLog
    _replays: dict[tuple[str, int], NoteHistory] = field(default_factory=dict)

    def replay(self, memory: str, cutoff: int) -> NoteHistory:
        """The notes of a memory after a day, with what the searches of its days returned."""
        key = memory, cutoff
        if key not in self._replays:
            history = self._replays[key] = NoteHistory()
            for session in self.log.days.get(memory, ()):
                day = session.ended.day
                if day is None or day > cutoff:
                    continue
                for call in session.calls:
                    history.apply(call, day)
                    history.note_results(call.found)
        return self._replays[key]

    def find_stage(self, row: TrialRow, session: RecordedSession) -> FactStage:
        """How far the fact of a question came."""
        if not session.ended.needs:
            return FactStage.UNTRACED
        history = self.replay(session.ended.memory, row.cutoff)
        searches, failed = _split_searches(session)
        results = [WordSequence(note.text) for call in searches for note in call.found]
        missing = [
            need
            for need in session.ended.needs
            if not any(text.contains(WordSequence(need.value)) for text in results)
        ]
        if not missing:
            return FactStage.FOUND
        holders = [[text for text in history.standing if text.holds(need)] for need in missing]
        if not all(holders):
            # Why no note holds values any more, from the texts that once held each.
            removers: set[ToolRole | None] = set()
            for need, standing in zip(missing, holders, strict=True):
                texts = [text for text in history.texts if text.holds(need)]
                if not texts:
                    return FactStage.NEVER_SAVED
                if not standing:
                    removers.add(texts[-1].removed_by)
            return FactStage.DELETED if ToolRole.DELETE in removers else FactStage.OVERWRITTEN
        if not searches:
            return FactStage.SEARCH_FAILED if failed else FactStage.NOT_LOOKED_FOR
        # Whether a search returned a piece of one of the notes.
        notes = [text for texts in holders for text in texts]
        names = {text.note for text in notes if text.note is not None}
        is_in_part = any(
            note.note in names or any(flatten(note.text) in text.plain for text in notes)
            for call in searches
            for note in call.found
            if note.text.strip()
        )
        return FactStage.IN_PART if is_in_part else FactStage.MISSED

    def list_memories(self, rows: Iterable[TrialRow]) -> list[str]:
        """The memories that these trials were asked of, in the order in which they were fed.

        One that was given up before, such as that of a killed process, is none of them.
        """
        memories = {
            self.log.trials[row.trial].ended.memory for row in rows if row.trial in self.log.trials
        }
        return [memory for memory in self.log.days if memory in memories]

    def check_memories(self, rows: Sequence[TrialRow]) -> MemoryChecks:
        """What the searches of all questions show about the memories."""
        queries: dict[tuple[str, int], set[str]] = defaultdict(set)
        results: dict[tuple[str, int], set[tuple[str, ...]]] = defaultdict(set)
        searches = empty = served = failed = 0
        for row in rows:
            session = self.log.trials.get(row.trial)
            if session is None:
                continue
            key = session.ended.memory, row.cutoff
            history = self.replay(*key)
            answered, faulty = _split_searches(session)
            failed += len(faulty)
            for call in answered:
                history.note_results(call.found)
                served += 1
                if len(history.standing) > len(call.found) and not _names_note(call, history):
                    searches += 1
                    empty += not call.found
                    queries[key].add(format_query(call.arguments))
                    results[key].add(tuple(note.text for note in call.found))
        compared = [key for key, words in queries.items() if len(words) > 1]
        return MemoryChecks(
            **self._count_texts(self.list_memories(rows)),
            searches=searches,
            empty_searches=empty,
            served_searches=served,
            failed_searches=failed,
            queries=sum(len(queries[key]) for key in compared),
            results=sum(len(results[key]) for key in compared),
            compared=len(compared),
        )

    def _count_texts(self, memories: Sequence[str]) -> dict[str, int]:
        """Count notes by what was done to them, and by what came back at any checkpoint."""
        last = {
            memory: max(session.ended.day or 0 for session in self.log.days[memory])
            for memory in memories
        }
        histories = [self.replay(*key) for key in last.items()]
        texts = [text for history in histories for text in history.texts]
        removed = Counter(text.removed_by for text in texts)
        versions: dict[tuple[str, int], list[NoteText]] = defaultdict(list)
        for (memory, _), history in self._replays.items():
            for place, text in enumerate(history.texts):
                versions[memory, place].append(text)
        returned = [texts for texts in versions.values() if any(text.returned for text in texts)]
        back = [
            next(text.removed_by for text in texts if text.came_back)
            for texts in versions.values()
            if any(text.came_back for text in texts)
        ]
        return {
            "saved": len(texts) - removed[ToolRole.UPDATE],
            "updated": removed[ToolRole.UPDATE],
            "deleted": removed[ToolRole.DELETE],
            "unmatched": sum(history.unmatched for history in histories),
            "old_texts_returned": back.count(ToolRole.UPDATE),
            "deleted_texts_returned": back.count(ToolRole.DELETE),
            "notes_returned": len(returned),
            "returned_in_part": sum(
                not any(text.returned_whole for text in texts) for texts in returned
            ),
        }


def _names_note(call: AgentCall, history: NoteHistory) -> bool:
    """Whether a call opens a note by its id: what it returns depends on no query."""
    names = {text.note for text in history.standing}
    return any(
        isinstance(argument, str) and argument in names for argument in call.arguments.values()
    )


def _split_searches(session: RecordedSession) -> tuple[list[AgentCall], list[AgentCall]]:
    """The searches that the memory answered, and those that it answered with an error."""
    searches = [call for call in session.calls if call.role is ToolRole.SEARCH]
    failed = [call for call in searches if call.problem is CallProblem.FAILED]
    return [call for call in searches if call.problem is None], failed


def describe_faults(checks: MemoryChecks) -> Iterator[str]:
    """Each thing that the memory did otherwise than its tools promise."""
    if checks.old_texts_returned:
        yield (
            f"update does not overwrite: the old text of {checks.old_texts_returned:,} of "
            f"{checks.updated:,} updated notes came back"
        )
    if checks.deleted_texts_returned:
        yield (
            f"delete does not delete: {checks.deleted_texts_returned:,} of {checks.deleted:,} "
            "deleted notes came back"
        )
    if checks.returned_in_part:
        yield (
            f"notes come back cut: {checks.returned_in_part:,} of {checks.notes_returned:,} "
            "returned notes never came back whole"
        )
    if checks.failed_searches and not checks.served_searches:
        yield f"search fails: all {checks.failed_searches:,} searches ended with an error"
    if checks.searches and checks.empty_searches == checks.searches:
        yield f"search finds nothing: all {checks.searches:,} searches returned no note"
    elif checks.compared and checks.results == checks.compared:
        yield (
            f"search ignores the query: {checks.queries:,} different queries returned the same "
            "notes each time"
        )


MAX_EXAMPLES = 3


def _count_stage(stage: FactStage, found: Sequence[tuple[TrialRow, bool]]) -> StageCount:
    wrong = [row.trial for row, missed in found if missed]
    return StageCount(
        stage=stage,
        right=len(found) - len(wrong),
        wrong=len(wrong),
        examples=tuple(wrong[:MAX_EXAMPLES]),
    )


def _count_sessions(sessions: Sequence[RecordedSession]) -> SessionCounts:
    calls = [call for session in sessions for call in session.calls]
    problems = Counter(call.problem for call in calls)
    ended = Counter(session.ended.end for session in sessions)
    return SessionCounts(
        sessions=len(sessions),
        steps=sum(session.ended.steps for session in sessions),
        calls=len(calls),
        malformed=problems[CallProblem.MALFORMED],
        failed=problems[CallProblem.FAILED],
        refused=problems[CallProblem.REFUSED],
        repeated=sum(
            len(session.calls)
            - len({(call.tool, format_query(call.arguments)) for call in session.calls})
            for session in sessions
        ),
        unreadable=sum(session.ended.unreadable for session in sessions),
        ended={end: ended[end] for end in SessionEnd},
    )


def _count_tools(
    on_days: Sequence[RecordedSession], on_questions: Sequence[RecordedSession]
) -> tuple[ToolCount, ...]:
    """The calls of each tool that exists, the most used first."""
    roles: dict[str, ToolRole] = {}
    counts: list[Counter[str]] = [Counter(), Counter()]
    for sessions, count in zip((on_days, on_questions), counts, strict=True):
        for session in sessions:
            for call in session.calls:
                if call.role is not None:
                    roles[call.tool] = call.role
                    count[call.tool] += 1
    days, questions = counts
    ordered = sorted(roles, key=lambda tool: (-days[tool] - questions[tool], tool))
    return tuple(
        ToolCount(tool=tool, role=roles[tool], on_days=days[tool], on_questions=questions[tool])
        for tool in ordered
    )
