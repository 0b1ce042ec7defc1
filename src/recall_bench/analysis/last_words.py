"""The last word of a journal on each trial: what an answer took, found and told.

One pass, which keeps no text; only answers that made something up are looked at once more, where
they may be about another persona.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from recall_bench.analysis.attribution.evidence import NOTHING, Found
from recall_bench.analysis.attribution.values import Strangers, others, tells_instead
from recall_bench.core.plan import Trial
from recall_bench.core.reader import Delivery
from recall_bench.core.standing import Standing, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import FULL_MARKS, Finding
from recall_bench.journal import lines
from recall_bench.metrics.leaks import is_guarded
from recall_bench.reporting.folder import RunFolder


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


class Heard(msgspec.Struct, kw_only=True):
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


_UNHEARD = Heard()


class LastWords:
    """The last word on each trial, gathered as the journal goes by."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._standings = folder.standings.scenarios
        self._heard: dict[str, list[Heard | None]] = {
            name: [None] * len(standing.grid) for name, standing in self._standings.items()
        }
        self.delivers = False
        """Whether the system ever returned a passage."""
        self.lost: dict[tuple[str, str], frozenset[int]] = {}
        """By scenario and checkpoint, the days not held, where the memory says."""

    def read(self, path: Path) -> None:
        """Take in the whole journal."""
        for offset, line in lines(path):
            self._note(_LINE.decode(line), offset)
        self._look_for_strangers(path)

    def on(self, scenario: str, slot: int) -> Heard:
        """The last word on the trial in this slot; one that says nothing if there is none."""
        return self._heard[scenario][slot] or _UNHEARD

    def _note(self, line: _Line, offset: int) -> None:
        if line.type == "inspected" and line.scenario and line.checkpoint:
            self._inspect((line.scenario, line.checkpoint), line.lost)
        # A run that is still going on may have come to another persona since it was opened.
        if line.trial is None or line.trial.scenario not in self._heard:
            return
        match line.type:
            case "answered":
                self._put(line.trial, self._answered(line.trial, line, offset))
            case "not_answered":
                self._put(line.trial, Heard(seconds=line.seconds, fault=line.fault))
            case "judged" | "not_judged":
                self._judge(line.trial, line)

    def _put(self, trial: Trial, heard: Heard) -> None:
        self._heard[trial.scenario][self._standings[trial.scenario].slot_of(trial)] = heard

    def _inspect(self, place: tuple[str, str], lost: tuple[int, ...] | None) -> None:
        self.lost.pop(place, None)
        if lost is not None:
            self.lost[place] = frozenset(lost)

    def _look_for_strangers(self, path: Path) -> None:
        """Look at answers that made something up once more: it may be another persona's."""
        if len(self._heard) < 2:
            return
        strangers = Strangers({name: each.items for name, each in self._standings.items()})
        with path.open("rb") as file:
            for name, heard in self._made_up():
                file.seek(heard.offset)
                answer = _LINE.decode(file.readline()).answer
                heard.tells_strangers = answer is not None and strangers.is_told(name, answer.text)

    def _made_up(self) -> Iterator[tuple[str, Heard]]:
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

    def _answered(self, trial: Trial, line: _Line, offset: int) -> Heard:
        standing, answer = self._standings[trial.scenario], line.answer
        if answer is None:
            raise ValueError(f"{trial} was answered without an answer")
        number = standing.index[trial.item]
        truth = standing.items[number].truth
        final = standing.standing(standing.row[trial.checkpoint], trial.repeat, number)
        # Whose a value is matters only where it is wrong, and looking for it takes time.
        wrong = "" if _has_full_marks(final) else answer.text
        usages = [each for each in (answer.usage, line.reading_usage) if each is not None]
        self.delivers = self.delivers or bool(answer.passages)
        found = Found.of(answer.passages)
        return Heard(
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
            tells_stale=tells_instead(truth, truth.stale, wrong),
            tells_others=tells_instead(truth, others(truth), wrong),
        )

    def _judge(self, trial: Trial, line: _Line) -> None:
        slot = self._standings[trial.scenario].slot_of(trial)
        heard = self._heard[trial.scenario][slot]
        if heard is None:
            heard = self._heard[trial.scenario][slot] = Heard()
        heard.fault = line.fault
        heard.score = heard.findings = None
        if line.verdict is not None:
            plan = self._folder.plan
            judge = plan.judge if line.primary is None else plan.appellate
            heard.findings = line.verdict.findings if judge in self._folder.tells else None
            heard.score = line.verdict.score


def _has_full_marks(standing: Standing) -> bool:
    return standing.state is State.JUDGED and standing.composite == FULL_MARKS
