"""Every trial a run owes, as one row: what all views of a run are made from.

States and marks are those the summary counts, so a mean over rows is the mean it prints. What an
answer took and found is read from the journal in one pass, which keeps no text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from recall_bench.core.plan import Plan, Trial
from recall_bench.core.question import Expects, Item
from recall_bench.core.reader import Delivery
from recall_bench.core.standing import Standing, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding
from recall_bench.errors import DataError
from recall_bench.journal import JOURNAL, lines
from recall_bench.metrics.leaks import GuardedAnswer, is_guarded, leaks_of
from recall_bench.metrics.refusals import refusals_of
from recall_bench.reporting.folder import RunFolder


class TrialRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One trial owed, whether or not it was carried out."""

    trial: Trial
    item: Item
    days: int
    """Story days told by its checkpoint."""
    cutoff: int
    """The last day that was there to be fed."""
    standing: Standing
    seconds: float | None = None
    """How long the system took to answer, or to fail; None if it was not asked yet."""
    reading_s: float | None = None
    """How long the reader took, where one wrote the answer."""
    usage: Usage | None = None
    """What the system says it spent on the answer, and the reader with it; None if neither does."""
    delivery: Delivery | None = None
    """What became of the passages; None where there were none."""
    evidence_found: int | None = None
    """Evidence days of which a passage was delivered; None where that cannot be known."""
    findings: tuple[Finding, ...] | None = None
    """What the judge noticed; None if it is not judged, or by one who does not say."""
    score: float | None = None
    """From 0 to 1, where a dataset's own protocol judged."""
    leaked: bool | None = None
    """Whether a secret was told; None where none could be, or nobody could notice."""
    fault: str | None = None
    """What kept it from being answered, or judged."""

    @property
    def state(self) -> State:
        """How far it has come."""
        return self.standing.state

    @property
    def points(self) -> int | None:
        """Of six; no points for a question not answered, None where there is no verdict."""
        if self.standing.state is State.JUDGED:
            return self.standing.composite
        return 0 if self.standing.state is State.NOT_ANSWERED else None

    @property
    def hallucinated(self) -> bool | None:
        """Whether the answer made something up; None unless it was judged."""
        return self.standing.grounded == 0 if self.standing.state is State.JUDGED else None

    @property
    def declined(self) -> bool | None:
        """Whether the answer refuses, or says that there is no such thing; None if unknown."""
        return None if self.findings is None else bool(refusals_of([self.findings]).refused)

    @property
    def evidence_days(self) -> int:
        """How many days support the answer."""
        return len({cited.day for cited in self.item.truth.evidence})

    @property
    def category(self) -> str:
        """What kind of recall is asked for."""
        return self.item.truth.category

    @property
    def difficulty(self) -> str | None:
        """How hard the dataset says it is."""
        return self.item.truth.difficulty


@dataclass(frozen=True, kw_only=True)
class Table:
    """All trials of a run: by persona, checkpoint, repeat and asked order."""

    plan: Plan
    rows: tuple[TrialRow, ...]
    items: Mapping[str, tuple[Item, ...]]
    """The questions of each persona, asked or not."""

    @cached_property
    def points(self) -> dict[Trial, float]:
        """The points of every trial that counts."""
        return {row.trial: float(points) for row in self.rows if (points := row.points) is not None}

    @cached_property
    def hallucinations(self) -> dict[Trial, float]:
        """1 for every judged answer that made something up, 0 for every other."""
        return {
            row.trial: float(row.hallucinated) for row in self.rows if row.hallucinated is not None
        }

    @cached_property
    def leaks(self) -> dict[Trial, float]:
        """1 for every guarded answer that told the secret, 0 for every other."""
        return {row.trial: float(row.leaked) for row in self.rows if row.leaked is not None}


def read_trials(folder: RunFolder) -> Table:
    """One row for every trial owed by the personas the run has come to."""
    words = _LastWords(folder)
    path = folder.path / JOURNAL
    try:
        for _, line in lines(path):
            words.note(_LINE.decode(line))
    except (msgspec.DecodeError, LookupError, ValueError, OSError) as error:
        raise DataError(f"{path}: changed while it was read ({error})") from error
    standings = folder.standings.scenarios
    return Table(
        plan=folder.plan,
        rows=tuple(words.rows()),
        items={name: standings[name].items for name in folder.scenarios},
    )


class _Passage(msgspec.Struct, gc=False):
    day: int | None = None


class _Answer(msgspec.Struct, gc=False):
    text: str
    passages: tuple[_Passage, ...] = ()
    usage: Usage | None = None


class _Verdict(msgspec.Struct, gc=False):
    findings: tuple[Finding, ...] = ()
    score: float | None = None


class _Line(msgspec.Struct, gc=False):
    """What is wanted of an event. Skipping the rest is three times as fast as reading it."""

    type: str
    trial: Trial | None = None
    answer: _Answer | None = None
    seconds: float | None = None
    reading_s: float | None = None
    reading_usage: Usage | None = None
    delivery: Delivery | None = None
    verdict: _Verdict | None = None
    primary: _Verdict | None = None
    fault: str | None = None


_LINE = msgspec.json.Decoder(_Line)


class _Heard(msgspec.Struct, kw_only=True):
    """What the journal says of one trial."""

    is_answered: bool = False
    seconds: float | None = None
    reading_s: float | None = None
    usage: Usage | None = None
    delivery: Delivery | None = None
    days: frozenset[int] = frozenset()
    """The days that passages are from."""
    is_traced: bool = True
    """Whether it is known of any passage where it is from, if there is one."""
    text: str | None = None
    """The answer, where something in it may be a secret."""
    findings: tuple[Finding, ...] | None = None
    score: float | None = None
    fault: str | None = None


_NOTHING = _Heard()


class _LastWords:
    """The last word on each trial, gathered as the journal goes by."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._standings = folder.standings.scenarios
        self._heard: dict[str, list[_Heard | None]] = {
            name: [None] * len(standing.grid) for name, standing in self._standings.items()
        }
        self._delivers = False
        """Whether the system ever returned a passage."""

    def note(self, line: _Line) -> None:
        # A run that is still going on may have come to another persona since it was opened.
        if line.trial is None or line.trial.scenario not in self._heard:
            return
        match line.type:
            case "answered":
                self._put(line.trial, self._answered(line.trial, line))
            case "not_answered":
                self._put(line.trial, _Heard(seconds=line.seconds, fault=line.fault))
            case "judged" | "not_judged":
                self._judge(line.trial, line)

    def rows(self) -> Iterator[TrialRow]:
        for scenario in self._folder.scenarios:
            for row in range(len(self._standings[scenario].sheets)):
                yield from self._rows_at(scenario, row)

    def _put(self, trial: Trial, heard: _Heard) -> None:
        self._heard[trial.scenario][self._standings[trial.scenario].slot_of(trial)] = heard

    def _answered(self, trial: Trial, line: _Line) -> _Heard:
        standing, answer = self._standings[trial.scenario], line.answer
        if answer is None:
            raise ValueError(f"{trial} was answered without an answer")
        days = frozenset(each.day for each in answer.passages if each.day is not None)
        usages = [each for each in (answer.usage, line.reading_usage) if each is not None]
        self._delivers = self._delivers or bool(answer.passages)
        is_secret = is_guarded(standing.items[standing.index[trial.item]].truth)
        return _Heard(
            is_answered=True,
            seconds=line.seconds,
            reading_s=line.reading_s,
            usage=sum(usages, Usage()) if usages else None,
            delivery=line.delivery,
            days=days,
            is_traced=bool(days) or not answer.passages,
            text=answer.text if is_secret else None,
        )

    def _judge(self, trial: Trial, line: _Line) -> None:
        slot = self._standings[trial.scenario].slot_of(trial)
        heard = self._heard[trial.scenario][slot]
        if heard is None:
            heard = self._heard[trial.scenario][slot] = _Heard()
        heard.fault = line.fault
        heard.score = heard.findings = None
        if line.verdict is not None:
            plan = self._folder.plan
            judge = plan.judge if line.primary is None else plan.appellate
            heard.findings = line.verdict.findings if judge in self._folder.tells else None
            heard.score = line.verdict.score

    def _rows_at(self, scenario: str, row: int) -> Iterator[TrialRow]:
        standing, heard = self._standings[scenario], self._heard[scenario]
        sheet = standing.sheets[row]
        for repeat, number in standing.owed(row):
            item = standing.items[number]
            word = heard[standing.slot(row, repeat, number)] or _NOTHING
            yield TrialRow(
                trial=Trial(
                    scenario=scenario,
                    item=item.id,
                    checkpoint=sheet.checkpoint.label,
                    repeat=repeat,
                ),
                item=item,
                days=sheet.checkpoint.days,
                cutoff=sheet.cutoff,
                standing=standing.standing(row, repeat, number),
                seconds=word.seconds,
                reading_s=word.reading_s,
                usage=word.usage,
                delivery=word.delivery,
                evidence_found=self._found(item, word),
                findings=word.findings,
                score=word.score,
                leaked=_leaked(item, word),
                fault=word.fault,
            )

    def _found(self, item: Item, word: _Heard) -> int | None:
        truth = item.truth
        if not truth.evidence or truth.expects is not Expects.ANSWER:
            return None
        if not (self._delivers and word.is_answered and word.is_traced):
            return None
        return len({cited.day for cited in truth.evidence} & word.days)


def _leaked(item: Item, word: _Heard) -> bool | None:
    if word.text is None:
        return None
    leaks = leaks_of([GuardedAnswer(item.truth, word.text, word.findings)])
    return bool(leaks.leaked) if leaks.answers else None
