"""The data of the page: columns of trials, details of questions, and heatmaps.

Trials are ordered by question and texts by day, so that similar ones are close and compress well.
Long texts are stored once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from recall_bench.core.event import Judged, NotAnswered, NotJudged, OtherVerdict
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Evidence, Expects, Item
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.heatmap_rows import Row, RowTable
from recall_bench.engine.runs.journal_lines import TextSpan
from recall_bench.engine.runs.run_folder import RunFolder, StoredResult
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.scale import ColourRamp
from recall_bench.reporting.analyses.attribution import FailureLeaf
from recall_bench.reporting.formats import format_score, format_sentence
from recall_bench.reporting.headlines import format_ceiling

NO_PLACE = -1
"""Stands for None in a column of indices."""

LEAF_ORDER = tuple(FailureLeaf)


@dataclass(slots=True)
class PageQuestions:
    """The questions with trials, by index."""

    personas: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    items: list[tuple[int, Item]] = field(default_factory=list)
    """With the index of the persona."""
    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def build_columns(self) -> dict[str, object]:
        """The columns for the page."""
        named = {name: place for place, name in enumerate(self.categories)}
        return {
            "persona": [persona for persona, _ in self.items],
            "id": [item.id for _, item in self.items],
            "text": [item.text for _, item in self.items],
            "reference": [item.truth.reference for _, item in self.items],
            "category": [named[item.truth.category] for _, item in self.items],
            "difficulty": [item.truth.difficulty for _, item in self.items],
            "kind": [item.kind for _, item in self.items],
        }


def collect_questions(table: TrialTable, categories: Sequence[str]) -> PageQuestions:
    """The questions with a trial, by persona and in the order of the dataset."""
    with_trials = {(row.trial.scenario, row.trial.item) for row in table.rows}
    questions = PageQuestions(categories=list(categories))
    names = set(categories)
    for persona, items in table.items.items():
        questions.personas.append(persona)
        for item in items:
            if (persona, item.id) not in with_trials:
                continue
            questions.places[persona, item.id] = len(questions.items)
            questions.items.append((len(questions.personas) - 1, item))
            if item.truth.category not in names:
                names.add(item.truth.category)
                questions.categories.append(item.truth.category)
    return questions


def build_trial_columns(
    table: TrialTable,
    questions: PageQuestions,
    leaves: Mapping[Trial, FailureLeaf],
    states: TrialStates,
) -> dict[str, object]:
    """One entry a trial in each column, in the order of the table."""
    labels = {checkpoint.label: place for place, checkpoint in enumerate(table.plan.checkpoints)}
    leaf_places = {leaf: place for place, leaf in enumerate(LEAF_ORDER)}
    rows = table.rows
    return {
        "question": [questions.places[row.trial.scenario, row.trial.item] for row in rows],
        "checkpoint": [labels[row.trial.checkpoint] for row in rows],
        "repeat": [row.trial.repeat for row in rows],
        "state": [int(row.state) for row in rows],
        "points": [_encode(row.points) for row in rows],
        "invented": [_encode(row.is_invention) for row in rows],
        "leaked": [_encode(row.leaked) for row in rows],
        "leaf": [
            NO_PLACE if (leaf := leaves.get(row.trial)) is None else leaf_places[leaf]
            for row in rows
        ],
        "score": [row.score for row in rows]
        if any(row.score is not None for row in rows)
        else None,
        "split": [_encode(_is_split(row, states)) for row in rows]
        if table.plan.other_judges
        else None,
    }


def _is_split(row: TrialRow, states: TrialStates) -> bool | None:
    """Whether some judges pass the answer and others fail it; None unless all gave marks."""
    scenario = states.scenarios[row.trial.scenario]
    slot = scenario.find_slot(row.trial)
    others = [scenario.get_other_status(judge, slot) for judge in range(len(scenario.others))]
    statuses = [row.status, *others]
    if any(trial.state is not TrialState.JUDGED for trial in statuses):
        return None
    return len({status.is_pass for status in statuses}) > 1


def _encode(number: int | None) -> int:
    return NO_PLACE if number is None else int(number)


MAX_TEXT_LENGTH = 20_000
"""Longer answers and passages are cut; the journal has them whole."""


@dataclass(slots=True)
class SourceText:
    """A passage or a day, and its source."""

    text: str
    day: int | None
    source: str | None
    place: int = NO_PLACE
    """The index among the texts of the persona, once all are known."""


@dataclass(slots=True)
class PersonaDetails:
    """The details of the trials of one persona, long texts by index."""

    answers: list[str] = field(default_factory=list)
    """Each once, in the order of the questions."""
    answer_of: dict[int, int] = field(default_factory=dict)
    """By the trial's row in the table."""
    texts: list[SourceText] = field(default_factory=list)
    """Passages and days, each once, by day."""
    questions: dict[int, dict[str, object]] = field(default_factory=dict)
    """The details of each question and its trials, by its index."""


@dataclass(slots=True)
class _TextPool:
    folder: RunFolder
    story: Mapping[int, str]
    pool: dict[tuple[str, int | None, str | None], SourceText] = field(default_factory=dict)
    passages: dict[str | TextSpan | None, SourceText] = field(default_factory=dict)
    """The last of these texts for each text of a passage, or for where that is: most passages are
    references to a few texts."""

    def collect_passages(self, result: StoredResult) -> list[SourceText]:
        """The texts of the passages of an answer, in their order."""
        if result.answered is None:
            return []
        by_text, texts = self.passages, list[SourceText]()
        for passage in result.answered.answer.passages:
            place = passage.text_at if passage.text is None else passage.text
            source = passage.source or passage.id
            text = by_text.get(place)
            if text is None or text.day != passage.day or text.source != source:
                whole = (
                    self.folder.read_text(passage.text_at, result.offset)
                    if passage.text is None
                    else passage.text
                )
                text = by_text[place] = self._add_text(truncate_text(whole), passage.day, source)
            texts.append(text)
        return texts

    def collect_days(self, item: Item) -> dict[int, SourceText]:
        cited = sorted({cited_part.day for cited_part in item.truth.evidence})
        # Not cut, so that spans into a day stay valid.
        return {
            day: self._add_text(self.story[day], day, None) for day in cited if day in self.story
        }

    def place_texts(self) -> list[SourceText]:
        """All texts in the order of the page; each knows its index from then on."""
        texts = sorted(self.pool.values(), key=_sort_key)
        for place, text in enumerate(texts):
            text.place = place
        return texts

    def _add_text(self, text: str, day: int | None, source: str | None) -> SourceText:
        key = (text, day, source)
        entry = self.pool.get(key)
        if entry is None:
            entry = self.pool[key] = SourceText(text, day, source)
        return entry


def collect_details(
    folder: RunFolder,
    persona: str,
    story: Mapping[int, str],
    *,
    places: Mapping[str, int],
    rows: Mapping[Trial, int],
) -> PersonaDetails:
    """The details of one persona, given the indices of its questions and trials."""
    gathering = _TextPool(folder, story)
    by_question: dict[str, list[_TrialDetails]] = {}
    items: dict[str, Item] = {}
    for result in folder.read_stored_results(persona):
        items[result.trial.item] = result.item
        texts = gathering.collect_passages(result)
        # Described at once, so that no answer with all its passages stays in memory.
        described = _describe_trial(folder, result, texts)
        by_question.setdefault(result.trial.item, []).append(
            _TrialDetails(rows[result.trial], _get_answer(result), texts, described)
        )
    ordered = sorted(by_question.items(), key=lambda each: places[each[0]])
    days = {name: gathering.collect_days(items[name]) for name, _ in ordered}
    details = PersonaDetails(texts=gathering.place_texts())
    answers: dict[str, int] = {}
    for name, trials in ordered:
        for trial in trials:
            trial.place_passages()
            if trial.answer is not None:
                details.answer_of[trial.row] = answers.setdefault(trial.answer, len(answers))
        details.questions[places[name]] = {
            **_describe_question(items[name], days[name]),
            "trials": {str(trial.row): trial.details for trial in trials},
        }
    details.answers = list(answers)
    return details


class _TrialDetails(NamedTuple):
    row: int
    """In the table."""
    answer: str | None
    passages: list[SourceText]
    details: dict[str, object]

    def place_passages(self) -> None:
        """Write the indices of the passages, once all texts are known."""
        if self.passages:
            self.details["passages"] = [text.place for text in self.passages]


def _get_answer(result: StoredResult) -> str | None:
    return None if result.answered is None else truncate_text(result.answered.answer.text)


def truncate_text(text: str) -> str:
    """The text, cut if it is too long."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    more = len(text) - MAX_TEXT_LENGTH
    return f"{text[:MAX_TEXT_LENGTH]}… [{more:,} more characters are in the journal]"


def _sort_key(text: SourceText) -> tuple[bool, int, int, str, str]:
    # The day itself before its passages, which repeat it.
    day = 0 if text.day is None else text.day
    return text.day is None, day, -len(text.text), text.text, text.source or ""


def _describe_question(item: Item, days: Mapping[int, SourceText]) -> dict[str, object]:
    truth = item.truth
    details = {
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
        **{key: value for key, value in details.items() if value},
        "from": item.known_from,
        "evidence": [_describe_evidence(cited, days.get(cited.day)) for cited in truth.evidence],
    }


def _describe_evidence(cited: Evidence, day: SourceText | None) -> dict[str, object]:
    details: dict[str, object] = {"day": cited.day}
    if cited.session is not None:
        details["session"] = cited.session
    if cited.speaker is not None:
        details["speaker"] = cited.speaker
    if day is not None:
        details["text"] = day.place
        if cited.start is not None and cited.end is not None:
            details["span"] = [
                count_utf16(day.text[: cited.start]),
                count_utf16(day.text[: cited.end]),
            ]
    return details


def count_utf16(text: str) -> int:
    """The length of a text in a browser."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _describe_trial(
    folder: RunFolder, result: StoredResult, found: list[SourceText]
) -> dict[str, object]:
    details: dict[str, object] = {}
    if result.answered is not None:
        answered = result.answered
        details["seconds"] = answered.seconds
        if answered.delivery is not None:
            details["delivery"] = answered.delivery
        if found:
            # In its place; the indices are written later.
            details["passages"] = found
            scores = [passage.score for passage in answered.answer.passages]
            if scores.count(None) < len(scores):
                # Three significant digits.
                details["scores"] = [
                    None if score is None else float(f"{score:.3g}") for score in scores
                ]
        if answered.answer.tool_calls:
            details["calls"] = len(answered.answer.tool_calls)
    match result.outcome:
        case Judged() as judged:
            details["verdict"] = _describe_verdict(
                judged.verdict,
                tells=folder.get_findings(judged) is not None,
                judge=judged.judge or (folder.plan.judge_names[0] if result.others else None),
            )
            if judged.primary is not None:
                details["primary"] = _describe_verdict(
                    judged.primary, tells=folder.plan.judge in folder.judges_with_findings
                )
            if judged.review_fault is not None:
                details["review_fault"] = judged.review_fault
        case NotAnswered(fault=fault, message=message, seconds=seconds):
            details |= {"fault": fault, "message": truncate_text(message), "seconds": seconds}
        case NotJudged(fault=fault, message=message):
            details |= {"fault": fault, "message": truncate_text(message)}
        case None:
            pass
    return details | _describe_others(folder, result)


def _describe_others(folder: RunFolder, result: StoredResult) -> dict[str, object]:
    """What the other judges of the plan say; nothing for a run with one judge."""
    if not result.others:
        return {}
    verdicts = zip(folder.plan.judge_names[1:], result.others, strict=True)
    return {
        "others": [
            _describe_other(name, verdict) for name, verdict in verdicts if verdict is not None
        ]
    }


def _describe_other(name: str, said: OtherVerdict) -> dict[str, object]:
    """What another judge says, or why it failed."""
    if said.verdict is None:
        return {"judge": name, "fault": said.fault, "message": truncate_text(said.message or "")}
    return _describe_verdict(said.verdict, tells=bool(said.verdict.findings), judge=name)


def _describe_verdict(
    verdict: Verdict, *, tells: bool, judge: str | None = None
) -> dict[str, object]:
    named = {} if judge is None else {"judge": judge}
    return {
        **named,
        "marks": verdict.marks or None,
        "score": verdict.score,
        "reason": truncate_text(verdict.reason),
        "findings": verdict.findings if tells else None,
    }


def encode_heatmap(table: RowTable) -> dict[str, object]:
    """A table of rows for the script: all texts are made here, as the other outputs have them."""
    return {
        "persona": table.persona,
        "columns": [[column.label, column.days] for column in table.columns],
        "rows": [_encode_row(row, table) for row in table.shown],
    }


def _encode_row(row: Row, table: RowTable) -> dict[str, object]:
    fields: dict[str, object] = {
        "kind": row.kind.value,
        "name": row.name,
        "unit": "" if row.scale == table.total.scale else row.scale.head,
        "opens": dict(row.opens),
        "absent": format_sentence(row.absent),
        "note": None if row.note is None else format_sentence(row.note),
        "cells": [
            row.count_eligible(place) if cell is None else _encode_cell(row, cell, place)
            for place, cell in enumerate(row.cells)
        ],
    }
    if row.bounds is not None:
        fields["bounds"] = [format_score(row.bounds.floor), format_ceiling(row.bounds)]
    return fields


_SHADES: Final = {ColourRamp.SCORE: ("s", 60), ColourRamp.RATE: ("h", 50)}
"""The letter and the number of colours of each ramp in the style sheet."""


def _encode_cell(row: Row, mean: Estimate, place: int) -> list[object]:
    """Figure, colour, value, interval, and what they are over."""
    letter, steps = _SHADES[row.scale.ramp]
    shade = round(steps * row.scale.compute_shade(mean.value, row.highest))
    return [
        row.scale.format_short(mean.value).removesuffix(" %"),
        f"{letter}{shade}",
        row.scale.format_value(mean.value),
        row.scale.format_bounds(mean) or "none",
        mean.questions,
        mean.trials,
        mean.missing,
        row.count_eligible(place),
    ]
