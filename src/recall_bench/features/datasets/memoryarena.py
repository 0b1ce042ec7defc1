"""MemoryArena as fixed chains: what a later subtask needs of the earlier ones.

In MemoryArena an agent solves a chain of subtasks in live environments and remembers its own
solutions, right or wrong. Here no environment runs. For each subtask but the first, the episodes
are the earlier subtasks with their *gold* solutions, the question is the subtask and the reference
its gold answer: recall over a fixed chain, which is not MemoryArena's task completion and must not
be compared with it.

Five facts about the upstream files shape this one:

* A row is a chain: `questions` and `answers` of one length, in order. There are five files.
* The first subtask of a chain has nothing to recall and is not asked.
* In formal reasoning each subtask has its own background, which is part of the question. A
  background of the whole chain is its first episode, and so is the plan of the person whom the
  others of a travelling group join (`base_person`): upstream puts it into memory first.
* Answers may be structured: a product with its attributes, a list of days. They become text in
  file order: a line `key: value` for each entry, a blank line between the parts of a list.
* There are no dates and no evidence.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Item, Scenario, Truth, Turn, compute_story_date
from recall_bench.core.untrusted_json import decode_plain_json, read_regular_file
from recall_bench.features.datasets.loading import (
    LazyScenarios,
    build_dialogue,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of every first episode: MemoryArena has no dates."""

FILES = (
    "bundled_shopping",
    "progressive_search",
    "group_travel_planner",
    "formal_reasoning_math",
    "formal_reasoning_phys",
)
"""The five kinds of chains; they are the categories."""

_ENDINGS = (".jsonl", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChainStep:
    """A subtask or the opening of a chain, with its solution if it has one."""

    task: str
    solution: str | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The task, and its solution."""
        turn = Turn(speaker="task", text=self.task)
        if self.solution is None:
            return (turn,)
        return (turn, Turn(speaker="solution", text=self.solution))


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemoryArenaChain:
    """One row of a file."""

    name: str
    category: str
    source: str
    opening: tuple[_ChainStep, ...]
    subtasks: tuple[_ChainStep, ...]


def load(path: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read the folder of all five files, or one of them: a scenario for each later subtask."""
    refuse_corrections("memoryarena", layers)
    chains = list(
        chain.from_iterable(_read_chains(*listed) for listed in _list_files(path).items())
    )
    steps = [(link, number) for link in chains for number in range(1, len(link.subtasks))]
    return LazyScenarios(len(steps), lambda place: _build_scenario(*steps[place]))


def _build_scenario(held: _MemoryArenaChain, number: int) -> Scenario:
    before = (*held.opening, *held.subtasks[:number])
    episodes = tuple(
        build_dialogue(
            f"step-{day:02}", day=day, at=compute_story_date(EPOCH, day), turns=step.turns
        )
        for day, step in enumerate(before, start=1)
    )
    subtask = held.subtasks[number]
    if subtask.solution is None:
        raise AssertionError("every subtask is read with its answer")
    truth = Truth(
        reference=subtask.solution,
        category=held.category,
        source=f"{held.source}/{number + 1}",
    )
    return Scenario(
        id=f"{held.name}-{number + 1:02}",
        epoch=EPOCH,
        episodes=episodes,
        items=(Item(id="subtask", text=subtask.task, truth=truth, known_from=episodes[-1].day),),
    )


def _list_files(path: Path) -> dict[str, list[Path]]:
    """The files to read, by category."""
    if path.is_file():
        return {_read_category(path): [path]}
    if not path.is_dir():
        raise UsageError(f"there is no {path}; name the folder of MemoryArena's five files")
    files_by_name = {name: _list_in_folder(path, name) for name in FILES}
    if missing := [name for name, files in files_by_name.items() if not files]:
        raise UsageError(
            f"{path} lacks {', '.join(missing)}; give the folder of all five, or one file"
        )
    return files_by_name


def _list_in_folder(folder: Path, name: str) -> list[Path]:
    """List the file of this name, or the files in a folder of this name, as on the hub."""
    plain = [folder / f"{name}{ending}" for ending in _ENDINGS]
    if here := [path for path in plain if path.is_file()]:
        return here[:1]
    return sorted(path for path in (folder / name).glob("*") if path.suffix in _ENDINGS)


def _read_category(path: Path) -> str:
    for name in (path.stem, path.parent.name):
        if name in FILES:
            return name
    raise UsageError(f"{path} has no name of MemoryArena's files: {', '.join(FILES)}")


def _read_chains(category: str, paths: Sequence[Path]) -> Iterator[_MemoryArenaChain]:
    rows = chain.from_iterable(map(_read_rows, paths))
    for number, (place, row) in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise Malformed(place, "is not a chain with `questions` and `answers`")
        yield _MemoryArenaChain(
            name=f"{category}-{number:04}",
            category=category,
            source=f"{category}/{row.get('id', number)}",
            opening=tuple(_read_opening(place, row)),
            subtasks=tuple(_read_subtasks(place, row)),
        )


def _read_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each row with its place: the entries of a list, or the lines."""
    try:
        text = read_regular_file(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Malformed(str(path), f"cannot be read as text ({error})") from error
    if text.lstrip().startswith("["):
        rows = _decode(str(path), text)
        yield from ((f"{path}, entry {number}", row) for number, row in enumerate(rows, start=1))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, _decode(place, line)


def _decode(place: str, text: str) -> Any:  # noqa: ANN401
    try:
        return decode_plain_json(text)
    except msgspec.DecodeError as error:
        raise Malformed(place, f"cannot be read as JSON ({error})") from error


def _read_opening(place: str, row: dict[str, Any]) -> Iterator[_ChainStep]:
    background = row.get("backgrounds")
    if isinstance(background, str) and background.strip():
        yield _ChainStep(task=background.strip())
    base = row.get("base_person")
    if base is not None:
        if not isinstance(base, dict) or not isinstance(base.get("query"), str):
            raise Malformed(place, "its `base_person` has no `query`")
        plans = format_answer(base.get("daily_plans"))
        if plans is None:
            raise Malformed(place, "its `base_person` has no `daily_plans`")
        yield _ChainStep(task=base["query"].strip(), solution=plans)


def _read_subtasks(place: str, row: dict[str, Any]) -> Iterator[_ChainStep]:
    questions, answers = row.get("questions"), row.get("answers")
    if not isinstance(questions, list) or not isinstance(answers, list) or not questions:
        raise Malformed(place, "has no lists of `questions` and `answers`")
    if len(questions) != len(answers):
        raise Malformed(place, f"has {len(questions)} questions and {len(answers)} answers")
    backgrounds = _read_backgrounds(place, row.get("backgrounds"), len(questions))
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        if not isinstance(question, str) or not question.strip():
            raise Malformed(place, f"questions[{number}] is empty")
        solution = format_answer(answer)
        if solution is None:
            raise Malformed(place, f"answers[{number}] is empty")
        posed = [part.strip() for part in (backgrounds[number], question) if part.strip()]
        yield _ChainStep(task="\n\n".join(posed), solution=solution)


def _read_backgrounds(place: str, backgrounds: object, count: int) -> list[str]:
    """Return the background of each subtask; empty if the chain has one background or none."""
    if backgrounds is None or isinstance(backgrounds, str) or backgrounds == []:
        return [""] * count
    if not isinstance(backgrounds, list) or len(backgrounds) != count:
        raise Malformed(
            place, f"its `backgrounds` are neither one text nor one for each of {count}"
        )
    if any(not isinstance(one, str | None) for one in backgrounds):
        raise Malformed(place, "its `backgrounds` are not text")
    return [one or "" for one in backgrounds]


def format_answer(answer: object) -> str | None:
    """Format a gold answer as text; None if it is empty."""
    match answer:
        case dict():
            lines = ((key, _format_line(value)) for key, value in answer.items())
            return "\n".join(f"{key}: {value}" for key, value in lines if value) or None
        case list() if any(isinstance(part, dict | list) for part in answer):
            return "\n\n".join(text for part in answer if (text := format_answer(part))) or None
        case _:
            return _format_line(answer) or None


def _format_line(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case dict():
            parts = ((key, _format_line(inner)) for key, inner in value.items())
            return "; ".join(f"{key}: {inner}" for key, inner in parts if inner)
        case list():
            return ", ".join(inner for part in value if (inner := _format_line(part)))
        case _:
            return json.dumps(value)
