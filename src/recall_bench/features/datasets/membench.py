"""MemBench: messages of one user to an assistant, in a first-person and a third-person view.

Seven facts about the published files shape this one:

* A file is a category with topics, and each topic has trajectories. A trajectory has its own
  history and one question. The sample released for the paper has all categories in one file.
* In the first view a step is a pair of a user's message and the assistant's reply. Both are turns.
  In the third view a step is a statement of the user without a reply.
* Steps of one session are listed together. A flat list is one session.
* `target_step_id` counts steps from 0 through all sessions. If it is a pair, its second number is
  the session, which must agree. The steps' own ids sometimes restart.
* Of a pair, the utterance with the answer is evidence: the user's message, except for the
  assistant's own recommendations (`_TELLERS`).
* Upstream shows its agents every utterance with its place and time, and some answers need them. A
  turn ends with them, as upstream's does.
* A question is graded by its letter. The reference is the text of that option.

MemDaily, its Chinese predecessor, has the shape of the third view with `question_list` for `QA`,
one list per file, and category and topic in the file's name. It can be read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Item,
    Scenario,
    StoryTime,
    Truth,
    Turn,
    compute_story_date,
)
from recall_bench.core.untrusted_json import (
    decode_untrusted_json,
    read_regular_file,
    refuse_deep_nesting,
)
from recall_bench.features.datasets.loading import (
    build_dialogue,
    list_json_files,
    load_file_by_file,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of the first session of a trajectory without times."""

_View = Literal["FirstAgent", "ThirdAgent"]
_OTHER: dict[_View, str] = {"FirstAgent": "membench-third", "ThirdAgent": "membench-first"}

_TELLERS = {
    "lowlevel_rec": ("assistant",),
    "RecMultiSession": ("assistant",),
    "highlevel_rec": ("user", "assistant"),
}
"""The speakers of the answer, by category; the user in all others.

The first two ask for recommendations. The third asks for what the user likes, who accepted one
recommendation and named another thing.
"""

_UNOFFERED = "[ERRORC]"
"""Upstream's text for missing options."""

_TIME = re.compile(
    r"'?(\d{4})[-年](\d{1,2})[-月](\d{1,2})日?(?: 周\w)?"
    r"(?: (\d{1,2}):(\d\d)(?::\d\d)?)?'?(?: \w+)?"
)
_CLOSING = re.compile(r"\(place: [^()]*; time:? ?('\d{4}[^()]*)\)\s*\Z")
"""Place and time in the text itself, in both of upstream's spellings."""
_MEMDAILY = re.compile(r"\d+_(\w+)_([a-z]+)\Z")


class _MemBenchStep(msgspec.Struct):
    """The messages of a step; its labels `rel`, `attr` and `value` are not read."""

    message: str | None = None
    user: str | None = None
    user_message: str | None = None
    assistant: str | None = None
    assistant_message: str | None = None
    agent: str | None = None
    time: str | None = None
    place: str | None = None


class _MemBenchQuestion(msgspec.Struct):
    question: str
    ground_truth: str
    choices: dict[str, str | list[str] | int | float] | str
    target_step_id: list[int | Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)]]
    time: str | None = None


class _Trajectory(msgspec.Struct):
    tid: int | str
    message_list: list[_MemBenchStep | str | list[_MemBenchStep | str]]
    asked: _MemBenchQuestion | None = msgspec.field(name="QA", default=None)
    question_list: list[_MemBenchQuestion] = []

    @property
    def questions(self) -> list[_MemBenchQuestion]:
        """All questions, including those without options."""
        return self.question_list if self.asked is None else [self.asked, *self.question_list]


class _MemBenchRow(NamedTuple):
    """One trajectory of a file."""

    source: str
    """Its category, and its topic if it has one."""
    number: int
    """Its number within the topic, from 1."""
    content: msgspec.Raw

    @property
    def category(self) -> str:
        return self.source.partition("/")[0]


class _StepPlace(NamedTuple):
    """The session, day and turns of a step."""

    session: int
    """Upstream's number, from 0."""
    day: int
    turns: range


class _MemBenchHistory(NamedTuple):
    """The history of one trajectory, and the places of its steps."""

    episodes: tuple[Episode, ...]
    places: list[_StepPlace]


_Content = dict[str, list[msgspec.Raw] | dict[str, list[msgspec.Raw]]] | list[msgspec.Raw]


def load_first(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read one file of the first view or the folder of them: a scenario for each trajectory."""
    return _load("FirstAgent", data, layers)


def load_third(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read one file of the third view or the folder of them: a scenario for each trajectory."""
    return _load("ThirdAgent", data, layers)


def _load(view: _View, data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    refuse_corrections("membench", layers)

    def build(path: Path, row: _MemBenchRow) -> Scenario:
        try:
            return _build_scenario(view, row)
        except ValueError as error:
            where = f"{path}, {row.source}, trajectory {row.number}"
            raise Malformed(where, str(error)) from error

    files = list_json_files(data, f"MemBench's {view} folder", (f"MemData/{view}", view))
    return load_file_by_file(files, _read, build)


def _read(path: Path) -> list[_MemBenchRow]:
    try:
        content = read_regular_file(path)
        with refuse_deep_nesting():
            topics: _Content = msgspec.json.decode(content, type=_Content)
        is_suspect = _UNOFFERED.encode() in content
        return [
            _MemBenchRow(source, number, row)
            for source, rows in _list_topics(path.stem, topics)
            for number, row in enumerate(rows, start=1)
            if not (is_suspect and _is_without_options(row))
        ]
    except (OSError, ValueError) as error:
        raise Malformed(str(path), f"is not as MemBench has it ({error})") from error


def _list_topics(stem: str, content: _Content) -> Iterator[tuple[str, list[msgspec.Raw]]]:
    if isinstance(content, list):
        named = _MEMDAILY.match(stem)
        yield f"{named[1]}/{named[2]}" if named else stem, content
        return
    for name, inside in content.items():
        if isinstance(inside, list):
            yield f"{stem}/{name}", inside
        else:
            yield from ((f"{name}/{topic}", rows) for topic, rows in inside.items())


def _is_without_options(row: msgspec.Raw) -> bool:
    """Whether the erratum `no-options` concerns all its questions."""
    choices = [question.choices for question in decode_untrusted_json(row, _Trajectory).questions]
    return bool(choices) and all(one == _UNOFFERED for one in choices)


def _build_scenario(view: _View, row: _MemBenchRow) -> Scenario:
    trajectory = decode_untrusted_json(row.content, _Trajectory)
    questions = [question for question in trajectory.questions if question.choices != _UNOFFERED]
    if not questions:
        raise ValueError("has no question")
    past = _build_history(view, trajectory)
    return Scenario(
        # The id is opaque to systems: the category would reveal the question.
        id=sha256(f"membench\0{view}/{row.source}/{row.number}".encode()).hexdigest()[:16],
        epoch=past.episodes[0].at.date(),
        episodes=past.episodes,
        items=tuple(
            Item(
                id=f"q{number}",
                text=raw_question.question,
                truth=_build_truth(
                    row.category, f"{view}/{row.source}/{trajectory.tid}", raw_question, past
                ),
                known_from=len(past.episodes),
                asked_at=None if raw_question.time is None else _parse_moment(raw_question.time),
                choices=tuple(
                    f"({letter}) {text}" for letter, text in _read_options(raw_question).items()
                ),
            )
            for number, raw_question in enumerate(questions, start=1)
        ),
    )


def _build_history(view: _View, trajectory: _Trajectory) -> _MemBenchHistory:
    """Build the history with sessions in chronological order, which the file need not have."""
    sessions = _read_sessions(trajectory)
    times = _read_times(sessions)
    episodes: list[Episode] = []
    places: list[_StepPlace] = []
    for number in sorted(range(len(sessions)), key=times.__getitem__):
        day = len(episodes) + 1
        spoken = [_build_turns(view, step) for step in sessions[number]]
        ends = accumulate(map(len, spoken))
        places += [
            _StepPlace(number, day, range(end - len(step), end))
            for step, end in zip(spoken, ends, strict=True)
        ]
        turns = tuple(turn for step in spoken for turn in step)
        episodes.append(build_dialogue(f"session-{day}", day=day, at=times[number], turns=turns))
    places.sort(key=lambda place: place.session)
    return _MemBenchHistory(tuple(episodes), places)


def _read_sessions(trajectory: _Trajectory) -> list[list[_MemBenchStep]]:
    listed = [one for one in trajectory.message_list if isinstance(one, list)]
    loose = [one for one in trajectory.message_list if not isinstance(one, list)]
    if listed and loose:
        raise ValueError("message_list holds sessions and single messages")
    sessions = listed or [loose]
    if not all(sessions):
        raise ValueError(f"session {sessions.index([]) + 1} holds no message")
    return [
        [_MemBenchStep(message=step) if isinstance(step, str) else step for step in session]
        for session in sessions
    ]


def _read_times(sessions: list[list[_MemBenchStep]]) -> list[StoryTime]:
    stated = [[time for step in session if (time := _read_time(step))] for session in sessions]
    if not any(stated):
        return [compute_story_date(EPOCH, day) for day, _ in enumerate(sessions, start=1)]
    if not all(stated):
        raise ValueError(f"session {stated.index([]) + 1} has no time, though others have")
    return [times[0] for times in stated]


def _read_time(step: _MemBenchStep) -> StoryTime | None:
    if step.time is not None:
        return _parse_moment(step.time)
    match = _CLOSING.search(step.message or step.user or "")
    return _parse_moment(match[1]) if match else None


def _parse_moment(text: str) -> StoryTime:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time as MemBench writes it")
    year, month, day, hour, minute = (int(part) for part in match.groups(default="0"))
    return datetime(year, month, day, hour, minute)  # noqa: DTZ001


def _build_turns(view: _View, step: _MemBenchStep) -> list[Turn]:
    pair = {
        "user": step.user or step.user_message,
        "assistant": step.assistant or step.assistant_message or step.agent,
    }
    messages = pair if view == "FirstAgent" else {"user": step.message}
    facts = [f"{k}: {v}" for k, v in (("place", step.place), ("time", step.time)) if v]
    closing = f" ({'; '.join(facts)})" if facts else ""
    turns = [Turn(speaker=who, text=f"{text}{closing}") for who, text in messages.items() if text]
    if not turns:
        foreign = f"is not of this view; try --dataset {_OTHER[view]}"
        says = step.message or any(pair.values())
        raise ValueError(foreign if says else "has an empty message")
    return turns


def _read_options(asked: _MemBenchQuestion) -> dict[str, str]:
    if isinstance(asked.choices, str):
        raise ValueError(f"choices are {asked.choices!r}, not options by letter")  # noqa: TRY004
    return {
        letter: "; ".join(option) if isinstance(option, list) else str(option)
        for letter, option in sorted(asked.choices.items())
    }


def _build_truth(
    category: str, source: str, asked: _MemBenchQuestion, past: _MemBenchHistory
) -> Truth:
    letter = asked.ground_truth.strip()
    options = _read_options(asked)
    if letter not in options:
        raise ValueError(f"ground_truth {letter!r} is not one of the options {', '.join(options)}")
    return Truth(
        reference=options[letter],
        choice=letter,
        category=category,
        evidence=tuple(dict.fromkeys(_find_evidence(category, asked, past))),
        source=source,
    )


def _find_evidence(
    category: str, asked: _MemBenchQuestion, past: _MemBenchHistory
) -> Iterator[Evidence]:
    count = len(past.places)
    for target in asked.target_step_id:
        step, *session = target if isinstance(target, list) else [target]
        if step == count:
            continue  # the erratum `one-past-the-end`
        if not 0 <= step < count:
            raise ValueError(f"target_step_id {target} names no message; there are {count}")
        place = past.places[step]
        if session and session != [place.session]:
            raise ValueError(f"target_step_id {target} names a message of another session")
        turns = past.episodes[place.day - 1].turns
        tellers = _TELLERS.get(category, ("user",))
        for turn in [t for t in place.turns if turns[t].speaker in tellers] or place.turns:
            yield Evidence(day=place.day, turn=turn, speaker=turns[turn].speaker)
