"""The commands `report` and `report heatmap`: a run as a page, pictures, text and figures."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import PATH, SCORE, add_json_option, option
from recall_bench.core.runtime import pause_collector

if TYPE_CHECKING:
    from recall_bench.engine.runs.run_folder import RunFolder


@click.command("report")
@click.argument("run", type=PATH)
@option("--into", type=PATH, help="Folder for the report [report, in the run folder].")
@click.option(
    "--beside",
    type=PATH,
    multiple=True,
    metavar="RUN",
    help="Another run to compare score and costs with. Can be repeated.",
)
@option("--canaries", type=PATH, help="File of canaries; see `recall-bench canaries`.")
@option("--data", type=PATH, help="Folder that holds the personas [those of the package].")
@SCORE
@click.option(
    "--agreement",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="What `judge-lab agreement --json` printed of a judge of the run, to correct the share of "
    "right answers by. Can be repeated [labels.jsonl of RUN].",
)
@click.option("--pictures", is_flag=True, help="Write the charts and heatmaps as PNG and SVG too.")
@add_json_option("Print the figures as JSON.")
def report_command(
    run: Path,
    into: Path | None,
    beside: tuple[Path, ...],
    canaries: Path | None,
    data: Path | None,
    *,
    score: str | None,
    agreement: tuple[Path, ...],
    pictures: bool,
    as_json: bool,
) -> None:
    """Analyse RUN, print the figures and write a page.

    Inventions, leaks, degradation, causes of failures and costs, each with its interval.
    report.html is a single file without external resources.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.core.plain_text import clean_text
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.reporting.publication import publish_report

    with pause_collector():
        folder = RunFolder.open(run)
    if folder.plan.behaviour is not None:
        _report_suite(folder, into, beside, as_json=as_json)
        return
    from recall_bench.reporting.report_text import render_report

    with pause_collector():
        done = publish_report(
            folder,
            into=into,
            beside=beside,
            canaries=canaries,
            data=data,
            pictures=pictures,
            score=score,
            agreements=agreement,
            building=show_build,
        )
    for note in done.notes:
        click.echo(f"note: {clean_text(note)}", err=True)
    if as_json:
        click.echo(format_json(done.report))
        return
    click.echo(f"{render_report(done.report)}\n")
    click.echo(clean_text(f"page: {done.files[0]}"))
    click.echo(clean_text(f"files: {len(done.files)} in {done.files[0].parent}"))


def _report_suite(
    folder: "RunFolder", into: Path | None, beside: tuple[Path, ...], *, as_json: bool
) -> None:
    """Print all figures of a behaviour suite, and write its page."""
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.reporting.publication import choose_report_folder
    from recall_bench.reporting.suites.report_text import render_behaviour
    from recall_bench.reporting.suites.scorecard import build_scorecard, write_scorecard
    from recall_bench.reporting.suites.suite_report import build_behaviour_report

    folders = [folder, *(RunFolder.open(path) for path in beside)]
    report = build_behaviour_report(folder)
    files = write_scorecard(
        build_scorecard(folders),
        choose_report_folder(folder.path, into),
        stories=None if beside else folder,
    )
    click.echo(format_json(report) if as_json else render_behaviour(report, is_verbose=True))
    click.echo(f"page: {files[0]}", err=True)


@click.command("heatmap")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Picture to write: .png, .svg or .pdf; can be repeated [.png and .svg beside the source].",
)
@click.option(
    "--colours",
    type=click.Choice(["standard", "colour-blind"]),
    default="standard",
    show_default=True,
    help="Red, amber and green; or dark blue to yellow, for colour-blind readers.",
)
def heatmap_command(source: Path, output: tuple[Path, ...], colours: str) -> None:
    """Draw the heatmap of SOURCE: a run folder, a result.json or a progress.jsonl.

    Each mean has its 95 % interval and its number of questions, if the cell has room; in an .svg
    the tooltip of a cell shows both, and the number of missing trials.
    """
    from recall_bench.engine.runs.output_paths import refuse_links
    from recall_bench.reporting.heatmap.colours import ColourScale
    from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
    from recall_bench.reporting.heatmap.heatmap_picture import draw_picture

    data = load_heatmap(source)
    folder = source if source.is_dir() else source.parent
    if not output:
        refuse_links(folder)
    paths = output or (folder / "heatmap.png", folder / "heatmap.svg")
    draw_picture(data, *paths, scale=ColourScale(colours))
    for path in paths:
        click.echo(str(path))
