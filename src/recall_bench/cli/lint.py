"""The command `lint`: problems of a dataset."""

from pathlib import Path

import click

from recall_bench.cli.console import MultiValueCommand, format_json
from recall_bench.cli.options import add_json_option, setting_options
from recall_bench.core.errors import DataError
from recall_bench.stories.lint.lint_corpus import Severity


@click.command("lint", cls=MultiValueCommand)
@setting_options("data", "personas", "arcs", personas="Personas to check")
@click.option(
    "--severity",
    type=click.Choice([str(severity) for severity in Severity]),
    default=str(Severity.NOTE),
    help="Lowest severity to report [note].",
)
@click.option("--only", multiple=True, metavar="CODE", help="Run only these lints.")
@click.option("--skip", multiple=True, metavar="CODE", help="Do not run these lints.")
@click.option("--all", "everything", is_flag=True, help="List every finding [5 per lint].")
@add_json_option("Print all findings as JSON.")
def lint_command(
    *,
    data: Path | None,
    personas: tuple[str, ...],
    arcs: str | None,
    severity: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> int:
    """Check personas, their days, their questions and their answers.

    Exits with 3 if there are errors.
    """
    from recall_bench.core.plain_text import format_quantity
    from recall_bench.core.settings import Settings
    from recall_bench.stories.lint.lint_report import (
        choose_lints,
        lint_story,
        render_lint_report,
    )
    from recall_bench.stories.story_folders import find_story, resolve_personas

    lints = choose_lints(only, skip)
    folders = resolve_personas(Settings(data=data, personas=personas, arcs=arcs))
    stories = [find_story(folder, arcs) for folder in folders.values()]
    reports = []
    for story in stories:
        report = lint_story(story.folder, arcs=story.arcs, lints=lints).filter_severity(
            Severity(severity)
        )
        reports.append(report)
        if not as_json:
            click.echo(render_lint_report(report, everything=everything) + "\n")
    if as_json:
        click.echo(format_json(reports))
    errors = sum(report.count(Severity.ERROR) for report in reports)
    if errors:
        found_errors = format_quantity(errors, "error")
        click.echo(f"error: found {found_errors}; correct the files named above", err=True)
    return DataError.exit_code if errors else 0
