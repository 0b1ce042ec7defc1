"""From a `--reader` target, or none, to whoever answers from what a system finds."""

from recall_bench.core.memory import SystemCard
from recall_bench.core.reader import Reader
from recall_bench.errors import UsageError
from recall_bench.resolve.models import resolve_model
from recall_bench.settings import Settings

EXTRACTIVE = "extractive"


def resolve_reader(settings: Settings, card: SystemCard | None) -> Reader | None:
    """The reader named; else the extractive one for a system that only finds; else nobody.

    No model is asked anything; one that could not be asked, for want of a key, a library or a
    program, is refused here.
    """
    target = settings.reader
    if target is None and (card is None or card.answers):
        return None
    if target is None or target == EXTRACTIVE:
        from recall_bench.reading.extractive import ExtractiveReader

        return ExtractiveReader()
    return _resolve_model_reader(target, settings)


def _resolve_model_reader(target: str, settings: Settings) -> Reader:
    model = resolve_model(target, "--reader", settings)
    if model is None:
        # Not repeated: it may be a key that was put in the wrong place.
        raise UsageError(
            f"--reader: nobody is called so; write {EXTRACTIVE}, or a model as provider:model"
        )
    from recall_bench.reading.model import ModelReader

    return ModelReader(model)
