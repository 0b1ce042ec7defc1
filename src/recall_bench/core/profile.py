"""Settings from a YAML profile."""

import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, cast

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import suggest
from recall_bench.core.settings import Settings, apply_overrides, describe_settings
from recall_bench.core.type_words import split_type_error
from recall_bench.core.untrusted_json import require_file


class _ProfileSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    pass


class _PersonaSection(_ProfileSection):
    id: str
    dir: str | None = None
    arcs: str | None = None


class _EnvSection(_ProfileSection):
    file: str | None = None


class _ModelsSection(_ProfileSection):
    generation: str | None = None
    reader: str | None = None
    agent: str | None = None
    system: str | None = None
    system_embedder: str | None = None
    system_reranker: str | None = None
    judge: str | None = None
    judges: list[str] | str | None = None
    judge_base_url: str | None = None
    appellate_judge: str | None = None
    appellate_base_url: str | None = None
    creation: str | None = None
    conversation: str | None = None


class _HarnessSection(_ProfileSection):
    adapter: str | None = None
    factory: str | None = None
    config: dict[str, object] | None = None


class _RangeSteps(_ProfileSection):
    start: int
    end: int
    step: int


def _make_run_section() -> type[_ProfileSection]:
    """The keys of `run`: every setting that a profile gives there, each optional."""
    special = {
        "ranges": str | list[int | str] | dict[str, Any] | None,
        "question_log": str | bool | None,
    }
    simple: dict[type, Any] = {Path: str, tuple: list[str]}
    keys = [
        (about.alias, special.get(about.name, simple.get(about.kind, about.kind) | None), None)
        for about in describe_settings().values()
        if about.help.is_run_key
    ]
    section = msgspec.defstruct("_RunSection", keys, bases=(_ProfileSection,))
    return cast("type[_ProfileSection]", section)


_RunSection = _make_run_section()


class _GenerateSection(_ProfileSection):
    days: int | None = None
    start: int | None = None
    end: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    history_window: int | None = None


class Profile(_ProfileSection):
    """The shape of the file, section by section."""

    persona: _PersonaSection | None = None
    env: _EnvSection | None = None
    models: _ModelsSection | None = None
    harness: _HarnessSection | None = None
    run: _RunSection | None = None  # type: ignore[valid-type]
    generate: _GenerateSection | None = None


def read_settings(profile: Path | None = None, given: Mapping[str, Any] | None = None) -> Settings:
    """The defaults, overridden by a profile, overridden by what is given."""
    settings = Settings() if profile is None else _apply_profile(profile)
    return apply_overrides(settings, dict(given or {}))


def _apply_profile(path: Path) -> Settings:
    profile = read_profile(path)
    try:
        return apply_overrides(Settings(), profile)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def read_profile(path: Path) -> dict[str, Any]:
    """The settings a profile gives, by name; relative paths are resolved against its folder."""
    profile = parse_profile(path)
    try:
        return extract_settings(profile, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def parse_profile(path: Path) -> Profile:
    """Parse the profile and load its env file."""
    from recall_bench.core.yaml12 import load_yaml

    require_file(path, "--profile")
    raw = load_yaml(path)
    if raw is not None and not isinstance(raw, dict):
        raise UsageError(f"{path}: a profile must be a mapping with sections {_list_keys(Profile)}")
    _refuse_unknown(raw or {}, Profile, str(path))
    try:
        profile = msgspec.convert(raw or {}, Profile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {_describe_error(error)}") from error
    if profile.env is not None and profile.env.file is not None:
        _load_env(path.parent / profile.env.file)
    return profile


def _list_keys(section: type[_ProfileSection]) -> str:
    return ", ".join(f.encode_name for f in msgspec.structs.fields(section))


def _refuse_unknown(raw: dict[str, Any], section: type[_ProfileSection], where: str) -> None:
    fields = {f.encode_name: f for f in msgspec.structs.fields(section)}
    for key, value in raw.items():
        if key not in fields:
            hint = suggest(key, fields, f"known keys: {_list_keys(section)}")
            raise UsageError(f"{where}: unknown key {key!r}; {hint}")
        inner = [t for t in _list_members(fields[key].type) if isinstance(t, type)]
        nested = next((t for t in inner if issubclass(t, _ProfileSection)), None)
        if nested is not None and isinstance(value, dict):
            _refuse_unknown(value, nested, f"{where}, {key}")


def _list_members(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type expression
    return getattr(annotation, "__args__", (annotation,))


def _describe_error(error: msgspec.ValidationError) -> str:
    words, place = describe_profile_error(error)
    return f"{place}: {words}" if place else words


def describe_profile_error(error: msgspec.ValidationError) -> tuple[str, str]:
    """The problem, with the choices where there are few, and the place in the profile."""
    words, place = split_type_error(error)
    if choices := _list_choices(place):
        match = _INVALID_CHOICE.fullmatch(words)
        problem = f"{match[1]} is not valid" if match else words
        words = f"{problem}; choose one of {', '.join(choices)}"
    return words, place


_INVALID_CHOICE = re.compile(r"invalid enum value (.*)")


def _list_choices(place: str) -> list[str]:
    """What may stand at `section.key` of a profile, where that is one of a few words."""
    section, _, key = place.partition(".")
    types = [
        field.type
        for outer in msgspec.structs.fields(Profile)
        if outer.encode_name == section
        for inner in _list_members(outer.type)
        if inner is not NoneType
        for field in msgspec.structs.fields(inner)
        if field.encode_name == key
    ]
    return [
        str(word.value)
        for kind in types
        for member in _list_members(kind)
        if isinstance(member, type) and issubclass(member, Enum)
        for word in member
    ]


def _load_env(path: Path) -> None:
    """Variables of a .env file, for those that the environment does not set already."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{path}: env file cannot be read ({reason})") from error
    for number, line in enumerate(text.split("\n"), start=1):
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if not sign or name.startswith("#"):
            continue
        if not name.strip() or "\0" in line:
            raise UsageError(f"{path}, line {number}: is not of the form NAME=value")
        os.environ.setdefault(name.strip(), value.strip().strip("'\""))


def extract_settings(profile: Profile, base: Path) -> dict[str, Any]:
    """The settings that a profile gives, by name."""
    settings: dict[str, Any] = {}
    if profile.persona is not None:
        settings["personas"] = (profile.persona.id,)
        settings["arcs"] = profile.persona.arcs
        if profile.persona.dir is not None:
            settings["data"] = (base / profile.persona.dir).parent
    if profile.models is not None:
        settings |= {
            "reader": profile.models.reader,
            "agent_model": resolve_code_path(profile.models.agent, base),
            "system_model": profile.models.system,
            "system_embedder": profile.models.system_embedder,
            "system_reranker": profile.models.system_reranker,
            "judge": resolve_code_path(profile.models.judge, base),
            "judges": _resolve_judge_paths(profile.models.judges, base),
            "judge_base_url": profile.models.judge_base_url,
            "appellate_judge": resolve_code_path(profile.models.appellate_judge, base),
            "appellate_base_url": profile.models.appellate_base_url,
        }
    if profile.harness is not None:
        settings |= {
            "adapter": resolve_code_path(profile.harness.adapter, base),
            "factory": profile.harness.factory,
            "config": profile.harness.config,
        }
    if profile.run is not None:
        settings |= _extract_run_settings(profile.run, base)
    return {name: value for name, value in settings.items() if value is not None}


def _resolve_judge_paths(judges: list[str] | str | None, base: Path) -> tuple[str, ...] | None:
    if judges is None:
        return None
    words = [judges] if isinstance(judges, str) else judges
    names = [name.strip() for word in words for name in word.split(",")]
    return tuple(resolve_code_path(name, base) or "" for name in names)


_FOLDER_OF_MODEL = re.compile(r"(?:^folder:|;\s*batch\s*=)\s*([^;~\s][^;]*)")
"""The folder in the spec of a model whose replies come as files."""


def resolve_code_path(target: str | None, base: Path) -> str | None:
    """Resolve a relative path against the profile; leave names and addresses unchanged."""
    if target is None:
        return None
    form, colon, inner = target.partition("loop:")
    if colon and not form:
        return f"{colon}{resolve_code_path(inner, base)}"
    if place := _FOLDER_OF_MODEL.search(target):
        return f"{target[: place.start(1)]}{base / place[1]}{target[place.end(1) :]}"
    file = target.split(".py", 1)[0] + ".py" if ".py" in target else ""
    if target.endswith((".yaml", ".yml")):
        file = target
    return str(base / target) if file and (base / file).exists() else target


def _extract_run_settings(run: _ProfileSection, base: Path) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for about in describe_settings().values():
        value = getattr(run, about.alias, None) if about.help.is_run_key else None
        if value is None:
            continue
        if about.name == "question_log" and isinstance(value, bool):
            settings["write_question_log"] = value
        elif about.name == "ranges":
            settings["ranges"] = _parse_range_setting(value)
        elif about.name == "personas" and not value:
            raise UsageError("run.personas: is empty; name a persona or leave the key out")
        elif about.kind is tuple:
            settings[about.name] = tuple(value)
        else:
            settings[about.name] = base / value if about.kind is Path else value
    return settings


_LAST_DAY = 999_999
"""The last day that a range can name, which has six digits at most."""


def _parse_range_setting(raw: str | list[int | str] | dict[str, Any]) -> tuple[str, ...]:
    if isinstance(raw, dict):
        if set(raw) == {"series"} and isinstance(raw["series"], list):
            return tuple(str(word) for word in raw["series"])
        try:
            steps = msgspec.convert(raw, _RangeSteps)
        except msgspec.ValidationError as error:
            raise UsageError(
                "run.ranges: use a list, {start, end, step} or {series}; "
                f"{_describe_error(error)}"
            ) from error
        if steps.step < 1:
            raise UsageError(f"run.ranges.step: {steps.step} must be at least 1")
        if steps.start < 1:
            raise UsageError(f"run.ranges.start: {steps.start} must be at least 1")
        if steps.end > _LAST_DAY:
            raise UsageError(f"run.ranges.end: {steps.end} is beyond every story; use fewer days")
        raw = [f"{days}d" for days in range(steps.start, steps.end + 1, steps.step)]
    if not raw:
        raise UsageError("run.ranges: has no checkpoint; use for example [30d, 90d]")
    return (raw,) if isinstance(raw, str) else tuple(str(word) for word in raw)
