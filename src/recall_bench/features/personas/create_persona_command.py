"""The command `create-persona`: a persona and its story from a description."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from recall_bench.cli.options import COUNT, PATH, option
from recall_bench.core.errors import UsageError
from recall_bench.features.personas.generate_command import (
    collect_request_fields,
    model_options,
    print_pass_result,
    print_progress,
)
from recall_bench.features.personas.simulator.trades import load_trades


@click.command("create-persona")
@option(
    "--prompt", metavar="TEXT", help="Description: whom the persona serves, and in which trade."
)
@option("--prompt-file", type=PATH, help="A file with the description.")
@option("--persona", type=PATH, help="The persona's folder; its name becomes the persona's id.")
@option("--days", type=COUNT, help="Length of the story, written to arcs-Nd.yaml [1000].")
@option(
    "--epoch",
    metavar="YYYY-MM-DD",
    help="Date of day 1 [that of the persona; for a new one that of the seed offline, else "
    "2024-01-01].",
)
@click.option("--arcs-only", is_flag=True, help="Write new arcs for an existing persona.")
@click.option(
    "--overwrite", is_flag=True, help="Write existing files again; repeat the command to continue."
)
@option(
    "--trade",
    type=click.Choice(list(load_trades())),
    metavar="NAME",
    help=f"The trade: {', '.join(load_trades())}; only with --model offline [the one that --prompt "
    "names].",
)
@option("--seed", type=int, help="Seed of the persona; only with --model offline [0].")
@model_options
def create_persona_command(
    as_json: bool,
    prompt: str | None,
    prompt_file: Path | None,
    epoch: str | None,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write persona.yaml and the arcs of a story of N days, corrected until they are valid.

    Each file is written as soon as it is valid; the same command continues an interrupted one.
    Exits with 10 if a file is missing.
    """
    from recall_bench.features.personas.creation.persona_writer import create_persona
    from recall_bench.features.personas.pass_request import CreateRequest

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
            f"--epoch: {text} is not a date; write year-month-day, such as 2026-03-02"
        ) from None


def _read_description(prompt: str | None, file: Path | None) -> str:
    if file is None:
        return prompt or ""
    if prompt is not None:
        raise UsageError("--prompt and --prompt-file exclude each other; give one")
    from recall_bench.core.yaml12 import decode_text

    try:
        return decode_text(file.read_bytes(), str(file), "utf-8-sig")
    except OSError as error:
        raise UsageError(f"--prompt-file: {file} cannot be read ({error.strerror})") from error
