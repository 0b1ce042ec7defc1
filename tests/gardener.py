"""A persona small enough to hold in the head: a gardener plants something else every day."""

from pathlib import Path
from textwrap import dedent

DAYS = 10


def write_persona(data: Path, name: str = "gardener", days: int = DAYS) -> Path:
    """A gardener plants something else every day, and one question asks about each."""
    folder = data / name
    (folder / "memories-10d").mkdir(parents=True)
    (folder / "qa-10d").mkdir()
    (folder / "persona.yaml").write_text(
        f"id: {name}\nname: Moss\nrole: garden aide\ndomain: horticulture\nteam_size: 2\n"
        "profile: Keeps the planting diary.\ncommunication_style: Short.\n"
    )
    (folder / "arcs-10d.yaml").write_text(
        dedent("""\
        epoch: "2025-04-01"
        arcs:
          - id: planting
            type: project
            title: Planting
            description: A bed a day.
            startDay: 1
            endDay: 10
            primarySession: principal
        """)
    )
    for day in range(1, days + 1):
        write_day(folder, day)
    questions = "".join(question(name, day) for day in range(1, days + 1))
    (folder / "qa-10d" / "questions.yaml").write_text(questions)
    return folder


PLANTS = "leeks chard kale beets peas fennel squash beans dill sorrel".split()


def write_day(folder: Path, day: int) -> None:
    """One day's log."""
    (folder / "memories-10d" / f"day-{day:04}.md").write_text(
        "---\ntype: daily\n---\n\n# session: principal\n\n### The beds\n"
        f"I planted {PLANTS[day - 1]} in bed number {day * 7}.\n"
    )


def question(persona: str, day: int) -> str:
    """The question about one day's planting, as YAML."""
    return (
        f"- id: {persona}-q{day:03}\n"
        f"  question: Which bed took the {PLANTS[day - 1]}?\n"
        f"  answer: Bed {day * 7}.\n"
        "  category: factual-recall\n"
        "  difficulty: easy\n"
        f"  relevant_days: [{day}]\n"
    )


ADAPTER = '''
class Adapter:
    """Remembers every line and answers with the one that shares most words."""

    name = "overlap"

    def setup(self):
        self.lines = []

    def ingest_day(self, day, content, metadata):
        self.lines += content.splitlines()

    def finalize_ingestion(self):
        pass

    def query(self, question):
        wanted = set(question.lower().strip("?").split())
        return max(self.lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))

    def teardown(self):
        pass
'''
