"""Judge answers that stand alone: a question, its truth and an answer in one row.

The row's evidence and context are the whole history; without days each is a day of its own. Rows
come as JSON lines.
"""

import lzma
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.core.errors import DataError, JudgeFault, Malformed, UsageError
from recall_bench.core.memory import Answer
from recall_bench.core.record import Record, group_by
from recall_bench.core.runtime import run_to_end
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
)
from recall_bench.core.untrusted_json import (
    UNPACKED_ALWAYS,
    decode_untrusted_line,
    read_regular_file,
)
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Judge, Verdict
from recall_bench.judging.judge_calls import JudgeLimits, JudgeOutcomes, judge_all
from recall_bench.judging.judges import resolve_judge
from recall_bench.stories.persona_story import EPOCH

STDIN = "-"
Text = Annotated[str, Meta(pattern=r"\S")]


class GoldMarks(Record, frozen=True, kw_only=True):
    """The marks that a reader gave."""

    correctness: Annotated[int, Meta(ge=0, le=SCALES["correctness"])]
    completeness: Annotated[int, Meta(ge=0, le=SCALES["completeness"])]
    grounded: Annotated[int, Meta(ge=0, le=SCALES["grounded"])]

    def is_pass(self, mark: str) -> bool:
        """Whether the mark is a pass."""
        return bool(getattr(self, mark) >= PASS[mark])


class AnswerRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """One answer with all that its judge is told; other keys of a line are ignored."""

    question: Text
    reference: Text
    answer: str
    evidence: tuple[Text, ...] = ()
    """What supports the reference, in order of time."""
    evidence_days: tuple[int, ...] = ()
    """The story day of each, where it is known."""
    context: tuple[Text, ...] = ()
    """Other sentences of the same history: they are true, and may be superseded."""
    context_days: tuple[int, ...] = ()
    stale: tuple[Text, ...] = ()
    """Superseded values."""
    withheld: tuple[Text, ...] = ()
    """Values that must not be disclosed to whoever asks."""
    choices: tuple[Text, ...] = ()
    """The options of a multiple-choice question."""
    expects: Expects = Expects.ANSWER
    category: str = "any"
    question_id: str | None = None
    persona: str | None = None
    edition: str | None = None
    kind: str = "any"
    """How the answer was made or fails, in the words of whoever wrote it."""
    writer: str = "any"
    gold: GoldMarks | None = None

    @property
    def history(self) -> str:
        """Identifies the history that the row amounts to."""
        days = map(str, (*self.context_days, *self.evidence_days))
        texts = "\0".join((*self.context, *self.evidence, *days))
        return sha256(texts.encode()).hexdigest()[:16]

    @property
    def scenario(self) -> Scenario:
        """The history that the row amounts to: its context and its evidence, by day."""
        texts = (*self.context, *self.evidence)
        days = (*self.context_days, *self.evidence_days)
        if len(days) != len(texts):
            days = tuple(range(1, len(texts) + 1))
        by_day = group_by(zip(days, texts, strict=True), lambda pair: pair[0])
        episodes = tuple(
            Episode(
                id=f"day-{day}",
                day=day,
                at=datetime.combine(compute_story_date(EPOCH, day), time()),
                text="\n".join(text for _, text in by_day[day]),
            )
            for day in sorted(by_day)
        )
        return Scenario(id=f"row-{self.history}", epoch=EPOCH, episodes=episodes, items=())

    def make_exhibit(self, scenario: Scenario) -> Exhibit:
        """What a judge is shown."""
        days = max(scenario.last_day, 1)
        truth = Truth(
            reference=self.reference,
            category=self.category,
            expects=self.expects,
            stale=self.stale,
            withheld=self.withheld,
            evidence=tuple(
                Evidence(day=episode.day)
                for episode in scenario.episodes
                if any(text in episode.text for text in self.evidence)
            ),
        )
        digest = sha256(f"{self.question}\0{self.reference}".encode()).hexdigest()[:12]
        return Exhibit(
            scenario=scenario.id,
            item=Item(
                id=digest, text=self.question, truth=truth, known_from=1, choices=self.choices
            ),
            answer=Answer(text=self.answer),
            asked_at=scenario.compute_date(days),
            days=days,
            excerpts=scenario.episodes,
        )


def read_answer_rows(path: Path) -> tuple[AnswerRow, ...]:
    """The rows of a file, plain or `.xz`, or of standard input for `-`.

    Malformed names the first bad line.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    try:
        content = sys.stdin.buffer.read() if str(path) == STDIN else read_regular_file(path)
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror})") from error
    if path.suffix == ".xz":
        try:
            with lzma.open(BytesIO(content)) as file:
                content = file.read(UNPACKED_ALWAYS + 1)
        except (lzma.LZMAError, EOFError) as error:
            raise Malformed(name, f"is not a whole xz file ({error}); copy it again") from error
        if len(content) > UNPACKED_ALWAYS:
            raise Malformed(name, f"unpacks to more than {UNPACKED_ALWAYS:,} bytes; split it")
    rows = []
    decoder = msgspec.json.Decoder(AnswerRow)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                rows.append(decode_untrusted_line(decoder, line))
            except msgspec.DecodeError as error:
                raise Malformed(f"{name}, line {number}", str(error)) from error
    if not rows:
        raise Malformed(name, "holds no answer; write one JSON object a line")
    return tuple(rows)


async def judge_rows(
    judge: Judge, rows: Sequence[AnswerRow], *, limits: JudgeLimits | None = None
) -> JudgeOutcomes:
    """A verdict or a fault for every row, in their order, with the row's evidence as the history.

    Raises JudgeGone or BudgetSpent when judging has to stop early.
    """
    scenarios = _build_scenarios(rows)
    for scenario in scenarios.values():
        judge.study(scenario)
    exhibits = [row.make_exhibit(scenarios[row.history]) for row in rows]
    return await judge_all(judge, exhibits, limits)


def judge_answer(target: str, **fields: object) -> Verdict:
    """The verdict of a judge, by its name, on one row; JudgeFault if it gives none."""
    if any(isinstance(fields.get(name), str) for name in ("evidence", "stale")):
        raise UsageError("evidence and superseded are lists of texts; put the text in a list")
    try:
        row = msgspec.convert(fields, AnswerRow)
    except msgspec.ValidationError as error:
        raise UsageError(f"judge: {error}") from error
    (outcome,) = run_to_end(judge_rows, resolve_judge(target), [row]).outcomes
    if isinstance(outcome, JudgeFault):
        raise outcome
    return outcome


def _build_scenarios(rows: Iterable[AnswerRow]) -> dict[str, Scenario]:
    """The history of each row, built once for rows that share it."""
    scenarios: dict[str, Scenario] = {}
    for row in rows:
        if row.history not in scenarios:
            scenarios[row.history] = row.scenario
    return scenarios
