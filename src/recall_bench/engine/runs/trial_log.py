"""The last events of each trial, and what happened to the evidence of its answer.

The log is one pass over the journal, which keeps no text but answers that may contain a secret.
Evidence is stored or not, returned or not, cut off or not.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from recall_bench.core.memory import Delivery
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Evidence, Truth
from recall_bench.core.trial_states import TrialState
from recall_bench.core.untrusted_json import decode_untrusted_line
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import FULL_MARKS, PEOPLE, Finding
from recall_bench.engine.runs.journal import read_lines
from recall_bench.engine.runs.other_people import OtherPeople, is_told_instead, list_others_values
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.leaks import is_confidential


class PassageSource(Protocol):
    """The source of a passage, as far as it is known."""

    @property
    def day(self) -> int | None:
        """Its day."""
        ...

    @property
    def turn(self) -> int | None:
        """Its utterance."""
        ...

    @property
    def turns(self) -> tuple[int, ...]:
        """All of them, where it is of several."""
        ...


class FoundPassages(msgspec.Struct, frozen=True, gc=False):
    """The sources of the passages that were delivered."""

    days: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    """Days of which the delivered utterances are unknown."""
    turns: frozenset[tuple[int, int]] = frozenset()
    """The utterances delivered, each after its day."""
    spans: tuple[tuple[int, int, int], ...] = ()
    """The ranges of text delivered, each after its day."""
    vague: frozenset[int] = frozenset()
    """Days of which a delivered passage has no range."""

    @classmethod
    def from_passages(
        cls, passages: Sequence[PassageSource], spans: Sequence[tuple[int, int] | None] = ()
    ) -> "FoundPassages":
        """Collect the sources of passages, and their ranges where these are known."""
        days = frozenset([passage.day for passage in passages if passage.day is not None])
        if not any(passage.turn is not None or passage.turns for passage in passages):
            ranges = spans or [None] * len(passages)
            pairs = [
                (passage.day, span)
                for passage, span in zip(passages, ranges, strict=True)
                if passage.day is not None
            ]
            return cls(
                days,
                days,
                spans=tuple((day, *span) for day, span in pairs if span is not None),
                vague=frozenset(day for day, span in pairs if span is None),
            )
        whole: set[int] = set()
        turns: set[tuple[int, int]] = set()
        for passage in passages:
            numbers = passage.turns if passage.turn is None else (passage.turn,)
            if passage.day is not None and numbers:
                turns.update((passage.day, turn) for turn in numbers)
            elif passage.day is not None:
                whole.add(passage.day)
        return cls(days, frozenset(whole), frozenset(turns))

    def contains(self, cited: Evidence) -> bool:
        """Whether the cited evidence may have been delivered.

        If the utterance is known, another one of the same day does not count; if the sentence is
        known, neither does another sentence.
        """
        if cited.turn is None:
            if cited.start is None or cited.end is None or cited.day in self.vague:
                return cited.day in self.days
            return any(
                day == cited.day and start <= cited.start and cited.end <= end
                for day, start, end in self.spans
            )
        return cited.day in self.whole or (cited.day, cited.turn) in self.turns

    def is_exact(self, cited: Evidence) -> bool:
        """Whether it is known if the cited utterance or sentence itself was delivered."""
        if cited.turn is not None:
            return cited.day not in self.whole
        return cited.start is not None and cited.end is not None and cited.day not in self.vague


NO_PASSAGES = FoundPassages()


class EvidenceTrail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many evidence days are missing, and where they were lost."""

    missing: int | None = None
    """Days of which no evidence was delivered; None if unknown."""
    cut: int | None = None
    """Those of them with a passage that was returned and cut off by the budget."""
    lost: int | None = None
    """Days that the memory does not hold; None if it does not say."""
    is_exact: bool = False
    """Whether all evidence was looked for by utterance or sentence, and not by day alone."""


UNKNOWN_TRAIL = EvidenceTrail()
"""No evidence is needed, or nothing is known."""


def trace_evidence(
    truth: Truth,
    until: int,
    *,
    found: FoundPassages | None,
    cut: Collection[int] = (),
    lost: Collection[int] | None = None,
    unfed: Collection[int] = (),
) -> EvidenceTrail:
    """What happened to the evidence that an answer needs; declining needs none.

    `until` is the last day fed. `found` is None if the system returns no passages, and `lost` if it
    does not say what it holds; days that were not fed are not held.
    """
    if not truth.evidence or not truth.is_answerable:
        return UNKNOWN_TRAIL
    needed = [cited for cited in truth.evidence if cited.day <= until]
    if not needed:
        return UNKNOWN_TRAIL
    if found is None:
        return EvidenceTrail(lost=_count_lost({cited.day for cited in needed}, lost, unfed))
    missing = {cited.day for cited in needed if not found.contains(cited)}
    is_exact = all(map(found.is_exact, needed))
    if not missing:
        return EvidenceTrail(missing=0, cut=0, lost=0, is_exact=is_exact)
    return EvidenceTrail(
        missing=len(missing),
        cut=sum(day in cut for day in missing),
        lost=_count_lost(missing - found.days, lost, unfed),
        is_exact=is_exact,
    )


def _count_lost(
    days: Collection[int], lost: Collection[int] | None, unfed: Collection[int]
) -> int | None:
    count = sum(day in unfed or (lost is not None and day in lost) for day in days)
    return None if lost is None and not count else count


class _PassageLine(msgspec.Struct, gc=False):
    day: int | None = None
    turn: int | None = None
    turns: tuple[int, ...] = ()


class _AnswerLine(msgspec.Struct, gc=False):
    text: str
    passages: tuple[_PassageLine, ...] = ()
    usage: Usage | None = None


class _VerdictLine(msgspec.Struct, gc=False):
    findings: tuple[Finding, ...] = ()
    score: float | None = None


class _LogLine(msgspec.Struct, gc=False):
    """The needed fields of an event. Skipping the rest is three times as fast."""

    type: str
    trial: Trial | None = None
    answer: _AnswerLine | None = None
    seconds: float | None = None
    reading_s: float | None = None
    reading_usage: Usage | None = None
    delivery: Delivery | None = None
    verdict: _VerdictLine | None = None
    primary: _VerdictLine | None = None
    judge: str | int | None = None
    fault: str | None = None
    scenario: str | None = None
    checkpoint: str | None = None
    lost: tuple[int, ...] | None = None


_LOG_LINE = msgspec.json.Decoder(_LogLine)


class TrialEntry(msgspec.Struct, kw_only=True):
    """The last events of one trial."""

    is_answered: bool = False
    seconds: float | None = None
    reading_s: float | None = None
    usage: Usage | None = None
    delivery: Delivery | None = None
    found: FoundPassages = NO_PASSAGES
    is_traced: bool = True
    """Whether any passage was traced, if there is one."""
    text: str | None = None
    """The answer, where it may contain a secret."""
    findings: tuple[Finding, ...] | None = None
    score: float | None = None
    fault: str | None = None
    is_silent: bool = False
    tells_stale: bool = False
    tells_others: bool = False
    has_others_values: bool = False
    """Whether an ungrounded answer contains a value of another persona."""

    @property
    def tells_other_people(self) -> bool:
        """Whether it is about another persona; a disclosed secret is a leak in any session."""
        return self.has_others_values and Finding.LEAK not in (self.findings or ())


_EMPTY_ENTRY = TrialEntry()


class TrialLog:
    """The last events of each trial of a run."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._scenarios = folder.states.scenarios
        self._entries: dict[str, list[TrialEntry | None]] = {
            name: [None] * len(states.grid) for name, states in self._scenarios.items()
        }
        self._confidential = {
            name: [is_confidential(item.truth) for item in states.items]
            for name, states in self._scenarios.items()
        }
        self._strangers = (
            OtherPeople({name: scenario.items for name, scenario in self._scenarios.items()})
            if len(self._scenarios) > 1
            else None
        )
        self.has_passages = False
        """Whether the system ever returned a passage."""
        self.lost: dict[tuple[str, str], frozenset[int]] = {}
        """By scenario and checkpoint, the days that the memory reports as lost."""

    def read(self, path: Path) -> None:
        """Read the whole journal."""
        for _, line in read_lines(path):
            self._note(decode_untrusted_line(_LOG_LINE, line))

    def get_entry(self, scenario: str, slot: int) -> TrialEntry:
        """Return the entry of the trial in this slot, an empty one if it has no events."""
        return self._entries[scenario][slot] or _EMPTY_ENTRY

    def _note(self, line: _LogLine) -> None:
        if line.type == "inspected" and line.scenario and line.checkpoint:
            place = (line.scenario, line.checkpoint)
            self.lost.pop(place, None)
            if line.lost is not None:
                self.lost[place] = frozenset(line.lost)
        # A run in progress may have started another persona since it was opened.
        if line.trial is None or line.trial.scenario not in self._entries:
            return
        match line.type:
            case "answered":
                self._store_entry(line.trial, self._build_entry(line.trial, line))
            case "not_answered":
                self._store_entry(line.trial, TrialEntry(seconds=line.seconds, fault=line.fault))
            case "judged" | "not_judged":
                if self._folder.other_judge is None or line.judge == PEOPLE:
                    self._note_verdict(line.trial, line)
            case "other_verdict":
                if self._folder.other_judge == line.judge:
                    self._note_verdict(line.trial, line)

    def _store_entry(self, trial: Trial, entry: TrialEntry) -> None:
        self._entries[trial.scenario][self._scenarios[trial.scenario].find_slot(trial)] = entry

    def _build_entry(self, trial: Trial, line: _LogLine) -> TrialEntry:
        states, answer = self._scenarios[trial.scenario], line.answer
        if answer is None:
            raise ValueError(f"{trial} was answered without an answer")
        number = states.index[trial.item]
        truth = states.items[number].truth
        final = states.get_status(states.row[trial.checkpoint], trial.repeat, number)
        # Searching takes time, and matters only for wrong answers.
        is_wrong = not (final.state is TrialState.JUDGED and final.composite == FULL_MARKS)
        usages = [usage for usage in (answer.usage, line.reading_usage) if usage is not None]
        self.has_passages = self.has_passages or bool(answer.passages)
        spans = () if line.delivery is None else line.delivery.spans
        passages = (
            FoundPassages.from_passages(answer.passages, spans) if answer.passages else NO_PASSAGES
        )
        return TrialEntry(
            is_answered=True,
            seconds=line.seconds,
            reading_s=line.reading_s,
            usage=sum(usages, Usage()) if usages else None,
            delivery=line.delivery,
            found=passages,
            is_traced=bool(passages.days) or not answer.passages,
            text=answer.text if self._confidential[trial.scenario][number] else None,
            is_silent=not answer.text or answer.text.isspace(),
            tells_stale=is_wrong and is_told_instead(truth, truth.stale, answer.text),
            tells_others=is_wrong
            and is_told_instead(truth, list_others_values(truth), answer.text),
            has_others_values=self._strangers is not None
            and (final.state is TrialState.JUDGED and not final.grounded)
            and self._strangers.is_in_answer(trial.scenario, answer.text),
        )

    def _note_verdict(self, trial: Trial, line: _LogLine) -> None:
        slot = self._scenarios[trial.scenario].find_slot(trial)
        entry = self._entries[trial.scenario][slot]
        if entry is None:
            entry = self._entries[trial.scenario][slot] = TrialEntry()
        entry.fault = line.fault
        entry.score = entry.findings = None
        if line.verdict is not None:
            entry.findings = self._folder.select_findings(
                line.verdict.findings,
                is_by_people=line.judge == PEOPLE,
                is_reviewed=line.primary is not None,
            )
            entry.score = line.verdict.score
