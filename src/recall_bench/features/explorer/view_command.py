"""The command `view`: the runs of a folder in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.options import PATH, option
from recall_bench.core.settings import RUNS

if TYPE_CHECKING:
    from recall_bench.features.explorer.explorer_views import ExplorerViews


@click.command("view")
@click.argument("folder", type=PATH, default=RUNS)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port [any free one]."
)
@option("--data", type=PATH, help="Folder that holds the personas [those of the package].")
@option("--export", type=PATH, help="Write the same as files into this folder, and serve nothing.")
@click.option("--open/--no-open", "is_opened", default=True, help="Open the browser.")
def view_command(
    folder: Path, port: int, data: Path | None, export: Path | None, *, is_opened: bool
) -> None:
    """Explore the runs below FOLDER [recall-runs] in the browser: compare them, label answers.

    The address holds a token and works on this machine only. The command writes labels.jsonl into
    a run when you label its answers.
    """
    from recall_bench.core.user_code import require_libraries
    from recall_bench.features.explorer.explorer_views import ExplorerViews
    from recall_bench.features.explorer.run_catalogue import RunCatalogue

    views = ExplorerViews(RunCatalogue(folder), data)
    if export is not None:
        from recall_bench.features.explorer.explorer_files import export_explorer

        written = export_explorer(views, folder.resolve().name, export)
        for path in written.files:
            click.echo(str(path))
        for note in written.notes:
            click.echo(f"note: {note}", err=True)
        return
    require_libraries("the explorer", "view", "starlette", "uvicorn")
    import anyio

    anyio.run(_serve_until_signal, views, str(folder), port, is_opened)


async def _serve_until_signal(
    views: "ExplorerViews", title: str, port: int, is_opened: bool
) -> None:
    import signal
    import webbrowser

    import anyio

    from recall_bench.core.runtime import cancel_on_signals
    from recall_bench.features.explorer.explorer_server import serve_explorer

    def announce(address: str) -> None:
        click.echo(f"exploring {title} at {address}", err=True)
        click.echo("Press Ctrl+C to stop", err=True)
        if is_opened:
            webbrowser.open(address)

    signals = (signal.SIGINT, signal.SIGTERM)
    with anyio.CancelScope() as scope, cancel_on_signals(scope, signals):
        await serve_explorer(views, title, port=port, ready=announce)
