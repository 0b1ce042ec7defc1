"""What the built-in systems and two constant answers score on a dataset."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.question import CATEGORIES
from recall_bench.core.ranges import FULL, NAMED_RANGES
from recall_bench.core.record import Record
from recall_bench.errors import DataError
from recall_bench.library import run
from recall_bench.portrait.rendering import CATEGORY, NOTHING
from recall_bench.settings import Settings

SYSTEMS = ("none", "random", "recency", "bm25", "vector", "hybrid", "oracle")

CONSTANTS = {"No": "No.", "refusal": "I'm not able to share that; it is confidential."}
"""What is answered whatever the question, under the name of its column."""

_CELL_WIDTH = 8


class ConstantAdapter:
    """An adapter that remembers nothing and always says the same."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Take no notice."""

    def query(self, question: str, context: object) -> str:  # noqa: ARG002 - part of the protocol
        """The same to everybody."""
        return self._reply


class BaselineScore(Record, frozen=True, kw_only=True):
    """Means of six of one system."""

    system: str
    categories: dict[str, float | None]
    """At the last checkpoint; None where nothing was asked."""
    checkpoints: dict[str, float | None]
    """Over all categories."""


def score_baselines(
    folder: Path, arcs: str, last_day: int, telling: Callable[[str], None]
) -> tuple[BaselineScore, ...]:
    """One score a system, all asked the same at the usual checkpoints, groups enabled."""
    ranges = tuple(label for label, days in NAMED_RANGES.items() if days < last_day or days == FULL)
    place = folder.resolve()
    story = Settings(
        data=place.parent,
        personas=(place.name,),
        arcs=arcs,
        ranges=ranges,
        groups_enabled=True,
        heatmap_png=False,
        write_question_log=False,
    )
    scores = []
    for name in (*SYSTEMS, *CONSTANTS):
        telling(f"asking {name} about {place.name}")
        scores.append(_score_system(name, story))
    return tuple(scores)


def _score_system(name: str, story: Settings) -> BaselineScore:
    is_constant = name in CONSTANTS
    adapter = ConstantAdapter if is_constant else name
    config = {"reply": CONSTANTS[name]} if is_constant else {}
    with TemporaryDirectory() as scratch:
        finished = run(story, adapter=adapter, config=config, into=Path(scratch, "run"))
        if finished.stopped_by is not None:
            raise finished.stopped_by
        if not finished.is_valid:
            raise DataError(f"{name}: {finished.summary.validity.reason}; its scores mean nothing")
        columns = finished.summary.checkpoints
    last = columns[-1]
    return BaselineScore(
        system=name,
        categories={category: last.get_tally(category).mean for category in CATEGORIES},
        checkpoints={column.checkpoint.label: column.overall.mean for column in columns},
    )


def render_scores(scores: Sequence[BaselineScore]) -> str:
    """Two tables: the categories at the last checkpoint, and the checkpoints."""
    last = list(scores[0].checkpoints)[-1]
    return "\n".join(
        [
            *_render_table(f"mean of 6 at {last}", scores, [score.categories for score in scores]),
            "",
            *_render_table("mean of 6 overall", scores, [score.checkpoints for score in scores]),
        ]
    )


def _render_table(
    title: str, scores: Sequence[BaselineScore], columns: Sequence[dict[str, float | None]]
) -> Iterator[str]:
    yield f"{title:{CATEGORY - 1}}" + "".join(f"{score.system:>{_CELL_WIDTH}}" for score in scores)
    for row in columns[0]:
        means = (column[row] for column in columns)
        cells = (NOTHING if mean is None else f"{mean:.2f}" for mean in means)
        yield f"{row:{CATEGORY - 1}}" + "".join(f"{cell:>{_CELL_WIDTH}}" for cell in cells)
