"""Judges by name: from a `--judge` target to a judge, and the built-in ones that do nothing."""

import re
from collections.abc import Mapping
from typing import cast

from recall_bench.core import user_code
from recall_bench.core.errors import JudgeFault, UsageError
from recall_bench.core.feature import find_offer
from recall_bench.core.folders import find_cache_folder
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.redaction import redact_message
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.user_code import is_code_target
from recall_bench.core.verdict import Exhibit, Judge, JudgeCard, Strictness, Verdict
from recall_bench.judging.judge_call import Judges

OFFLINE, ENCODER = "offline", "encoder"
"""The judge that needs no key, and an earlier name of it."""
_ADDRESS_FLAGS = {"--judge": "--judge-base-url", "--appellate-judge": "--appellate-base-url"}
_ADDRESS = re.compile(r"\s*https?:", re.IGNORECASE)


def resolve_judges(settings: Settings) -> Judges:
    """All judges that the settings name."""
    if settings.judges and settings.judge_base_url is not None:
        raise UsageError(
            "--judge-base-url goes with --judge; in --judges write the address after the model, as "
            "in openai:MODEL;URL"
        )
    flag = "--judges" if settings.judges else "--judge"
    judge = resolve_judge(settings.judge, settings, flag=flag, base_url=settings.judge_base_url)
    others = tuple(resolve_judge(each, settings, flag=flag) for each in settings.judges[1:])
    if settings.appellate_judge is None:
        if settings.appellate_base_url is not None:
            raise UsageError("--appellate-base-url goes with --appellate-judge; name one")
        return Judges(judge=judge, others=others)
    appellate = resolve_judge(
        settings.appellate_judge,
        settings,
        flag="--appellate-judge",
        base_url=settings.appellate_base_url,
    )
    return Judges(judge=judge, others=others, appellate=appellate)


def split_reading(target: str) -> tuple[str, Strictness | None]:
    """Split `offline@strict` into the judge and its reading; None without one."""
    name, at, word = target.rpartition("@")
    if at and word in tuple(Strictness):
        return name, Strictness(word)
    return target, None


def resolve_judge(
    target: str,
    settings: Settings | None = None,
    *,
    flag: str = "--judge",
    base_url: str | None = None,
) -> Judge:
    """A built-in by name, a language model by its spec, or Python by file or `module:name`.

    A built-in or a model may have a reading: `@strict` or `@lenient` at the end. No model is
    called. A missing key, library or program is reported here. `base_url` replaces the address of
    the model's server.
    """
    target, reading = split_reading(target)
    # `offline:FOLDER` reads by another model, as tools/judge_model makes one.
    name, colon, folder = target.partition(":")
    if name in (OFFLINE, ENCODER):
        target = OFFLINE
    config: dict[str, object] = {} if reading is None else {"reading": reading}
    if target == OFFLINE and colon:
        config["model"] = folder
    built_in = [entry.name for entry in user_code.list_plugins("judges")]
    if target not in built_in:
        options = settings or Settings()
        judge = _make_model_judge(target, options, flag, base_url, reading)
        if judge is not None:
            return judge
    if base_url is not None:
        raise UsageError(
            f"{_ADDRESS_FLAGS[flag]}: {target} is not a language model and has no server; "
            f"leave the address out, or name a model with {flag}"
        )
    if target in built_in:
        return cast("Judge", user_code.load_plugin("judges", target)(config))
    if "://" in target:
        # Not repeated: it may hold a password.
        raise UsageError(
            f"{flag}: an address alone names no judge; for the model of a compatible server write "
            "openai:MODEL;URL"
        )
    if is_code_target(target):
        if reading is not None:
            raise UsageError(
                f"{flag}: {target} is Python and has no {reading} reading; leave out @{reading}, "
                "or write a second judge"
            )
        return _load_python_judge(target, flag)
    list_agents = find_offer("parts", "models.list_agents") or tuple
    listed = (
        f"name a built-in judge ({', '.join(built_in)}), a model as provider:model, or Python as "
        "file.py or module:name"
    )
    hint = suggest_or_list(target, [*built_in, *list_agents()], listed)
    raise UsageError(f"{flag}: no judge named {redact_message(target)!r}; {hint}")


def _load_python_judge(target: str, flag: str) -> Judge:
    from recall_bench.judging.python_judge import load_judge
    from recall_bench.systems.models.target import suggest_spelling

    try:
        return load_judge(target, {})
    except UsageError as error:
        if (near := suggest_spelling(target)) is None:
            raise
        raise UsageError(
            f"{flag}: there is no model provider and no module "
            f"{target.partition(':')[0]!r}; did you mean {near}?"
        ) from error


def _make_model_judge(
    target: str, settings: Settings, flag: str, base_url: str | None, reading: Strictness | None
) -> Judge | None:
    """The rubric judge of the model that the target specifies; None if it specifies none."""
    if base_url is not None and not _ADDRESS.match(base_url):
        raise UsageError(
            f"{_ADDRESS_FLAGS[flag]}: is not an address; write it like http://127.0.0.1:8000/v1"
        )
    from recall_bench.systems.models.target import resolve_model

    at = target if base_url is None else _replace_address(target, base_url)
    model = resolve_model(at, flag, settings)
    if model is None:
        return None
    from recall_bench.judging.rubric.passages import ExcerptMode, RubricOptions
    from recall_bench.judging.rubric.rubric_judge import make_rubric_judge

    return make_rubric_judge(
        model,
        RubricOptions(
            showing=ExcerptMode(settings.judge_shows),
            budget_tokens=settings.judge_budget_tokens,
            cache=find_cache_folder() / "verdicts" if settings.judge_cache else None,
            reading=reading,
        ),
    )


def _replace_address(target: str, base_url: str) -> str:
    """The model spec with this address instead of its own."""
    parts = [part for part in target.split(";") if not _ADDRESS.match(part)]
    return ";".join([*parts, base_url])


class StubJudge:
    """Gives no marks, at once: for trying out everything else."""

    card = JudgeCard(name="stub", version="1", computes=True)

    def __init__(self, config: Mapping[str, object]) -> None:
        if config:
            raise UsageError(
                f"the stub judge has no setting {min(config)!r}; it takes none, so remove it"
            )

    def study(self, scenario: Scenario) -> None:
        """Nothing to prepare."""

    async def judge(self, exhibit: Exhibit) -> Verdict:  # noqa: ARG002
        """No marks."""
        return Verdict.of(0, 0, 0, "stub judge: nothing was read")


class NoJudge:
    """The judge in the plan of a run that judges nothing."""

    card = JudgeCard(name="nobody", version="1", computes=True)

    def study(self, scenario: Scenario) -> None:
        """Nothing to prepare."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Always raises JudgeFault."""
        raise JudgeFault(f"{exhibit.scenario}: this run has no judge")
