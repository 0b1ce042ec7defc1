"""The command `leaderboard`: a static site of verified runs, and the replay of a submission."""

from pathlib import Path
from typing import Any

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import (
    DATA,
    ISOLATION,
    PATH,
    TARGET,
    add_json_option,
    add_output_option,
    parse_config,
    select_given,
    setting_options,
)
from recall_bench.core.errors import UsageError
from recall_bench.core.settings import describe_settings

_REFUSED = 3


@click.group("leaderboard")
def leaderboard_command() -> None:
    """Make a leaderboard of verified runs, and repeat parts of a submission."""


@leaderboard_command.command("build")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="BUNDLE|DIR...")
@add_output_option("Folder of the site.", required=True)
@click.option("--title", default="Recall Bench leaderboard", show_default=True)
@click.option("--signers", type=PATH, help="File of people and their SSH keys who may sign.")
def build_command(paths: tuple[Path, ...], out: Path, title: str, signers: Path | None) -> int:
    """Verify every bundle and run below the paths, and write a site of those that hold.

    A run that differs from what can be derived, or of which an essential part cannot be derived, is
    left out and named; the exit code is then 3. A submission.yaml beside a bundle names the system.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.core.errors import DataError
    from recall_bench.features.archive.leaderboard.board import build_board, describe_groups
    from recall_bench.features.archive.leaderboard.collection import RunCollection
    from recall_bench.features.archive.leaderboard.site import write_site

    with RunCollection(signers, show_build) as collection:
        collection.add_all(paths)
        for place, reason in collection.refused.items():
            click.echo(f"left out: {place}: {reason}", err=True)
        if not collection.runs:
            raise DataError("none of these runs could be verified, so no site was written")
        board = build_board(collection.runs, title)
        count = write_site(board, out)
    for suite in board.suites:
        click.echo(suite.title)
        for line in (*describe_groups(suite.groups), suite.describe_judges()):
            if line is not None:
                click.echo(f"  {line}")
    click.echo(f"{count} files in {out}; open {out / 'index.html'}", err=True)
    return _REFUSED if collection.refused else 0


_REPLAYED = (
    *TARGET,
    *ISOLATION,
    *("grpc_timeout_ms", "grpc_ca", "reader", "judge"),
    *("appellate_judge", "judge_base_url", "appellate_base_url", "judge_shows"),
    *("judge_budget_tokens", "judge_cache"),
)
"""The settings of a run that are not in its plan, or only by the digest of what they made."""
_HARMLESS = frozenset(
    "config endpoint embedding_cache grpc_timeout_ms judge_shows judge_budget_tokens".split()
)
"""Those that a stranger's submission may set: the others run code, spend money or give access."""


@leaderboard_command.command("replay")
@click.argument("run", type=PATH, metavar="BUNDLE|RUN")
@setting_options(
    *_REPLAYED,
    adapter="The system [as submission.yaml says, or the installed one of this name]",
    reader="Writes the answer from what the system returns [as in the plan, if it is not a model]",
    judge="The judge [as in the plan, if it is built in]",
    appellate_judge="The second judge [as in the plan, if it is built in]",
)
@DATA
@click.option(
    "--trust-submission",
    is_flag=True,
    help="Use all of submission.yaml, also what runs code, spends money or gives access.",
)
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
    trust_submission: bool,
    share: float,
    seed: int | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Ask the system a random part of a run again, and compare the answers.

    Everything is as the plan says; a replay that would differ from it is refused. The result is
    written to NAME.replay.json beside the bundle or run folder, where `build` finds it. Exits with
    3 if fewer than 95 % of the marks are the same.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.core.atomic_file import replace_file
    from recall_bench.features.archive.leaderboard.replay import (
        choose_settings,
        locate_replay,
        replay_run,
    )
    from recall_bench.features.archive.run_bundle import open_run

    stated = _add_submission(run, flags, is_trusted=trust_submission)
    with open_run(run) as opened, forward_to_stderr():
        settings = choose_settings(opened.folder.plan, stated)
        replay = replay_run(opened.folder, settings, share=share, seed=seed, building=show_build)
    replace_file(locate_replay(run), f"{format_json(replay)}\n".encode())
    if as_json:
        click.echo(format_json(replay))
        return 0 if replay.is_confirmed else _REFUSED
    click.echo(f"{replay.system}: {replay.trials:,} questions asked again")
    click.echo(f"same answer  {replay.same_answers:,}")
    click.echo(f"same marks   {replay.same_marks:,}")
    for name in replay.differing[:10]:
        click.echo(f"differs      {name}")
    click.echo("confirmed" if replay.is_confirmed else "not confirmed")
    return 0 if replay.is_confirmed else _REFUSED


@click.command("options", add_help_option=False)
@setting_options(*_REPLAYED)
def _submission_options(**_: object) -> None:
    """The options that a submission may state."""


def _add_submission(run: Path, flags: dict[str, Any], *, is_trusted: bool) -> dict[str, Any]:
    """The settings of the flags, and below them those of the submission beside the run."""
    from recall_bench.features.archive.leaderboard.collection import SUBMISSION, find_submission
    from recall_bench.features.archive.leaderboard.replay import is_plain_name

    submission, settings = find_submission(run), select_given(flags)
    try:
        context = _submission_options.make_context(SUBMISSION, list(submission.options))
    except click.UsageError as error:
        raise UsageError(
            f"{SUBMISSION}: options: {error.format_message()} The plan of the run decides "
            "everything but the settings of the system, the reader and the judges."
        ) from error
    stated = select_given(context.params)
    if submission.adapter:
        stated["adapter"] = submission.adapter
    for name in stated.keys() - settings.keys() - _HARMLESS if not is_trusted else ():
        if name == "adapter" and is_plain_name(submission.adapter):
            continue
        flag = describe_settings()[name].flag
        raise UsageError(
            f"{SUBMISSION}: sets --{flag}, which can run code, spend money or give access; give "
            "the option yourself, or --trust-submission if you have read that file"
        )
    config = {**parse_config(stated.get("config", ())), **parse_config(flags["config"])}
    return {**stated, **settings, "config": config}
