"""`generate`: the days of a persona's story."""

from typing import Any

import click

from recall_bench.cli.generating import (
    collect_request_fields,
    list_next_commands,
    pass_options,
    print_pass_result,
    print_progress,
)
from recall_bench.cli.options import COUNT, NUMBER, option


@click.command("generate")
@pass_options
@option("--history-window", type=NUMBER, help="Earlier entries that an author sees [3].")
@option(
    "--lag",
    type=COUNT,
    help="How many told days back the nearest text lies that a day looks back on [8].",
)
@click.option(
    "--from-ledger",
    is_flag=True,
    help="Write from the world's facts, and verify every day against them.",
)
def generate_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write the days of a persona's story, session by session (pass 1).

    Each day is on disk the moment it exists; days that are there are skipped, so the same command
    goes on where it was stopped. A day that cannot be written is named and left out. Exits with
    10 if some are missing.
    """
    from recall_bench.generate.days.request import DaysRequest
    from recall_bench.generate.days.writing import generate_days

    request = DaysRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "generate-qa")
    return print_pass_result(generate_days(request, print_progress), as_json=as_json, then=then)
