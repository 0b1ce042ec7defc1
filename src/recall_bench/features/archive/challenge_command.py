"""The command `challenge`: commit to a secret seed, run it, and reveal it."""

from pathlib import Path

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import PATH, add_json_option, add_output_option

_DIFFERS = 3
_FILE = click.argument("challenge", type=PATH, metavar="FILE")


@click.group("challenge")
def challenge_command() -> None:
    """Commit to a secret seed, run systems on the stories it draws, and reveal it.

    The answers cannot be known before the reveal, and anyone can verify them after it.
    """


@challenge_command.command("new")
@click.option("-p", "--personas", multiple=True, help="Shipped personas [as for run].")
@click.option(
    "--arcs", metavar="FILE", help="The length of the story, as a file name [arcs-180d.yaml]."
)
@add_output_option(
    "File to write; the seed goes into a .secret file beside it.",
    default=Path("challenge.json"),
    show_default=True,
)
def new_command(personas: tuple[str, ...], arcs: str | None, out: Path) -> None:
    """Draw 128 random bits as a seed, and write the digest that commits to it."""
    from recall_bench.core.distribution import get_version
    from recall_bench.core.settings import Settings
    from recall_bench.stories.drawn import choose_drawn_stories
    from recall_bench.stories.seeds import create_challenge, find_secret_file

    stories = choose_drawn_stories(Settings(personas=personas, arcs=arcs))
    challenge = create_challenge(out, stories, get_version())
    names = ", ".join(f"{story.persona} {story.arcs}" for story in challenge.stories)
    click.echo(f"Challenge    {out}, to publish now: it commits to {challenge.commitment[:16]}…")
    click.echo(
        f"Seed         {find_secret_file(out)}, to keep secret until all participants have run"
    )
    click.echo(f"Stories      {names}")
    click.echo(f"Next         recall-bench challenge run {out} --adapter my_adapter.py")


@challenge_command.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@_FILE
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF RUN]...")
@click.pass_context
def run_challenge_command(ctx: click.Context, challenge: Path, options: tuple[str, ...]) -> int:
    """Run a system on the stories of the challenge, with the options of `run`."""
    from recall_bench.cli.run import run_command
    from recall_bench.stories.seeds import read_challenge

    stories = read_challenge(challenge).stories
    chosen = ["--world-seed", str(challenge), "--arcs", stories[0].arcs]
    chosen += ["--edition", str(stories[0].edition)]
    for story in stories:
        chosen += ["--personas", story.persona]
    words = [*chosen, *options]
    with run_command.make_context("run", words, parent=ctx.parent) as inner:
        code: int = run_command.invoke(inner)
    return code


@challenge_command.command("reveal")
@_FILE
def reveal_command(challenge: Path) -> None:
    """Write the seed into the challenge's file, so that anyone can verify the runs."""
    from recall_bench.stories.seeds import reveal_challenge

    revelation = reveal_challenge(challenge)
    click.echo(f"Seed         {revelation.seed}, now in {challenge}: publish that file")
    click.echo(f"Next         recall-bench challenge verify {challenge} RUN")


@challenge_command.command("verify")
@_FILE
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN...")
@add_json_option("Print the checks as JSON.")
def verify_challenge_command(challenge: Path, runs: tuple[Path, ...], *, as_json: bool) -> int:
    """Draw the stories of a revealed challenge again, and verify runs against them.

    Exits with 3 if a run is of another seed or of other stories, or if something in it differs.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.features.archive.challenge_verification import verify_challenge
    from recall_bench.features.archive.run_verification import render_verification

    results = {str(run): verify_challenge(challenge, run, show_build) for run in runs}
    if as_json:
        click.echo(format_json(results))
    else:
        for name, found in results.items():
            click.echo(
                f"{name}\n{render_verification(found)}"
                if len(runs) > 1
                else render_verification(found)
            )
    return _DIFFERS if any(result.has_differences for result in results.values()) else 0
