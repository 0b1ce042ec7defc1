"""MemoryAgentBench: one long text, read in pieces, and many questions about it.

Six facts about the upstream files shape this one:

* They are four splits of rows `{context, questions, answers, metadata}`, published as Parquet. Rows
  are read from JSON: an array, or an object on each line. A row is a scenario.
* `metadata.source` names the task. Its beginning tells the ability and how upstream grades it
  (`_TASKS`).
* A context has no sessions. It is cut at line ends, as upstream cuts it into chunks.
* `answers` has a list of accepted answers for each question.
* Upstream's prompts tell what a question cannot do without: that of two numbered facts that
  contradict each other the later holds, and that a label is asked for. The question says so here.
* The movie recommendations are graded by numbers of movies in another file. They are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
    hash_question_id,
)
from recall_bench.features.datasets.loading import (
    JsonElements,
    LazyScenarios,
    NonBlank,
    open_rows,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of every first piece: MemoryAgentBench has no dates."""

CHUNK = 16_384
"""The most characters of a piece: about upstream's 4,096 tokens."""

MODEL = "model"
"""The grading of answers that upstream lets a model judge."""
EXACT = "exact"
"""The grading of answers that must be the gold and no more."""

_MOVIES = "recsys"
_NOT_ROWS = ("entity2id.json",)
_FORMS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")

_LABEL = "Which label do the examples give to the following? Reply with `label: ` and the label."
_LATER = "The facts are numbered; of facts that contradict each other the one with the higher "
_LATER += "number holds."


class _Task(NamedTuple):
    """The ability that a source tests, how it is graded, and what its questions need."""

    ability: str
    grading: str | None = None
    before: str = ""
    after: str = ""


_TASKS = {
    "ruler": _Task("accurate-retrieval"),
    "eventqa": _Task("accurate-retrieval"),
    "longmemeval": _Task("accurate-retrieval", MODEL),
    "icl": _Task("test-time-learning", EXACT, before=_LABEL),
    "infbench_sum": _Task("long-range-understanding", MODEL),
    "detective_qa": _Task("long-range-understanding", EXACT),
    "factconsolidation": _Task("conflict-resolution", after=_LATER),
}
"""By the beginning of the source."""


class _MabMetadata(msgspec.Struct):
    source: NonBlank
    question_ids: list[str] | None = None
    keypoints: list[str] | None = None


class _MabSource(msgspec.Struct):
    metadata: _MabMetadata


class _MabRow(_MabSource):
    context: NonBlank
    questions: list[NonBlank]
    answers: list[list[str] | str]


def load(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read one split, or the folder of them: a scenario for each row, built on demand."""
    refuse_corrections("memoryagentbench", layers)
    rows = [
        (rows, number)
        for path in _list_files(data)
        for rows in [open_rows(path, "row")]
        for number in range(len(rows))
        if not rows.decode(number, _MabSource).metadata.source.startswith(_MOVIES)
    ]
    return LazyScenarios(len(rows), lambda place: _decode_scenario(*rows[place]))


def _list_files(data: Path) -> list[Path]:
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise UsageError(f"there is no {data}; name a split of MemoryAgentBench, or their folder")
    folder = data / "data" if (data / "data").is_dir() else data
    files = sorted(
        path
        for path in folder.iterdir()
        if path.name.endswith(_FORMS) and path.name not in _NOT_ROWS
    )
    if not files:
        raise UsageError(
            f"{folder} holds no JSON; export the splits of MemoryAgentBench as JSON lines"
        )
    return files


def _decode_scenario(rows: JsonElements, number: int) -> Scenario:
    row = rows.decode(number, _MabRow)
    try:
        return _build_scenario(row)
    except ValueError as error:
        problem = f"is not as MemoryAgentBench has it: {error}"
        raise Malformed(rows.describe(number), problem) from error


def _build_scenario(row: _MabRow) -> Scenario:
    if len(row.questions) != len(row.answers):
        counts = f"{len(row.questions)} questions and {len(row.answers)} answers"
        raise ValueError(f"it has {counts}")
    source = row.metadata.source
    task = _find_task(source)
    episodes = tuple(
        Episode(
            id=f"piece-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=piece.strip("\n")
        )
        for day, piece in enumerate(cut_text(row.context, CHUNK), start=1)
    )
    return Scenario(
        id=f"mab-{hash_question_id(source, row.context[:CHUNK] + str(row.questions))}",
        epoch=EPOCH,
        episodes=episodes,
        items=tuple(_build_items(row, task, episodes[-1].day)),
    )


def _find_task(source: str) -> _Task:
    for beginning, task in _TASKS.items():
        if source.startswith(beginning):
            return task
    raise ValueError(f"its source {source!r} is not one of {', '.join(_TASKS)}")


def cut_text(text: str, size: int) -> Iterator[str]:
    """Yield pieces of at most `size` characters, cut at a line end, else at a blank."""
    begin = 0
    while begin < len(text):
        end = begin + size
        if end < len(text):
            cut = text.rfind("\n", begin, end)
            cut = cut if cut > begin else text.rfind(" ", begin, end)
            end = cut + 1 if cut > begin else end
        if text[begin:end].strip():
            yield text[begin:end]
        begin = end


def _build_items(row: _MabRow, task: _Task, last_day: int) -> Iterator[Item]:
    ids = row.metadata.question_ids or []
    nuggets = row.metadata.keypoints or [] if task.grading == MODEL else []
    for number, question in enumerate(row.questions):
        answers = row.answers[number]
        accepted = [answers] if isinstance(answers, str) else answers
        accepted = list(dict.fromkeys(wording for wording in accepted if wording.strip()))
        if not accepted:
            raise ValueError(f"question {number + 1} has no answer")
        parts = (task.before, question.strip(), task.after)
        is_unanswerable = number < len(ids) and ids[number].endswith("_abs")
        yield Item(
            id=f"q{number:03}",
            text="\n\n".join(part for part in parts if part),
            truth=Truth(
                reference=accepted[0],
                category=f"{task.ability}/{_drop_size(row.metadata.source)}",
                expects=Expects.ABSTAIN if is_unanswerable else Expects.ANSWER,
                aliases=tuple(accepted[1:]),
                facts=tuple((nugget,) for nugget in nuggets if nugget.strip()),
                grading=task.grading,
                source=f"{row.metadata.source}/{number + 1}",
            ),
            known_from=last_day,
        )


def _drop_size(source: str) -> str:
    """Drop the size from a source: `factconsolidation_mh`, `icl_banking77`."""
    return re.sub(r"_(?:\d+[kK]?|full|\d+shot_balance)(?:_.*)?\Z|\*\Z", "", source)
