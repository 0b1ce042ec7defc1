"""A persona that notes the code of one locker a day, and is asked for every one."""

from pathlib import Path

from recall_bench.features.doctor.story import make_marker

NAME = "lockers"


def write_lockers(data: Path, days: int) -> Path:
    """Each day one fact on one line, which nothing else tells."""
    folder = data / NAME
    logs, asked = folder / f"memories-{days}d", folder / f"qa-{days}d"
    logs.mkdir(parents=True)
    asked.mkdir()
    (folder / "persona.yaml").write_text(
        f"id: {NAME}\nname: Moss\nrole: caretaker\ndomain: a swimming pool\nteam_size: 1\n"
        "profile: Hands out lockers.\ncommunication_style: Short.\n"
    )
    (folder / f"arcs-{days}d.yaml").write_text(
        'epoch: "2025-04-01"\narcs:\n  - id: codes\n    type: project\n    title: Codes\n'
        f"    description: A code a day.\n    startDay: 1\n    endDay: {days}\n"
        "    primarySession: principal\n"
    )
    for day in range(1, days + 1):
        (logs / f"day-{day:04}.md").write_text(
            "---\ntype: daily\n---\n\n# session: principal\n\n"
            f"The code of locker {_number(day)} is {_code(day)}.\n"
        )
    (asked / "questions.yaml").write_text("".join(_question(day) for day in range(1, days + 1)))
    return folder


def _number(day: int) -> int:
    return 1000 + 7 * day


def _code(day: int) -> str:
    return make_marker(1, f"locker\0{day}")


def _question(day: int) -> str:
    return (
        f"- id: {NAME}-q{day:03}\n"
        f"  question: What is the code of locker {_number(day)}?\n"
        f"  answer: {_code(day)}.\n"
        f"  atoms: [{_code(day)}]\n"
        "  category: factual-recall\n"
        "  difficulty: easy\n"
        f"  relevant_days: [{day}]\n"
    )
