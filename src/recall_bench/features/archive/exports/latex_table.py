"""Several runs as a table for a paper: scores with intervals, and groups of equal rank."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.features.archive.exports.run_tables import ExportedRun
from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA
from recall_bench.reporting.formats import OF_100, format_number
from recall_bench.reporting.groups import name_histories
from recall_bench.reporting.run_comparison import require_comparable
from recall_bench.reporting.run_report import compare_all_pairs

FILE = "results.tex"
_MAX_CATEGORIES = 8
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def write_latex(runs: Sequence[ExportedRun], into: Path) -> list[Path]:
    """Write results.tex: one row a run, best first. UsageError unless the runs are comparable."""
    if len(runs) > 1:
        require_comparable([run.folder for run in runs], [run.table for run in runs])
    replace_file(into / FILE, "\n".join(_render_table(runs)).encode())
    return [into / FILE]


def rank_runs(runs: Sequence[ExportedRun]) -> list[int]:
    """For each run, one more than the number of runs that are significantly better."""
    p_values = compare_all_pairs([run.table for run in runs])
    means = [_require_mean(run).value for run in runs]

    def is_better(one: int, other: int) -> bool:
        p_value = p_values.get((min(one, other), max(one, other)), 1.0)
        return means[one] > means[other] and p_value <= ALPHA

    places = range(len(runs))
    return [1 + sum(is_better(other, one) for other in places) for one in places]


def escape_latex(text: str) -> str:
    """The text with the characters escaped that LaTeX reads as commands."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text if sign.isprintable())


def _require_mean(run: ExportedRun) -> Estimate:
    overall = run.means.estimate_overall()
    if overall is None:
        raise UsageError(f"{run.folder.path}: none of its trials has a score; leave it out")
    return overall


def _render_table(runs: Sequence[ExportedRun]) -> Iterator[str]:
    ranks = rank_runs(runs)
    order = sorted(range(len(runs)), key=lambda place: -_require_mean(runs[place]).value)
    names = _list_categories(runs)
    yield r"% Needs \usepackage{booktabs}."
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\begin{{tabular}}{{lcr{'r' * len(names)}}}"
    yield r"\toprule"
    heads = ("System", "Rank", "Score", *(escape_latex(name) for name in names))
    yield rf"{' & '.join(heads)} \\"
    yield r"\midrule"
    for place in order:
        run = runs[place]
        means = {row.name: row.total for row in run.means.build_heatmap().categories}
        system = run.folder.plan.system
        cells = (
            escape_latex(f"{system.name} {system.version}"),
            str(ranks[place]),
            _format_mean(_require_mean(run)),
            *(_format_mean(means.get(name)) for name in names),
        )
        yield rf"{' & '.join(cells)} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield rf"\caption{{{_describe(runs)}}}"
    yield r"\label{tab:recall-bench}"
    yield r"\end{table}"
    yield ""


def _list_categories(runs: Sequence[ExportedRun]) -> list[str]:
    """The categories that all runs have, if they fit on a page."""
    rows = runs[0].means.build_heatmap().categories
    names = [row.name for row in rows if row.total is not None]
    return names if len(names) <= _MAX_CATEGORIES else []


def _format_mean(found: Estimate | None) -> str:
    if found is None:
        return "--"
    value = format_number(found.value * OF_100, 1)
    if found.low is None or found.high is None:
        return value
    low, high = (format_number(end * OF_100, 1) for end in (found.low, found.high))
    return rf"{value} {{\scriptsize [{low}, {high}]}}"


def _describe(runs: Sequence[ExportedRun]) -> str:
    first, plan = runs[0], runs[0].folder.plan
    overall = _require_mean(first)
    named = first.describe()
    score = "Points" if first.table.scale is None else first.table.scale.label
    unit = name_histories(plan)
    over = f"{unit}s" if overall.personas >= ENOUGH_PERSONAS else "questions"
    words = (
        f"{score} of 100 on {named['dataset']}"
        + (f" by {named['protocol']}" if named["protocol"] else "")
        + f" ({overall.questions:,} questions, {overall.personas:,} {unit}s), with 95 % intervals "
        f"by bootstrap over {over}."
    )
    if len(runs) > 1:
        words += (
            " Rank: one more than the number of systems that are significantly better (paired by "
            "question, Holm-adjusted p at most 0.05); systems of one rank do not differ "
            "significantly."
        )
    return escape_latex(words)
