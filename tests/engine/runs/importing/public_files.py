"""Files in the public harness's formats, written from what they are about."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recall_bench.core.scenario import CATEGORIES

START = datetime(2026, 5, 24, 19, 0, tzinfo=UTC)
Row = dict[str, Any]


def stamp(minutes: float) -> str:
    """As JavaScript writes times."""
    moment = START + timedelta(minutes=minutes)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def row(
    name: str = "q1", marks: Sequence[int] = (3, 2, 1), *, answer: str = "Fig.", **more: object
) -> Row:
    """A question result of `result.json`."""
    qa = {
        "id": name,
        "question": f"What of {name}?",
        "answer": f"Reference of {name}.",
        "category": "factual-recall",
        "difficulty": "easy",
        "relevantDays": [1],
        "requiresSynthesis": False,
    }
    score = dict(zip(("correctness", "completeness", "hallucination"), marks, strict=True))
    found: Row = {
        "qa": qa | dict(more.pop("qa", {})),  # type: ignore[call-overload]
        "systemAnswer": answer,
        "score": score | {"reasoning": "So it says."},
        "compositeScore": sum(marks),
        "latencyMs": 1500,
    }
    return found | more


def aggregate(rows: Sequence[Row]) -> Row:
    """The means of some rows, as the public harness stores them."""
    points = [each["compositeScore"] for each in rows]
    made_up = [each["score"].get("hallucination") == 0 for each in rows]

    def category(name: str) -> Row:
        own = [r["compositeScore"] for r in rows if r["qa"]["category"] == name]
        mean = sum(own) / len(own) if own else 0
        return {"category": name, "meanScore": mean, "questionCount": len(own), "scores": own}

    return {
        "questionsEvaluated": len(rows),
        "overallScore": sum(points) / len(points) if points else 0,
        "hallucinationRate": 100 * sum(made_up) / len(rows) if rows else 0,
        "categoryScores": [category(name) for name in CATEGORIES],
        "difficultyScores": {},
    }


def span(days: int) -> Row:
    return {"label": f"{days}d", "days": days}


def part(days: int, rows: Sequence[Row]) -> Row:
    """A range result."""
    return {
        "range": span(days),
        "daysIngested": days,
        **aggregate(rows),
        "questionResults": list(rows),
    }


def result(parts: Mapping[str, Sequence[Row]] | Sequence[Row], **metadata: object) -> Row:
    """A whole `result.json`; of one persona unless it says."""
    personas = parts if isinstance(parts, Mapping) else {"ada": parts}
    labels = {p["range"]["label"]: p["range"] for own in personas.values() for p in own}
    return {
        "timestamp": stamp(0),
        "adapterName": "MemPalace",
        "ranges": list(labels.values()),
        "personas": [
            {"personaId": name, "adapterName": "MemPalace", "rangeResults": list(own)}
            for name, own in personas.items()
        ],
        "heatmap": [],
        "metadata": {
            "durationMs": 3_600_000,
            "groupsEnabled": False,
            "judgeModel": "azure:gpt-5.4-mini",
            **metadata,
        },
    }


def logged(found: Row, at: float, persona: str = "ada", **more: object) -> Row:
    """The same evaluation as a line of the question log."""
    qa = {key: value for key, value in found["qa"].items() if key not in _NOT_LOGGED}
    qa["referenceAnswer"] = found["qa"]["answer"]
    line = {
        "timestamp": stamp(at),
        "personaId": persona,
        "qa": qa,
        "systemAnswer": found["systemAnswer"],
        "score": found["score"],
        "composite": found["compositeScore"],
        "usedAppellate": "primaryScore" in found,
        "memoryContextProvided": True,
        "latencyMs": found["latencyMs"],
    }
    if "primaryScore" in found:
        line["primaryScore"] = found["primaryScore"]
    return line | more


_NOT_LOGGED = {"answer", "requiresSynthesis", "irrelevantAfter"}


def reviewed(found: Row, at: float, persona: str = "ada") -> Row:
    """The same evaluation as a line of the failure log."""
    line = logged(found, at, persona)
    return {
        key: line[key] for key in ("timestamp", "personaId", "qa", "systemAnswer", "latencyMs")
    } | {"primaryScore": found["primaryScore"], "appellateScore": found["score"]}


def header(at: float, days: Iterable[int], **more: object) -> Row:
    return {
        "type": "header",
        "timestamp": stamp(at),
        "adapterName": "MemPalace",
        "ranges": [span(each) for each in days],
        "groupsEnabled": False,
        "judgeModel": "azure:gpt-5.4-mini",
        **more,
    }


def reached(at: float, days: int, rows: Sequence[Row], persona: str = "ada", **more: object) -> Row:
    return {
        "type": "checkpoint",
        "timestamp": stamp(at),
        "personaId": persona,
        "range": span(days),
        "daysIngested": days,
        **aggregate(rows),
        **more,
    }


def summary(at: float) -> Row:
    return {"type": "summary", "timestamp": stamp(at), "durationMs": 1, "totalEvalsRun": 1}


def reconstructed(found: Row) -> Row:
    """What a result looks like that was pieced together from logs."""
    for persona in found["personas"]:
        for each in persona["rangeResults"]:
            for line in each["questionResults"]:
                line["qa"]["referenceAnswer"] = line["qa"].pop("answer")
                line["qa"].pop("requiresSynthesis", None)
                line.pop("primaryScore", None)
    found["metadata"] |= {"durationMs": None, "reconstructed": True, "reconstructedComplete": False}
    return found


def save(path: Path, content: Row | Sequence[Row]) -> Path:
    """Write a document, or lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in content), encoding="utf-8")
    return path
