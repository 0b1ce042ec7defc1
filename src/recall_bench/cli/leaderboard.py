"""The command `leaderboard`: a static site of verified runs, and the replay of a submission."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.command_kinds import AliasOption
from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import CONFIG, DATA, PATH, add_json_option, parse_config

if TYPE_CHECKING:
    from recall_bench.running.replay import Replay

_REFUSED = 3


@click.group("leaderboard")
def leaderboard_command() -> None:
    """Make a leaderboard of verified runs, and repeat parts of a submission."""


@leaderboard_command.command("build")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="BUNDLE|DIR...")
@click.option(
    "-o",
    "--into",
    "out",
    cls=AliasOption,
    aliases=["--out"],
    type=PATH,
    required=True,
    help="Folder of the site.",
)
@click.option("--title", default="Recall Bench leaderboard", show_default=True)
@click.option("--signers", type=PATH, help="File of people and their SSH keys who may sign.")
def build_command(paths: tuple[Path, ...], out: Path, title: str, signers: Path | None) -> int:
    """Verify every bundle and run below the paths, and write a site of those that hold.

    A run that differs from what can be derived, or of which an essential part cannot be derived, is
    left out and named; the exit code is then 3. A submission.yaml beside a bundle names the system.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.core.errors import DataError
    from recall_bench.reporting.leaderboard.board import build_board
    from recall_bench.reporting.leaderboard.site import write_site
    from recall_bench.running.leaderboard import RunCollection

    with RunCollection(signers, show_build) as found:
        found.add_all(paths)
        for each in found.refused:
            click.echo(f"left out: {each.source}: {each.reason}", err=True)
        if not found.runs:
            raise DataError("none of these runs could be verified, so no site was written")
        board = build_board(found.runs, title)
        count = write_site(board, out)
    for suite in board.suites:
        click.echo(f"{suite.title}")
        for group in suite.groups:
            click.echo(f"  {group.number}. {', '.join(group.systems)}")
    click.echo(f"{count} files in {out}; open {out / 'index.html'}", err=True)
    return _REFUSED if found.refused else 0


@leaderboard_command.command("replay")
@click.argument("run", type=PATH, metavar="BUNDLE|RUN")
@click.option("-a", "--adapter", help="The system [as submission.yaml says, or the built-in].")
@CONFIG
@DATA
@click.option(
    "--share",
    type=click.FloatRange(0.001, 1),
    default=0.1,
    show_default=True,
    help="Share of each persona's questions.",
)
@click.option("--seed", type=int, help="Seed of the choice [random].")
@add_json_option("Print JSON.")
def replay_command(
    run: Path,
    *,
    adapter: str | None,
    config: tuple[str, ...],
    data: Path | None,
    share: float,
    seed: int | None,
    as_json: bool,
) -> int:
    """Ask the system a random part of a run again, and compare the answers.

    The result is written to NAME.replay.json beside the bundle or run folder, where `build` finds
    it. Exits with 3 if fewer than 95 % of the marks are the same.
    """
    from recall_bench.core.atomic_file import replace_file
    from recall_bench.running.leaderboard import find_submission, open_run
    from recall_bench.running.replay import locate_replay, replay_run

    submission = find_submission(run)
    with open_run(run) as folder, forward_to_stderr():
        from recall_bench.cli.console import show_build
        from recall_bench.core.settings import Settings

        settings = Settings(
            adapter=adapter or submission.adapter or folder.plan.system.name,
            config=parse_config(config),
            data=data,
            judge=folder.plan.judge.name,
            calendar=folder.plan.calendar,
            ingest=folder.plan.ingest,
        )
        found = replay_run(folder, settings, share=share, seed=seed, building=show_build)
    replace_file(locate_replay(run), f"{format_json(found)}\n".encode())
    click.echo(format_json(found) if as_json else render_replay(found))
    return 0 if found.is_confirmed else _REFUSED


def render_replay(found: "Replay") -> str:
    """Render a replay as text."""
    lines = [
        f"{found.system}: {found.trials:,} questions asked again",
        f"same answer  {found.same_answers:,}",
        f"same marks   {found.same_marks:,}",
    ]
    lines += [f"differs      {name}" for name in found.differing[:10]]
    lines.append("confirmed" if found.is_confirmed else "not confirmed")
    return "\n".join(lines)
