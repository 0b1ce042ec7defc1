"""The command `serve endpoint`: the model endpoint by itself, for products set up by hand."""

import os
import signal
import threading
from pathlib import Path
from secrets import token_urlsafe
from types import FrameType

import click

from recall_bench.cli.options import option


@click.command("endpoint")
@option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port on 127.0.0.1 [any free port].",
)
@option("--model", metavar="MODEL", help="Model for chats, as provider:model [none].")
@option(
    "--embedder",
    metavar="MODEL",
    help="Model for embeddings: provider:model, sentence-transformers:MODEL, fastembed:MODEL or "
    "onnx:FOLDER [the embedded word vectors].",
)
@option(
    "--reranker",
    metavar="MODEL",
    help="Model that ranks passages: as for embeddings [none].",
)
def endpoint_command(
    port: int | None, model: str | None, embedder: str | None, reranker: str | None
) -> None:
    """Serve embeddings, ranks and chats to products on this machine, until interrupted.

    Prints the environment variables for a product, and at the end the cost. With a model of your
    own the key is needed: that of RECALL_BENCH_HTTP_TOKEN, or a random one in a file.
    """
    from recall_bench.core.atomic_file import TemporaryFolder
    from recall_bench.core.settings import Settings
    from recall_bench.core.usage import JudgingCosts, Usage
    from recall_bench.features.models.model_endpoint import UNUSED_KEY, build_endpoint
    from recall_bench.reporting.run_facts import describe_costs
    from recall_bench.systems.transports.http_routes import TOKEN_VARIABLE

    asked_to_stop = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as called
        asked_to_stop.set()

    settings = Settings(system_model=model, system_embedder=embedder, system_reranker=reranker)
    given = os.environ.get(TOKEN_VARIABLE) or None
    # Without a token, every user of this machine can spend what a model costs.
    token = given or (token_urlsafe(24) if settings.has_endpoint_models else None)
    flags = ("--model", "--embedder", "--reranker")
    serving = build_endpoint(settings, port=port or 0, token=token, flags=flags)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with serving, TemporaryFolder("endpoint") as private:
            click.echo(f"export OPENAI_BASE_URL={serving.url}")
            key = f"${TOKEN_VARIABLE}" if given else UNUSED_KEY
            if token and not given:
                # The folder is closed to others, as the terminal and its history are not.
                place = Path(private, "key")
                place.write_text(token, encoding="utf-8", newline="\n")
                key = f'"$(cat {place})"'
            click.echo(f"export OPENAI_API_KEY={key}")
            size = f"{serving.dimensions} dimensions"
            click.echo(f"embeddings: {serving.embedder}, {size}", err=True)
            click.echo(f"chats: {serving.model or 'none'}", err=True)
            click.echo(f"ranks: {serving.reranker or 'none'}", err=True)
            # With a timeout: a wait without one blocks signals on Windows.
            while not asked_to_stop.wait(0.5):
                continue
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    costs = JudgingCosts(total=serving.meter.total, reviewing=Usage())
    click.echo(describe_costs(costs), err=True)
