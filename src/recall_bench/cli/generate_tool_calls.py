"""`generate-tool-calls`: what the agent saved of every day."""

from typing import Any

import click

from recall_bench.cli.generating import (
    collect_request_fields,
    pass_options,
    print_pass_result,
    print_progress,
)


@click.command("generate-tool-calls")
@pass_options
def generate_tool_calls_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """List what the agent put into its memory on every day that is told (pass 3).

    Each file is written the moment it exists; the same command goes on where it was stopped.
    `run --ingest tool-calls` feeds them to a system. Exits with 10 if some are missing.
    """
    from recall_bench.generate.request import PassRequest
    from recall_bench.generate.tool_calls.writing import generate_tool_calls

    request = PassRequest(**collect_request_fields(flags, model="generation"))
    return print_pass_result(generate_tool_calls(request, print_progress), as_json=as_json)
