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
def heatmap_command(source: Path, output: tuple[Path, ...]) -> None:
    """Draw the heatmap of SOURCE: a run folder, a result.json or a progress.jsonl."""
    from recall_bench.library import draw_heatmap

    folder = source if source.is_dir() else source.parent
    for path in output or (folder / "heatmap.png", folder / "heatmap.svg"):
        draw_heatmap(source, path)
        click.echo(str(path))
