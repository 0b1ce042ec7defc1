"""From a `--reader` target, or none, to whoever answers from what a system finds."""

from recall_bench.core.memory import SystemCard
from recall_bench.core.reader import Reader
from recall_bench.errors import UsageError
from recall_bench.profile import Settings

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
    return _model_reader(target, settings)


def _model_reader(target: str, settings: Settings) -> Reader:
    from recall_bench.models.providers import open_model
    from recall_bench.models.spec import parse_spec

    try:
        spec = parse_spec(target)
        model = None if spec is None else open_model(spec)
    except UsageError as error:
        raise UsageError(f"--reader: {error}") from error
    if spec is None or model is None:
        # Not repeated: it may be a key that was put in the wrong place.
        raise UsageError(
            f"--reader: nobody is called so; write {EXTRACTIVE}, or a model as provider:model"
        )
    if settings.max_cost_usd is not None and not model.is_priced:
        told = (
            "leave --max-cost out"
            if spec.is_agent
            else "add what a million tokens cost in US dollars, in and out, as in "
            f"--reader '{model.name};price=0.15/0.60'"
        )
        raise UsageError(f"--max-cost: nobody knows what {model.name} costs; {told}")
    from recall_bench.reading.model import ModelReader

    return ModelReader(model)
