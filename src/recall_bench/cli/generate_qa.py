"""`generate-qa`: questions on the days of a story."""

from typing import Any

import click

from recall_bench.cli.generating import (
    collect_request_fields,
    list_next_commands,
    pass_options,
    print_pass_result,
    print_progress,
)
from recall_bench.cli.options import COUNT, option


@click.command("generate-qa")
@pass_options
@option(
    "--mode",
    type=click.Choice(["standard", "boundary"]),
    help="On what happened, or on the secrets of isolated sessions [standard].",
)
@option("--interval", type=COUNT, help="Days between checkpoints [7; boundary 30].")
@option(
    "--pairs-per-checkpoint",
    "per_checkpoint",
    type=COUNT,
    help="Questions for each; boundary: secrets of each session [12; 2].",
)
@option(
    "--query-session",
    metavar="ID",
    help="Where questions are asked from [principal; boundary: who may not know].",
)
def generate_qa_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write questions on the days that are told, and keep those that hold up.

    Each rests on days up to its checkpoint alone, and is examined against them before it is added
    to questions.yaml; what is there already stays as it is. Rejected ones are in rejected.jsonl
    with the reason. The same command goes on where it was stopped; --overwrite replaces what it
    wrote before and nothing else. Exits with 10 if some windows are missing.
    """
    from recall_bench.generate.questions.request import QuestionsRequest
    from recall_bench.generate.questions.writing import generate_questions

    request = QuestionsRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "verify-qa")
    if request.mode == "standard":
        then = list_next_commands(request, "generate-qa --mode boundary", "verify-qa")
    return print_pass_result(
        generate_questions(request, print_progress), as_json=as_json, then=then
    )
