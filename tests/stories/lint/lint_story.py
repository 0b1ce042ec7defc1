"""A lock-keeper's log on disk: as many days and questions as a test needs, sound unless told."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from zlib import crc32

from recall_bench.stories.lint.lint_corpus import LintFinding
from recall_bench.stories.lint.lint_report import choose_lints, lint_story

ARCS = "arcs-20d.yaml"
SESSIONS: tuple[Mapping[str, object], ...] = (
    {"id": "principal", "kind": "1to1", "participants": ["Ines Cole"]},
    {"id": "boats", "kind": "group", "participants": ["Ines Cole", "Hob Tarn"]},
    {"id": "audit", "kind": "group", "participants": ["Ines Cole", "Vera Sand"], "isolated": True},
)

_PERSONA = {
    "id": "lock",
    "name": "Sluice",
    "role": "AI aide to a lock-keeper",
    "domain": "Inland waterways",
    "team_size": 3,
    "profile": "Keeps the log of the lock.",
    "communication_style": "Plain.",
}
_ARC = {
    "id": "gates",
    "type": "project",
    "title": "New gates",
    "description": "Before the winter.",
    "startDay": 1,
    "endDay": 20,
    "primarySession": "principal",
}

Question = Mapping[str, object]


def question(text: str, answer: str, *days: int, **more: object) -> Question:
    """A question with everything it needs; its id follows from the others."""
    return {
        "id": f"lock-{crc32(f'{text} {answer} {days}'.encode()):08x}",
        "question": text,
        "answer": answer,
        "category": "factual-recall",
        "difficulty": "easy",
        "relevant_days": list(days),
        **more,
    }


def secret(text: str, answer: str, *days: int, **more: object) -> Question:
    """A question from the boats for something of the audit's."""
    return question(
        text,
        answer,
        *days,
        **{
            "category": "information-boundary",
            "query_session": "boats",
            "forbidden_sessions": ["audit"],
            "expected_disclosure": "refuse",
            **more,
        },
    )


def correction(**fields: object) -> Mapping[str, object]:
    """An arc that corrects a depth on day 10."""
    return {
        **_ARC,
        "id": "depth",
        "type": "correction",
        "title": "Depth over the sill",
        "wrongDay": 2,
        "correctedDay": 10,
        "wrongBelief": "The sill carries 2.4 m",
        "correctedBelief": "The sill carries 2.1 m",
        **fields,
    }


def write(
    data: Path,
    days: Mapping[int, str],
    questions: Sequence[Question] = (),
    *,
    sessions: Sequence[Mapping[str, object]] = SESSIONS,
    arcs: Sequence[Mapping[str, object]] = (),
) -> Path:
    """The lock's folder; a day without a session heading of its own is the principal's."""
    folder = data / "lock"
    (folder / "memories-20d").mkdir(parents=True)
    (folder / "qa-20d").mkdir()
    _write(folder / "persona.yaml", {**_PERSONA, "sessions": list(sessions)})
    story = {"epoch": "2025-03-03", "gaps": True, "arcs": [_ARC, *arcs]}
    _write(folder / ARCS, story)
    _write(folder / "qa-20d" / "questions.yaml", [*questions])
    for day, text in days.items():
        headed = text if "# session:" in text else f"# session: principal\n\n### Log\n{text}"
        path = folder / "memories-20d" / f"day-{day:04}.md"
        path.write_text(f"---\ntype: daily\n---\n\n{headed}\n", encoding="utf-8")
    return folder


def found(folder: Path, code: str) -> tuple[LintFinding, ...]:
    """What one lint finds in the lock."""
    return lint_story(folder, arcs=ARCS, lints=choose_lints([code])).findings


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
