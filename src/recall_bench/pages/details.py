"""What stands behind each trial: said, found, judged. Long texts are kept once.

Trials lie question by question, and texts day by day, whatever the order of the run: what is alike
is then close together, and packs to a fraction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recall_bench.core.event import Judged, NotAnswered, NotJudged, TrialResult
from recall_bench.core.plan import Trial
from recall_bench.core.question import Evidence, Expects, Item
from recall_bench.core.verdict import Verdict
from recall_bench.pages.columns import NO_PLACE
from recall_bench.reporting.folder import RunFolder

MAX_TEXT_LENGTH = 20_000
"""Of an answer or a passage so many characters are shown. The journal has them all."""

ScoredText = tuple["SourceText", float | None]
"""A passage and its score."""


@dataclass(slots=True)
class SourceText:
    """A passage or a day, and where it is from."""

    text: str
    day: int | None
    source: str | None
    place: int = NO_PLACE
    """Among all texts of the persona, once they are all known."""


@dataclass(slots=True)
class PersonaDetails:
    """All there is to show of one persona's trials, long texts by their places."""

    answers: list[str] = field(default_factory=list)
    """Each once, in the order of the questions."""
    answer_of: dict[int, int] = field(default_factory=dict)
    """By the trial's row in the table."""
    texts: list[SourceText] = field(default_factory=list)
    """Passages and days, each once, by day."""
    questions: dict[int, dict[str, object]] = field(default_factory=dict)
    """What is told of each question and of its trials, by its place."""


@dataclass(slots=True)
class _TextPool:
    story: Mapping[int, str]
    pool: dict[tuple[str, int | None, str | None], SourceText] = field(default_factory=dict)

    def collect_passages(self, result: TrialResult) -> list[ScoredText]:
        if result.answered is None:
            return []
        return [
            (self._add_text(truncate_text(each.text), each.day, each.source or each.id), each.score)
            for each in result.answered.answer.passages
        ]

    def collect_days(self, item: Item) -> dict[int, SourceText]:
        cited = sorted({each.day for each in item.truth.evidence})
        # A day is kept whole, so that spans into it stay where they are.
        return {
            day: self._add_text(self.story[day], day, None) for day in cited if day in self.story
        }

    def _add_text(self, text: str, day: int | None, source: str | None) -> SourceText:
        key = (text, day, source)
        found = self.pool.get(key)
        if found is None:
            found = self.pool[key] = SourceText(text, day, source)
        return found


def collect_details(
    folder: RunFolder,
    persona: str,
    story: Mapping[int, str],
    *,
    places: Mapping[str, int],
    rows: Mapping[Trial, int],
) -> PersonaDetails:
    """The details of one persona, its questions and trials being in these places."""
    gathering = _TextPool(story)
    by_question: dict[str, list[tuple[int, TrialResult, list[ScoredText]]]] = {}
    for result in folder.results(persona):
        found = gathering.collect_passages(result)
        by_question.setdefault(result.trial.item, []).append((rows[result.trial], result, found))
    ordered = sorted(by_question.items(), key=lambda each: places[each[0]])
    days = {name: gathering.collect_days(trials[0][1].item) for name, trials in ordered}
    details = PersonaDetails()
    for place, text in enumerate(sorted(gathering.pool.values(), key=_sort_key)):
        text.place = place
        details.texts.append(text)
    answers: dict[str, int] = {}
    for name, trials in ordered:
        for number, result, _ in trials:
            if result.answered is not None:
                answer = truncate_text(result.answered.answer.text)
                details.answer_of[number] = answers.setdefault(answer, len(answers))
        details.questions[places[name]] = {
            **_describe_question(trials[0][1].item, days[name]),
            "trials": {
                str(number): _describe_trial(folder, result, found)
                for number, result, found in trials
            },
        }
    details.answers = list(answers)
    return details


def truncate_text(text: str) -> str:
    """No more of a text than is shown."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    return f"{text[:MAX_TEXT_LENGTH]}… [{len(text) - MAX_TEXT_LENGTH:,} more characters are in the journal]"


def _sort_key(text: SourceText) -> tuple[bool, int, int, str, str]:
    # The day itself before its passages, which repeat it.
    day = 0 if text.day is None else text.day
    return text.day is None, day, -len(text.text), text.text, text.source or ""


def _describe_question(item: Item, days: Mapping[int, SourceText]) -> dict[str, object]:
    truth = item.truth
    told = {
        "session": item.session,
        "choices": item.choices,
        "aliases": truth.aliases,
        "stale": truth.stale,
        "distractors": truth.distractors,
        "expects": None if truth.expects is Expects.ANSWER else truth.expects.value,
        "disclosure": truth.disclosure,
        "until": item.known_until,
    }
    return {
        **{key: value for key, value in told.items() if value},
        "from": item.known_from,
        "evidence": [_describe_evidence(each, days.get(each.day)) for each in truth.evidence],
    }


def _describe_evidence(cited: Evidence, day: SourceText | None) -> dict[str, object]:
    told: dict[str, object] = {"day": cited.day}
    if cited.session is not None:
        told["session"] = cited.session
    if cited.speaker is not None:
        told["speaker"] = cited.speaker
    if day is not None:
        told["text"] = day.place
        if cited.start is not None and cited.end is not None:
            told["span"] = [
                count_utf16(day.text[: cited.start]),
                count_utf16(day.text[: cited.end]),
            ]
    return told


def count_utf16(text: str) -> int:
    """The length of a text as a browser counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _describe_trial(
    folder: RunFolder, result: TrialResult, found: list[ScoredText]
) -> dict[str, object]:
    told: dict[str, object] = {}
    if result.answered is not None:
        said = result.answered
        told["seconds"] = said.seconds
        if said.delivery is not None:
            told["delivery"] = said.delivery
        if found:
            told["passages"] = [text.place for text, _ in found]
            if any(score is not None for _, score in found):
                told["scores"] = [
                    None if score is None else _round_score(score) for _, score in found
                ]
        if said.answer.tool_calls:
            told["calls"] = len(said.answer.tool_calls)
    match result.outcome:
        case Judged() as judged:
            told["verdict"] = _describe_verdict(
                judged.verdict, tells=folder.get_findings(judged) is not None
            )
            if judged.primary is not None:
                told["primary"] = _describe_verdict(
                    judged.primary, tells=folder.plan.judge in folder.judges_with_findings
                )
            if judged.review_fault is not None:
                told["review_fault"] = judged.review_fault
        case NotAnswered(fault=fault, message=message, seconds=seconds):
            told |= {"fault": fault, "message": truncate_text(message), "seconds": seconds}
        case NotJudged(fault=fault, message=message):
            told |= {"fault": fault, "message": truncate_text(message)}
        case None:
            pass
    return told


def _round_score(score: float) -> float:
    """As many digits as are shown."""
    return float(f"{score:.3g}")


def _describe_verdict(verdict: Verdict, *, tells: bool) -> dict[str, object]:
    return {
        "marks": verdict.marks or None,
        "score": verdict.score,
        "reason": truncate_text(verdict.reason),
        "findings": verdict.findings if tells else None,
    }
