"""The story that questions are held against, read once, and a question read into it."""

from collections.abc import Mapping

from recall_bench.datasets.days import list_days
from recall_bench.datasets.fields import raise_problems
from recall_bench.datasets.identity import read_persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.persona import Inspection
from recall_bench.datasets.questions import parse_questions
from recall_bench.datasets.story import read_story
from recall_bench.errors import BenchError, UsageError
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.day import DayLog
from recall_bench.yaml12 import Document, Key

_NAME = "question"
_MAX_SHOWN = 60


def read_corpus(layout: Layout) -> LintCorpus:
    """The story without questions; UsageError or DataError if it is not whole."""
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    if not layout.memories.is_dir():
        raise UsageError(
            f"{layout.name(layout.memories)}, the days of {layout.arcs}, does not exist; "
            "`recall-bench generate` writes them"
        )
    problems: list[BenchError] = []
    files = list_days(layout, problems, [])
    raise_problems(problems)
    return LintCorpus(
        layout=layout,
        inspection=Inspection(),
        persona=persona,
        story=story,
        arc_lines={},
        days=tuple(DayLog(file.day, file.name, file.read()) for file in files),
        questions=(),
        is_indexed_whole=True,
    )


def parse_entry(corpus: LintCorpus, entry: Mapping[str, object]) -> LintQuestion | tuple[str, ...]:
    """The question an entry holds, or what is wrong with its fields, a sentence each."""
    named = {"id": _make_stand_in(entry), **{str(key): value for key, value in entry.items()}}
    problems: list[BenchError] = []
    items = parse_questions(
        _UnfiledDocument([named]),
        days=corpus.by_number,
        sessions=(),
        problems=problems,
        warnings=[],
    )
    if not items:
        return tuple(str(problem).removeprefix(f"{_NAME}: ") for problem in problems)
    return LintQuestion(items[0], None, named)


class _UnfiledDocument(Document):
    """Content that stands in no file, and so on no line."""

    def __init__(self, content: object) -> None:
        self.name = _NAME
        self.content = content

    def find_line(self, *keys: Key) -> int:  # noqa: ARG002
        """All of it is in one place."""
        return 1

    def describe_place(self, *keys: Key) -> str:  # noqa: ARG002
        """What messages open with."""
        return self.name


def _make_stand_in(entry: Mapping[str, object]) -> str:
    """What messages call a question that has no id yet: its opening words."""
    text = " ".join(str(entry.get("question", "")).split())
    return f"“{text[:_MAX_SHOWN]}…”" if len(text) > _MAX_SHOWN else f"“{text}”"
