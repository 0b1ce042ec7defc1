"""`create-persona`: a persona and its story from a description."""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from recall_bench.cli.generating import conclude, model_options, request_flags, told
from recall_bench.cli.options import COUNT, PATH, option
from recall_bench.errors import UsageError


@click.command("create-persona")
@option("--prompt", metavar="TEXT", help="Whom the persona serves, and in which trade.")
@option("--prompt-file", type=PATH, help="The same, from a file.")
@option("--persona", type=PATH, help="The persona's folder; its name becomes the persona's id.")
@option("--days", type=COUNT, help="How long the story is; it is written to arcs-Nd.yaml [1000].")
@option(
    "--epoch",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="The calendar date of day 1 [the persona's, or 2024-01-01].",
)
@click.option("--arcs-only", is_flag=True, help="New arcs for the persona that is there.")
@click.option("--overwrite", is_flag=True, help="Write anew what is there; cut short, it goes on.")
@option("--seed", type=int, help="Which persona; with --model offline alone [0].")
@model_options
def create_persona_command(
    as_json: bool,
    prompt: str | None,
    prompt_file: Path | None,
    epoch: datetime | None,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Make persona.yaml and the arcs of a story of N days, checked and mended until sound.

    Each file is written the moment it is sound; the same command goes on where it was stopped.
    Exits with 10 if one is missing.
    """
    from recall_bench.generate.personas.creating import create_persona
    from recall_bench.generate.personas.request import CreateRequest

    request = CreateRequest(
        prompt=_description(prompt, prompt_file),
        epoch=epoch.date() if epoch else None,
        **request_flags(flags, model="creation"),
    )
    return conclude(create_persona(request, told), as_json=as_json)


def _description(prompt: str | None, file: Path | None) -> str:
    if file is None:
        return prompt or ""
    if prompt is not None:
        raise UsageError("--prompt and --prompt-file say the same thing; give one of them")
    from recall_bench.yaml12 import decoded

    try:
        return decoded(file.read_bytes(), str(file), "utf-8-sig")
    except OSError as error:
        raise UsageError(f"--prompt-file: {file} cannot be read ({error.strerror})") from error
