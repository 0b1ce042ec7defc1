"""The command `gate`: pass or fail a run in continuous integration."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import PATH, SCORE, add_json_option, option, select_given
from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.features.comparison.gate.gate_rules import GateRules


@click.command("gate")
@click.argument("run", type=PATH)
@option("--baseline", type=PATH, help="Run folder to compare with [none].")
@option("--rules", "rules_file", type=PATH, metavar="FILE", help="YAML file; flags win over it.")
@option("--min-score", type=float, metavar="POINTS", help="Minimum score, of 100.")
@option(
    "--max-invented", type=float, metavar="PERCENT", help="Maximum of answers that are invented."
)
@option(
    "--max-hallucination",
    type=float,
    metavar="PERCENT",
    help="Maximum of answers that are invented or leak.",
)
@option("--max-leaks", type=int, metavar="N", help="Maximum number of answers that leak.")
@click.option(
    "--min-category",
    multiple=True,
    metavar="NAME=POINTS",
    help="Minimum score of a category, of 100. Can be repeated.",
)
@click.option(
    "--max-figure",
    multiple=True,
    metavar="NAME=LIMIT",
    help="Maximum of a figure of a suite or protocol, in % or ms. Can be repeated.",
)
@click.option(
    "--min-figure",
    multiple=True,
    metavar="NAME=LIMIT",
    help="Minimum of a figure of a suite or protocol. Can be repeated.",
)
@SCORE
@option(
    "--judge",
    metavar="NAME",
    help="Judge of RUN to go by, or every: all of them have to pass it [the first].",
)
@option(
    "--confident/--no-confident",
    help="Require these of the whole interval, not only of the value [no].",
)
@option("--margin", type=float, metavar="POINTS", help="Tolerated loss, of 100 [0].")
@option("--category-margin", type=float, metavar="POINTS", help="In each category [as --margin].")
@option(
    "--hallucination-margin",
    type=float,
    metavar="POINTS",
    help="Tolerated rise of answers that are invented or leak, in % [not checked].",
)
@option(
    "--notice",
    type=float,
    metavar="POINTS",
    help="Loss to detect: warn if there is too little data [5 more than --margin].",
)
@option(
    "--prove/--no-prove",
    help="Fail unless the data prove an overall loss of at most --margin [no].",
)
@option("--junit", type=PATH, metavar="FILE", help="Write JUnit XML.")
@option("--markdown", type=PATH, metavar="FILE", help="Write a summary for a pull request.")
@add_json_option("Print everything as JSON.")
def gate_command(
    run: Path,
    *,
    baseline: Path | None,
    rules_file: Path | None,
    min_category: tuple[str, ...],
    max_figure: tuple[str, ...],
    min_figure: tuple[str, ...],
    junit: Path | None,
    markdown: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Pass or fail RUN by rules, and by its loss against --baseline.

    Exits with 0 if it passed, 11 if it failed, and 12 if that cannot be decided: a run is
    unfinished, the two are not comparable, or a rule's quantity was not measured.
    """
    from recall_bench.core.atomic_file import replace_file
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.features.comparison.gate.gate_output import (
        render_gate,
        render_junit,
        render_markdown_summary,
    )
    from recall_bench.features.comparison.gate.gate_rules import GateRules
    from recall_bench.features.comparison.gate.run_gate import check_run

    files = {"--junit": junit, "--markdown": markdown}
    outputs = {flag: path for flag, path in files.items() if path is not None}
    _refuse_unwritable(outputs)
    named = {
        "min_category": _parse_limits("--min-category", min_category),
        "max_figure": _parse_limits("--max-figure", max_figure),
        "min_figure": _parse_limits("--min-figure", min_figure),
    }
    rules = _read_rules(rules_file, select_given(flags), named)
    if rules_file is not None and baseline is None and rules == GateRules():
        raise UsageError(f"{rules_file}: sets no rule; set for example minScore: 30")
    other = None if baseline is None else RunFolder.open(baseline)
    report = check_run(RunFolder.open(run), other, rules)
    for path, content in (
        (junit, render_junit(report)),
        (markdown, render_markdown_summary(report).encode()),
    ):
        if path is not None:
            replace_file(path, content)
    click.echo(format_json(report) if as_json else render_gate(report))
    return report.verdict.exit_code


def _read_rules(
    path: Path | None, flags: dict[str, Any], named: dict[str, dict[str, float]]
) -> "GateRules":
    from recall_bench.features.comparison.gate.gate_rules import merge_rules, read_rules_file

    layers = [] if path is None else [read_rules_file(path, "--rules")]
    return merge_rules(*layers, flags, named)


def _parse_limits(flag: str, words: tuple[str, ...]) -> dict[str, float]:
    """The limits in the values of a flag such as `--min-category NAME=POINTS`."""
    limits: dict[str, float] = {}
    for word in words:
        name, equals, points = word.rpartition("=")
        try:
            limits[name] = float(points)
        except ValueError:
            name = ""
        if not name:
            problem = "has no name before '=' or no number after it" if equals else "has no '='"
            raise UsageError(f"{flag}: {word[:80]!r} {problem}; write NAME=NUMBER")
    return limits


def _refuse_unwritable(files: dict[str, Path]) -> None:
    """Check the output paths before anything is computed."""
    for flag, path in files.items():
        if not path.parent.is_dir():
            raise UsageError(f"{flag}: there is no folder {path.parent} to write {path.name} to")
        if path.exists() and not path.is_file():
            raise UsageError(f"{flag}: {path} is not a file; name one")
    if len({path.resolve() for path in files.values()}) < len(files):
        raise UsageError(f"{' and '.join(files)} name the same file; give two different files")
