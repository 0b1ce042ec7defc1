"""Every trial a run owes, as one row: what all views of a run are made from.

States and marks are those the summary counts, so a mean over rows is the mean it prints. What an
answer took and found is read from the journal in one pass, which keeps no text; only answers that
made something up are looked at once more, where they may be about another persona.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from recall_bench.analysis.attribution.evidence import NOTHING, UNKNOWN, Found, Trail, trail_of
from recall_bench.analysis.attribution.values import Strangers, others, tells_instead
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.question import Expects, Item
from recall_bench.core.reader import Delivery
from recall_bench.core.standing import ScenarioStanding, Standing, State
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
    evidence_missing: int | None = None
    """Evidence days of which nothing that tells the answer was delivered; None where that cannot
    be known. Where utterances are known, only the telling ones will do."""
    evidence_cut: int | None = None
    """Those of them of which a passage was returned and cut off by the budget."""
    evidence_lost: int | None = None
    """Evidence days that the memory does not hold, and delivered nothing of; None where it does
    not say what it holds."""
    is_silent: bool = False
    """Whether it was answered without a word."""
    tells_stale: bool = False
    """Whether the answer holds a value that was overtaken, and not all that is right."""
    tells_others: bool = False
    """Whether it holds a value of another session or person, and not all that is right."""
    tells_strangers: bool = False
    """Whether what it made up is what another persona of the run is asked about."""
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
        for offset, line in lines(path):
            words.note(_LINE.decode(line), offset)
        words.look_for_strangers(path)
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
    turn: int | None = None
    turns: tuple[int, ...] = ()


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
    scenario: str | None = None
    checkpoint: str | None = None
    lost: tuple[int, ...] | None = None


_LINE = msgspec.json.Decoder(_Line)


class _Heard(msgspec.Struct, kw_only=True):
    """What the journal says of one trial."""

    is_answered: bool = False
    seconds: float | None = None
    reading_s: float | None = None
    usage: Usage | None = None
    delivery: Delivery | None = None
    found: Found = NOTHING
    is_traced: bool = True
    """Whether it is known of any passage where it is from, if there is one."""
    text: str | None = None
    """The answer, where something in it may be a secret."""
    findings: tuple[Finding, ...] | None = None
    score: float | None = None
    fault: str | None = None
    offset: int = -1
    """Where in the journal the answer stands."""
    is_silent: bool = False
    tells_stale: bool = False
    tells_others: bool = False
    tells_strangers: bool = False


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
        self._lost: dict[tuple[str, str], frozenset[int]] = {}
        """By scenario and checkpoint, the days not held, where the memory says."""
        self._unfed = {name: _unfed(each) for name, each in self._standings.items()}

    def note(self, line: _Line, offset: int) -> None:
        if line.type == "inspected" and line.scenario and line.checkpoint:
            self._inspect((line.scenario, line.checkpoint), line.lost)
        # A run that is still going on may have come to another persona since it was opened.
        if line.trial is None or line.trial.scenario not in self._heard:
            return
        match line.type:
            case "answered":
                self._put(line.trial, self._answered(line.trial, line, offset))
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

    def _inspect(self, place: tuple[str, str], lost: tuple[int, ...] | None) -> None:
        self._lost.pop(place, None)
        if lost is not None:
            self._lost[place] = frozenset(lost)

    def look_for_strangers(self, path: Path) -> None:
        """Look at answers that made something up once more: it may be another persona's."""
        if len(self._heard) < 2:
            return
        strangers = Strangers({name: each.items for name, each in self._standings.items()})
        with path.open("rb") as file:
            for name, heard in self._made_up():
                file.seek(heard.offset)
                answer = _LINE.decode(file.readline()).answer
                heard.tells_strangers = answer is not None and strangers.is_told(name, answer.text)

    def _made_up(self) -> Iterator[tuple[str, _Heard]]:
        for name, standing in self._standings.items():
            for row in range(len(standing.sheets)):
                for repeat, number in standing.owed(row):
                    found = standing.standing(row, repeat, number)
                    heard = self._heard[name][standing.slot(row, repeat, number)]
                    is_made_up = found.state is State.JUDGED and not found.grounded
                    # A secret that was told is a leak, whosoever it is.
                    is_leak = heard is not None and Finding.LEAK in (heard.findings or ())
                    if is_made_up and heard is not None and heard.is_answered and not is_leak:
                        yield name, heard

    def _answered(self, trial: Trial, line: _Line, offset: int) -> _Heard:
        standing, answer = self._standings[trial.scenario], line.answer
        if answer is None:
            raise ValueError(f"{trial} was answered without an answer")
        truth = standing.items[standing.index[trial.item]].truth
        usages = [each for each in (answer.usage, line.reading_usage) if each is not None]
        self._delivers = self._delivers or bool(answer.passages)
        found = Found.of(answer.passages)
        return _Heard(
            is_answered=True,
            offset=offset,
            seconds=line.seconds,
            reading_s=line.reading_s,
            usage=sum(usages, Usage()) if usages else None,
            delivery=line.delivery,
            found=found,
            is_traced=bool(found.days) or not answer.passages,
            text=answer.text if is_guarded(truth) else None,
            is_silent=not answer.text or answer.text.isspace(),
            tells_stale=tells_instead(truth, truth.stale, answer.text),
            tells_others=tells_instead(truth, others(truth), answer.text),
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
        place = (scenario, sheet.checkpoint.label)
        for repeat, number in standing.owed(row):
            item = standing.items[number]
            word = heard[standing.slot(row, repeat, number)] or _NOTHING
            trail = self._trail(place, item, word, sheet.cutoff)
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
                evidence_missing=trail.missing,
                evidence_cut=trail.cut,
                evidence_lost=trail.lost,
                is_silent=word.is_silent,
                tells_stale=word.tells_stale,
                tells_others=word.tells_others,
                tells_strangers=word.tells_strangers,
                findings=word.findings,
                score=word.score,
                leaked=_leaked(item, word),
                fault=word.fault,
            )

    def _trail(self, place: tuple[str, str], item: Item, word: _Heard, until: int) -> Trail:
        if not word.is_answered:
            return UNKNOWN
        return trail_of(
            item.truth,
            until,
            found=word.found if self._delivers and word.is_traced else None,
            cut=() if word.delivery is None else word.delivery.cut_days,
            lost=self._lost.get(place),
            unfed=self._unfed[place[0]],
        )

    def _found(self, item: Item, word: _Heard) -> int | None:
        truth = item.truth
        if not truth.evidence or truth.expects is not Expects.ANSWER:
            return None
        if not (self._delivers and word.is_answered and word.is_traced):
            return None
        return len({cited.day for cited in truth.evidence} & word.found.days)


def _unfed(standing: ScenarioStanding) -> frozenset[int]:
    """Days that tell an answer and are not among those there are to feed, where these are known."""
    if not standing.days:
        return frozenset()
    cited = (each.day for item in standing.items for each in item.truth.evidence)
    return frozenset(cited).difference(standing.days)


def _leaked(item: Item, word: _Heard) -> bool | None:
    if word.text is None:
        return None
    leaks = leaks_of([GuardedAnswer(item.truth, word.text, word.findings)])
    return bool(leaks.leaked) if leaks.answers else None
