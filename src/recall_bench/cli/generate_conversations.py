"""`generate-conversations`: the days of a story as dialogues."""

from typing import Any

import click

from recall_bench.cli.generating import (
    collect_request_fields,
    pass_options,
    print_pass_result,
    print_progress,
)
from recall_bench.cli.options import option


@click.command("generate-conversations")
@pass_options
@option(
    "--format",
    type=click.Choice(["markdown", "json"]),
    help="What the files are [markdown].",
)
def generate_conversations_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Retell every day that is told as a dialogue of four to twelve turns (pass 2).

    Each file is written the moment it exists; the same command goes on where it was stopped.
    `run --ingest conversations` feeds them to a system. Exits with 10 if some are missing.
    """
    from recall_bench.generate.conversations.request import ConversationsRequest
    from recall_bench.generate.conversations.writing import generate_conversations

    request = ConversationsRequest(**collect_request_fields(flags, model="conversation"))
    return print_pass_result(generate_conversations(request, print_progress), as_json=as_json)
