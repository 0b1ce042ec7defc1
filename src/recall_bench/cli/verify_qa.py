"""`verify-qa`: what is wrong with a question file, and what would put it right."""

from typing import Any

import click

from recall_bench.cli.answer import format_json
from recall_bench.cli.generating import collect_request_fields, model_options, print_progress
from recall_bench.cli.options import PATH, option


@click.command("verify-qa")
@option("--persona", type=PATH, help="The persona's folder.")
@option("--arcs", metavar="FILE", help="Which story, where there are several.")
@option("--questions", type=PATH, help="Any question file on the story [the story's own].")
@option("--out", type=PATH, help="The folder for what is found [the story's qa folder].")
@click.option("--overwrite", is_flag=True, help="Ask the model anew; cut short, it goes on.")
@model_options
def verify_qa_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Hold every question against its days: support, staleness, vagueness, duplicates, boundary.

    Writes verification.jsonl, a line for each question, and, where something can be repaired
    without judgement, the next questions.proposed-N.yaml. The file itself is never changed. With
    a model each question is put to it too, and what it suggests is proposed if the checks agree.
    Exits with 3 if anything is wrong.
    """
    from recall_bench.generate.checks.request import VerifyRequest
    from recall_bench.generate.checks.verifying import verify_questions

    request = VerifyRequest(**collect_request_fields(flags, model="generation"))
    verified = verify_questions(request, print_progress)
    click.echo(format_json(verified) if as_json else verified.in_words)
    if verified.stopped is not None:
        click.echo(f"error: {verified.stopped.reason}", err=True)
    return verified.exit_code
