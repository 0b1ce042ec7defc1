"""`create-persona`: a persona and its story from a description."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from recall_bench.cli.generate import (
    collect_request_fields,
    model_options,
    print_pass_result,
    print_progress,
)
from recall_bench.cli.options import COUNT, PATH, option
from recall_bench.core.errors import UsageError
from recall_bench.generate.creation.trades import TRADES


@click.command("create-persona")
@option("--prompt", metavar="TEXT", help="Whom the persona serves, and in which trade.")
@option("--prompt-file", type=PATH, help="The same, from a file.")
@option("--persona", type=PATH, help="The persona's folder; its name becomes the persona's id.")
@option("--days", type=COUNT, help="How long the story is; it is written to arcs-Nd.yaml [1000].")
@option(
    "--epoch",
    metavar="YYYY-MM-DD",
    help="The calendar date of day 1 [the persona's; of a new one the seed's offline, else "
    "2024-01-01].",
)
@click.option("--arcs-only", is_flag=True, help="New arcs for the persona that is there.")
@click.option("--overwrite", is_flag=True, help="Write anew what is there; cut short, it goes on.")
@option(
    "--trade",
    type=click.Choice(list(TRADES)),
    metavar="NAME",
    help=f"In which trade: {', '.join(TRADES)}; with --model offline alone [the one that --prompt "
    "names].",
)
@option("--seed", type=int, help="Which persona of the trade; with --model offline alone [0].")
@model_options
def create_persona_command(
    as_json: bool,
    prompt: str | None,
    prompt_file: Path | None,
    epoch: str | None,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Make persona.yaml and the arcs of a story of N days, checked and mended until sound.

    Each file is written the moment it is sound; the same command goes on where it was stopped.
    Exits with 10 if one is missing.
    """
    from recall_bench.generate.creation.persona_writer import create_persona
    from recall_bench.generate.pass_request import CreateRequest

    request = CreateRequest(
        prompt=_read_description(prompt, prompt_file),
        epoch=None if epoch is None else _parse_date(epoch),
        **collect_request_fields(flags, model="creation"),
    )
    return print_pass_result(create_persona(request, print_progress), as_json=as_json)


def _parse_date(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise UsageError(
            f"--epoch: {text} is no date; write year-month-day, such as 2026-03-02"
        ) from None


def _read_description(prompt: str | None, file: Path | None) -> str:
    if file is None:
        return prompt or ""
    if prompt is not None:
        raise UsageError("--prompt and --prompt-file say the same thing; give one of them")
    from recall_bench.core.yaml12 import decode_text

    try:
        return decode_text(file.read_bytes(), str(file), "utf-8-sig")
    except OSError as error:
        raise UsageError(f"--prompt-file: {file} cannot be read ({error.strerror})") from error
