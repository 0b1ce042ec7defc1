"""From what people type to live parts: stories, systems, judges."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from recall_bench import plugins
from recall_bench.core.memory import MemorySystem
from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Judge
from recall_bench.errors import UsageError
from recall_bench.profile import Settings
from recall_bench.shipped import SOURCES, Building, cache_folder

SAMPLE = "harbour-office"
"""The persona of thirty days that a first run uses: written by hand, and there at once."""

_ADDRESS_FLAGS = {"--judge": "--judge-base-url", "--appellate-judge": "--appellate-base-url"}
_ADDRESS = re.compile(r"\s*https?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFolder:
    """One persona's folder and which of its stories is told."""

    folder: Path
    arcs: str

    def load(self, settings: Settings) -> Scenario:
        """The whole story with its questions."""
        from recall_bench.datasets.persona import load

        return load(
            self.folder,
            arcs=self.arcs,
            calendar=settings.calendar,
            allow_gaps=settings.allow_gaps,
        )


def resolve_personas(settings: Settings, building: Building | None = None) -> Mapping[str, Path]:
    """The folders of the personas asked for, by id; all there are where none was named.

    A shipped persona that was never used before is played first.
    """
    if settings.data is None:
        return _shipped(settings, building)
    from recall_bench.datasets.persona import persona_ids

    data = settings.data
    if not data.is_dir():
        raise UsageError(f"--data: {data} is not a folder; name the one that holds the personas")
    known = persona_ids(data)
    if not known and (data / "persona.yaml").exists():
        raise UsageError(f"--data: {data} is a persona itself; name the folder that holds it")
    if not known:
        raise UsageError(
            f"--data: {data} holds no persona; "
            "it should contain one folder with a persona.yaml for each"
        )
    return {name: data / name for name in _wanted(settings, known, str(data))}


def _shipped(settings: Settings, building: Building | None) -> Mapping[str, Path]:
    from recall_bench.shipped import catalogue, materialised

    played = catalogue()
    wanted = _wanted(settings, (*played, SAMPLE), "the package") if settings.personas else (SAMPLE,)
    return {
        name: materialised(name, settings.arcs, building) if name in played else SOURCES / name
        for name in wanted
    }


def _wanted(settings: Settings, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(settings.personas)) or known
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(
            f"--personas: {where} has no persona {' or '.join(map(repr, unknown))}; "
            f"it has {', '.join(known)}"
        )
    return wanted


def story_in(folder: Path, arcs: str | None) -> StoryFolder:
    """The story named; else the usual one; else the only one."""
    from recall_bench.datasets.layout import stories, usual

    told = stories(folder)
    chosen = arcs or usual(told)
    if chosen is None:
        raise UsageError(
            f"{folder.name} has several stories; name one with --arcs: {', '.join(told)}"
        )
    return StoryFolder(folder=folder, arcs=chosen)


def resolve_system(settings: Settings) -> MemorySystem:
    """A built-in by name, a Python adapter by file or `module:factory`, or `grpc://host:port`."""
    target = settings.adapter
    if "://" in target:
        import anyio

        from recall_bench.systems.grpc.system import grpc_system

        served = grpc_system(target, timeout_s=settings.grpc_timeout_ms / 1000)
        anyio.run(served.greet)
        return served
    if _names_code(target):
        from recall_bench.systems.python.system import load_system

        return load_system(target, settings.config, factory=settings.factory)
    return cast("MemorySystem", plugins.load("systems", target)(settings.config))


def resolve_judges(settings: Settings) -> tuple[Judge, Judge | None]:
    """The judge and the appellate judge that the settings name, ready to be asked."""
    judge = resolve_judge(settings.judge, settings, base_url=settings.judge_base_url)
    if settings.appellate_judge is None:
        if settings.appellate_base_url is not None:
            raise UsageError("--appellate-base-url goes with --appellate-judge; name one")
        return judge, None
    appellate = resolve_judge(
        settings.appellate_judge,
        settings,
        flag="--appellate-judge",
        base_url=settings.appellate_base_url,
    )
    return judge, appellate


def resolve_judge(
    target: str,
    settings: Settings | None = None,
    *,
    flag: str = "--judge",
    base_url: str | None = None,
) -> Judge:
    """A built-in by name, a language model by its spec, or Python by file or `module:name`.

    No model is asked anything; one that could not be asked, for want of a key, a library or a
    program, is refused here. `base_url` sends the questions to another server.
    """
    built_in = [entry.name for entry in plugins.installed("judges")]
    if target not in built_in:
        judge = _model_judge(target, settings or Settings(), flag, base_url)
        if judge is not None:
            return judge
    if base_url is not None:
        raise UsageError(
            f"{_ADDRESS_FLAGS[flag]}: {target} is no language model and has no server; "
            f"leave the address out, or name a model with {flag}"
        )
    if target in built_in:
        return cast("Judge", plugins.load("judges", target)({}))
    if "://" in target:
        # Not repeated: it may hold a password.
        raise UsageError(
            f"{flag}: an address alone names no judge; for the model of a compatible server write "
            "openai:MODEL;URL"
        )
    if _names_code(target):
        return _python_judge(target, flag)
    raise UsageError(
        f"{flag}: nobody is called {_without_keys(target)!r}; name a built-in judge "
        f"({', '.join(built_in)}), a model as provider:model, or Python as file.py or module:name"
    )


def _python_judge(target: str, flag: str) -> Judge:
    from recall_bench.judging.python_judge import load_judge

    try:
        return load_judge(target, {})
    except UsageError as error:
        if (near := _misspelt(target)) is None:
            raise
        raise UsageError(
            f"{flag}: there is neither a provider of models nor a module "
            f"{target.partition(':')[0]!r}; did you mean {near}?"
        ) from error


def _misspelt(target: str) -> str | None:
    """The provider that `name:name` may mean, where there is no module of the first name."""
    from importlib.util import find_spec

    from recall_bench.models.spec import near_provider

    place = target.partition(":")[0]
    if not re.fullmatch(r"[\w-]+", place) or find_spec(place) is not None:
        return None
    return near_provider(place)


def _without_keys(target: str) -> str:
    """What was typed, unless it is a key that was put in the wrong place."""
    from recall_bench.models.secrets import Redactor, environment_secrets

    return Redactor(environment_secrets(os.environ))(target)


def _model_judge(target: str, settings: Settings, flag: str, base_url: str | None) -> Judge | None:
    """The judge that asks the model this target specifies; None if it specifies none."""
    from recall_bench.models.spec import parse_spec

    if base_url is not None and not _ADDRESS.match(base_url):
        raise UsageError(
            f"{_ADDRESS_FLAGS[flag]}: is no address; write it as in http://127.0.0.1:8000/v1"
        )
    try:
        spec = parse_spec(target if base_url is None else _moved(target, base_url))
        if spec is None:
            return None
        from recall_bench.judging.rubric.judge import rubric_judge
        from recall_bench.judging.rubric.options import RubricOptions, Showing
        from recall_bench.models.providers import open_model

        model = open_model(spec)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if settings.max_cost_usd is not None and not model.is_priced:
        told = (
            "leave --max-cost out"
            if spec.is_agent
            else "add what a million tokens cost in US dollars, in and out, as in "
            f"{flag} '{model.name};price=0.15/0.60'"
        )
        raise UsageError(f"--max-cost: nobody knows what {model.name} costs; {told}")
    return rubric_judge(
        model,
        RubricOptions(
            showing=Showing(settings.judge_shows),
            budget_tokens=settings.judge_budget_tokens,
            cache=cache_folder() / "verdicts" if settings.judge_cache else None,
        ),
    )


def _moved(target: str, base_url: str) -> str:
    """The spec with this address in place of its own."""
    parts = [part for part in target.split(";") if not _ADDRESS.match(part)]
    return ";".join([*parts, base_url])


def _names_code(target: str) -> bool:
    return ":" in target or target.endswith(".py") or "/" in target
