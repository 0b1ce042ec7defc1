"""The command `score`."""

from pathlib import Path

import click

from recall_bench.cli.options import PATH
from recall_bench.core.errors import UsageError


@click.command("score", context_settings={"ignore_unknown_options": True})
@click.option("--answers", type=PATH, help="Answers, one JSON object a line.")
@click.option("--rankings", type=PATH, help="Retrieved passages: JSON lines, or a TREC run.")
@click.option("--dataset", metavar="NAME", help="A public dataset [the personas].")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def score_command(
    ctx: click.Context,
    *,
    answers: Path | None,
    rankings: Path | None,
    dataset: str | None,
    options: tuple[str, ...],
) -> object:
    """Score answers or rankings that you made elsewhere, without a system.

    A line has the question's id, or its words as `question`, and `answer`, or `passages`: ids of
    days such as day-0012, or objects with text and day. Rankings are read by the run's reader. A
    line may have `day`, the checkpoint it was made for. OPTIONS are those of `run`, with --dataset
    those of `eval`. Personas are asked at the end of their story unless --ranges, or a line's
    `day`, says otherwise.
    """
    from recall_bench.features.scoring.recorded_rows import RecordedRows

    files = {"answers": answers, "rankings": rankings}
    named = [(form, path) for form, path in files.items() if path is not None]
    if len(named) != 1:
        raise UsageError("score: name one file, by --answers FILE or by --rankings FILE")
    ((form, path),) = named
    words = ["--adapter", f"{form}:{path}", *options]
    if dataset is not None:
        words[:0] = ["eval", "--dataset", dataset]
    else:
        asks_at_end = not RecordedRows.read(path).has_days and not {"-r", "--ranges"} & {*options}
        # Owed questions are counted: a file without the first of them is no broken system.
        words = ["run", *words, "--keep-going", *(("--ranges", "full") if asks_at_end else ())]
    group = ctx.find_root().command
    with group.make_context("recall-bench", words) as command:
        return group.invoke(command)
