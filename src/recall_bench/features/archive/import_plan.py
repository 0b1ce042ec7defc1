"""The questions and the plan of an imported run, as far as its files say.

No file contains questions that were never asked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from recall_bench.core.memory import Asker, SystemCard
from recall_bench.core.plan import (
    UNRECORDED,
    Checkpoint,
    ImportCard,
    Lifecycle,
    Plan,
    ReviewMode,
    ScenarioCard,
    digest_questions,
)
from recall_bench.core.record import digest_content
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, GROUP_CATEGORIES, Evidence, Item, Truth
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.runs.result_format import (
    CardRow,
    ClosingRow,
    HeaderRow,
    MetadataRow,
    QuestionRow,
    RunSettingRow,
)
from recall_bench.engine.runs.summary import STUB
from recall_bench.features.archive.import_evaluations import (
    CheckpointVisit,
    Evaluation,
    FaultCounts,
)
from recall_bench.features.archive.import_files import RunFiles
from recall_bench.stories.persona_questions import infer_expectation

_NUMBER = r"[0-9]{1,18}"


class ImportedQuestions:
    """The questions of one persona, with a distinct id for every wording.

    A question that was corrected between two attempts kept its id, and two questions of a dataset
    may share one: reports treat them as two questions.
    """

    def __init__(self) -> None:
        self._ids: dict[QuestionRow, str] = {}
        self._asked: dict[str, QuestionRow] = {}

    def add(self, qa: QuestionRow) -> None:
        """Add a question."""
        wording = _reduce_question(qa)
        if (known := self._ids.get(wording)) is not None:
            self._asked[known] = _merge_questions(self._asked[known], qa)
            return
        name, number = qa.id, 1
        while name in self._asked:
            number += 1
            name = f"{qa.id}~{number}"
        self._ids[wording] = name
        self._asked[name] = qa

    def find_id(self, qa: QuestionRow) -> str:
        """Find the id of this wording."""
        return self._ids[_reduce_question(qa)]

    def list_ids(self, evaluations: Iterable[Evaluation]) -> tuple[str, ...]:
        """List the ids of the questions of these evaluations, each once, in order."""
        return tuple(dict.fromkeys(self.find_id(row.qa) for row in evaluations))

    @property
    def reworded_count(self) -> int:
        """The number of wordings with a new id."""
        return sum(name != qa.id for name, qa in self._asked.items())

    def build_items(self) -> tuple[Item, ...]:
        """Build every question, ordered by id."""
        return tuple(
            _build_item(name, self._asked[name]) for name in sorted(self._asked, key=_make_sort_key)
        )


def collect_questions(
    visits: list[CheckpointVisit], faults: FaultCounts
) -> dict[str, ImportedQuestions]:
    """Collect the questions by persona, in the order of the files."""
    questions: dict[str, ImportedQuestions] = {}
    for visit in visits:
        for row in visit.evaluations:
            questions.setdefault(row.persona, ImportedQuestions()).add(row.qa)
            faults.note("unlisted", int(row.qa.category not in CATEGORIES))
            faults.note("too-early", int(max(row.qa.days, default=0) > visit.days))
    faults.note("reworded", sum(own.reworded_count for own in questions.values()))
    return questions


def _reduce_question(qa: QuestionRow) -> QuestionRow:
    """Reduce a question to the fields that all files have."""
    return QuestionRow(
        id=qa.id,
        question=qa.question,
        answer=qa.reference,
        category=qa.category,
        difficulty=qa.difficulty,
        relevant_days=qa.days,
        expected_disclosure=qa.expected_disclosure,
        query_session=qa.query_session,
        forbidden_sessions=qa.forbidden_sessions,
    )


def _merge_questions(first: QuestionRow, other: QuestionRow) -> QuestionRow:
    """Merge two rows of one question."""
    if first.irrelevant_after is None and other.irrelevant_after is not None:
        return other
    return other if first.requires_synthesis is None else first


def _build_item(name: str, qa: QuestionRow) -> Item:
    days = dict.fromkeys(qa.days)
    reference = qa.reference
    return Item(
        id=name,
        text=qa.question,
        kind=qa.kind,
        truth=Truth(
            reference=reference,
            category=qa.category,
            difficulty=qa.difficulty,
            expects=infer_expectation(reference, qa.category, qa.expected_disclosure),
            evidence=tuple(Evidence(day=day) for day in days),
            requires_synthesis=bool(qa.requires_synthesis),
            forbidden_sessions=qa.forbidden_sessions,
            disclosure=qa.expected_disclosure,
        ),
        known_from=max(days, default=0),
        known_until=qa.irrelevant_after,
        session=qa.query_session,
        choices=qa.choices,
    )


def _make_sort_key(name: str) -> list[tuple[int, str]]:
    """Make a key that sorts q9 before q10."""
    return [
        (int(part), "") if re.fullmatch(_NUMBER, part) else (-1, part)
        for part in re.split(rf"({_NUMBER})", name)
    ]


PUBLIC = "public harness"
"""The name of the judge, where the files are from the public harness."""


def find_setting(files: RunFiles) -> RunSettingRow:
    """Find the settings of the run, in its result or else in the last header."""
    if files.result is not None:
        return files.result.metadata
    headers = [line for line in files.progress if isinstance(line, HeaderRow)]
    return headers[-1] if headers else RunSettingRow()


def is_ours(files: RunFiles) -> bool:
    """Whether a run of ours wrote the files."""
    return find_setting(files).is_ours or any(row.plan for row in files.questions)


def build_import_plan(
    files: RunFiles,
    visits: Sequence[CheckpointVisit],
    questions: Mapping[str, ImportedQuestions],
    card: ImportCard,
) -> Plan:
    """Build the plan from what the files say."""
    setting = find_setting(files)
    items = {name: own.build_items() for name, own in questions.items()}
    categories = {item.truth.category for own in items.values() for item in own}
    days = {visit.place[1]: visit.days for visit in visits}
    rows = [row for visit in visits for row in visit.evaluations]
    review_card, review_model = setting.appellate_judge, setting.appellate_judge_model
    has_review = review_card is not None or review_model is not None
    is_stub = not any(row.points for row in rows)
    plan = Plan(
        scenarios=tuple(_build_scenario_card(name, own, visits) for name, own in items.items()),
        checkpoints=tuple(
            Checkpoint(label=label, days=days[label])
            for label in sorted(days, key=days.__getitem__)
        ),
        system=_build_system_card(files, setting, categories),
        judge=_build_judge_card(setting.judge, setting.judge_model, is_stub=is_stub),
        appellate=_build_judge_card(review_card, review_model, is_stub=False)
        if has_review
        else None,
        review=setting.review or ReviewMode.FAILURES,
        lifecycle=setting.lifecycle or Lifecycle.GROWING,
        repeats=max([setting.repeats, *(row.repeat + 1 for row in rows)]),
        sample=setting.sample,
        # A file may contain group questions although its settings exclude them.
        groups_enabled=setting.groups_enabled or bool(categories & GROUP_CATEGORIES),
        judge_memory_window=setting.judge_memory_window,
        max_context_tokens=setting.max_context_tokens,
        imported=card,
    )
    settings = {"seed": setting.seed, "top_k": setting.top_k}
    return plan.replace(**{name: value for name, value in settings.items() if value is not None})


def digest_asked_ids(asked: Mapping[str, Mapping[str, Iterable[str]]]) -> str:
    """Digest the questions asked at each checkpoint, in any order."""
    sets = {name: {label: sorted(ids) for label, ids in own.items()} for name, own in asked.items()}
    return digest_content(sets)


def is_whole(files: RunFiles) -> bool:
    """Whether the files say that the run finished."""
    setting = find_setting(files)
    if isinstance(setting, MetadataRow):
        is_cut = setting.reconstructed and not setting.reconstructed_complete
        return not (is_cut or setting.unfinished or setting.not_started)
    return bool(files.progress) and isinstance(files.progress[-1], ClosingRow)


def _build_scenario_card(
    name: str, items: tuple[Item, ...], visits: Iterable[CheckpointVisit]
) -> ScenarioCard:
    last_day = max(visit.cutoff for visit in visits if visit.place[0] == name)
    return ScenarioCard(
        id=name,
        # No reader of an imported run needs the date, and the files do not contain it.
        epoch=date.min,
        episodes=last_day,
        last_day=last_day,
        items=len(items),
        history_digest=UNRECORDED,
        questions_digest=digest_questions(items),
    )


def _build_system_card(files: RunFiles, setting: RunSettingRow, categories: set[str]) -> SystemCard:
    if (card := setting.system) is not None:
        asker = Asker(card.asker) if card.asker in set(Asker) else Asker.TOLD
        return SystemCard(name=card.name, version=card.version, config=card.config, asker=asker)
    models = {
        "synthesis_model": setting.synthesis_model,
        "embedding_provider": setting.embedding_provider,
        "embedding_model": setting.embedding_model,
    }
    name = files.result.adapter_name if files.result is not None else None
    if isinstance(setting, HeaderRow):
        name = setting.adapter_name
    return SystemCard(
        name=name or UNRECORDED,
        version=UNRECORDED,
        config={key: value for key, value in models.items() if value is not None},
        # The public harness passes no session; a category that was asked must still be shown.
        asker=Asker.TOLD if BOUNDARY in categories else Asker.UNTOLD,
    )


def _build_judge_card(card: CardRow | None, model: str | None, *, is_stub: bool) -> JudgeCard:
    if card is None:
        is_stub = is_stub and model is None
        return JudgeCard(name=STUB if is_stub else PUBLIC, version=UNRECORDED, model=model)
    return JudgeCard(
        name=card.name,
        version=card.version,
        model=card.model,
        rules_digest=card.rules_digest,
        rubrics=card.rubrics,
    )
