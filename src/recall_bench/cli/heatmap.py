"""`heatmap`: a run's picture, drawn again at any time."""

from pathlib import Path

import click


@click.command("heatmap")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Picture to write, .png, .svg or .pdf; may be repeated [both beside the source].",
)
@click.option(
    "--colours",
    type=click.Choice(["standard", "colour-blind"]),
    default="standard",
    show_default=True,
    help="Red, amber and green; or dark blue to yellow, which every eye can put in order.",
)
def heatmap_command(source: Path, output: tuple[Path, ...], colours: str) -> None:
    """Draw the heatmap of SOURCE: a run folder, a result.json or a progress.jsonl.

    Each mean stands with its 95 % interval and the number of different questions, as far as a
    cell has room; in an .svg pointing at a cell tells both, and how many trials are missing.
    """
    from recall_bench.reporting.heatmap.drawing import Scale, draw_picture
    from recall_bench.reporting.heatmap.sources import load_heatmap

    data = load_heatmap(source)
    folder = source if source.is_dir() else source.parent
    for path in output or (folder / "heatmap.png", folder / "heatmap.svg"):
        draw_picture(data, path, Scale(colours))
        click.echo(str(path))
