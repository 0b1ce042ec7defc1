"""A run as a dataset folder of the Hugging Face Hub: Parquet files and a card."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.plain_text import escape_markdown, make_table, render_markdown
from recall_bench.core.user_code import require_libraries
from recall_bench.features.archive.exports.run_tables import TABLES, ExportedRun, write_parquet
from recall_bench.reporting.formats import format_card, format_of_100

CARD = "README.md"


def write_hub_folder(runs: Sequence[ExportedRun], into: Path) -> list[Path]:
    """Write data/*.parquet and README.md, with a configuration for each table."""
    require_libraries("--to huggingface", "parquet", "pyarrow", "pyarrow.parquet")
    files = write_parquet(runs, into / "data")
    replace_file(into / CARD, "\n".join(render_card(runs)).encode())
    return [into / CARD, *files]


def render_card(runs: Sequence[ExportedRun]) -> Iterator[str]:
    """The lines of the card: its header, a table of the runs, and what to check first."""
    yield "---"
    yield "tags: [recall-bench, agent-memory, evaluation]"
    yield "configs:"
    for number, name in enumerate(TABLES):
        yield f"- config_name: {name}"
        yield f"  data_files: data/{name}.parquet"
        if number == 0:
            yield "  default: true"
    yield "---"
    yield ""
    yield "# Results of Recall Bench"
    yield ""
    yield _tabulate_runs(runs)
    yield ""
    yield "`trials` has a row for each question that was asked, `cells` the mean of each category"
    yield "and checkpoint with its 95 % interval, `costs` time, tokens and money."
    yield ""
    yield "## Before you publish it"
    yield ""
    yield "`trials` holds questions, references and answers. They are under the licence of the"
    yield "dataset they come from; name it in the header of this card (`license:`), and check that"
    yield "it allows publication:"
    yield ""
    for name in dict.fromkeys(str(run.describe()["dataset"]) for run in runs):
        yield f"* {escape_markdown(name)}"
    yield ""


def _tabulate_runs(runs: Sequence[ExportedRun]) -> str:
    heads = ("run", "system", "dataset", "score", "of 100 (95 %)", "questions", "judge")
    rows = []
    for run in runs:
        named, overall = run.describe(), run.means.estimate_overall()
        cells = (
            *(named["run"], format_card(run.folder.plan.system), named["dataset"]),
            *(run.score_name, format_of_100(overall, 1).replace(" of 100", "")),
            *("0" if overall is None else overall.questions, named["judge"]),
        )
        rows.append([str(cell) for cell in cells])
    return render_markdown(make_table(heads, rows, text=range(len(heads))))
