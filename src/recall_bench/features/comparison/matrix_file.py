"""Reads and checks a matrix file: systems, settings and seeds."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from recall_bench.core.errors import BenchError, UsageError, raise_problems
from recall_bench.core.feature import list_offers
from recall_bench.core.plain_text import suggest
from recall_bench.core.profile import (
    Profile,
    describe_profile_error,
    extract_settings,
    resolve_code_path,
)
from recall_bench.core.settings import RUNS
from recall_bench.core.yaml12 import Document, Key, read_document

DEFAULT: Final = "default"
"""The name of the one setting where none is given."""
DEFAULT_SEED: Final = 42

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,=+-]{0,79}")
_SHARED = ("run", "models", "persona", "env")
"""The sections that are those of a profile."""
_WHERE_DONE = ("executor", "workers", "workerCpus", "workerEnv", "rayAddress")
_TOP = (
    *("name", "into", *_SHARED, "systems", "seeds", "settings", "baseline", "limits"),
    *("datasets", "suites", "recall"),
    *_WHERE_DONE,
)
_OWNED = "iOwnThisServer"
_SUITE = ("name", "stories", "patience", "loadTime", _OWNED)
_SYSTEM = ("name", "adapter", "factory", "config", "run", "models")
_DATASET: Final = {
    "dataset": str,
    "data": str,
    "protocol": str,
    "mode": str,
    "errata": list,
    "categories": list,
    "maxScenarios": int,
    "scenarioOffset": int,
    "skipQa": bool,
}
"""What a dataset may say, with the type of each: the options of `eval`."""
_KINDS: Final = {str: "a text", list: "a list", int: "a whole number", bool: "yes or no"}
_LIMITS = {"maxCost": "max_cost", "maxTokens": "max_tokens", "maxCalls": "max_calls"}
_ELSEWHERE = {
    "seed": "say `seeds` for all cells",
    "maxCost": "say it under `limits`, for all cells together",
    "maxTokens": "say it under `limits`, for all cells together",
    "maxCalls": "say it under `limits`, for all cells together",
    "into": "say `into` at the top: every cell has a folder below it",
    **dict.fromkeys(
        ("resume", "jsonOut", "progressJsonl", "failureLog"), "every cell has a folder of its own"
    ),
}
"""What a run may say and a cell may not, and what to do instead."""
_AT_THE_TOP = "say it at the top: all cells use the same workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixEntry:
    """A system or a setting of a matrix: its name and the settings it gives."""

    name: str
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSuite:
    """A behaviour suite of a matrix; None leaves what the suite has itself."""

    name: str
    stories: int | None = None
    patience_s: float | None = None
    load_s: float | None = None
    is_owned: bool = False
    """Whether a server that is not on this machine may be put under load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLimits:
    """What all cells together may spend, and calls at a time."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix as its file describes it; nothing was tried yet."""

    name: str
    into: Path
    shared: Mapping[str, Any]
    """The settings every cell has, by name."""
    systems: tuple[MatrixEntry, ...]
    baseline: str
    seeds: tuple[int, ...] = (DEFAULT_SEED,)
    settings: tuple[MatrixEntry, ...] = (MatrixEntry(name=DEFAULT, given={}),)
    limits: MatrixLimits = field(default_factory=MatrixLimits)
    suites: tuple[MatrixSuite, ...] = ()
    """Run for every system, setting and seed too."""
    has_recall: bool = True
    """Whether systems are run over personas."""
    datasets: tuple[MatrixEntry, ...] = ()
    """Public datasets to measure on instead of personas; what they give are options of `eval`."""


def read_matrix(path: Path) -> Matrix:
    """Read a matrix file; all its problems are raised at once."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; name a matrix.yaml")
    return _MatrixReader(read_document(path), path).read()


class _MatrixReader:
    """Reads one document and collects its problems."""

    def __init__(self, document: Document, path: Path) -> None:
        self._document = document
        self._path = path
        self._base = path.parent
        self._problems: list[BenchError] = []

    def read(self) -> Matrix:
        raw = self._document.content
        if not isinstance(raw, dict):
            raise UsageError(
                f"{self._path}: a matrix must be a mapping with keys {', '.join(_TOP)}"
            )
        self._refuse_unknown(raw, _TOP)
        shared = {key: raw[key] for key in _SHARED if raw.get(key) is not None}
        moved = {key: raw[key] for key in _WHERE_DONE if key in raw}
        given = self._read_settings(shared, moved)
        name = self._read_name(raw.get("name", self._path.stem.replace(" ", "-")), "name")
        systems = self._read_entries(raw, "systems", self._read_system)
        settings = self._read_entries(raw, "settings", self._read_setting)
        if raw.get("systems") in (None, []):
            self._add_problem("names no system; say for example [bm25, hybrid]", "systems")
        into = raw.get("into")
        if into is not None and not isinstance(into, str):
            self._add_problem(f"{into!r} is not a folder; give a path", "into")
        matrix = Matrix(
            name=name,
            into=self._base / into if isinstance(into, str) else RUNS / name,
            shared=given,
            systems=systems,
            baseline=self._read_baseline(raw, systems),
            seeds=self._read_seeds(raw),
            settings=settings or (MatrixEntry(name=DEFAULT, given={}),),
            limits=self._read_limits(raw),
            suites=self._read_suites(raw, systems),
            has_recall=self._read_recall(raw),
            datasets=self._read_entries(raw, "datasets", self._read_dataset),
        )
        raise_problems(self._problems)
        return matrix

    def _read_entries(
        self,
        raw: Mapping[str, Any],
        key: str,
        read: Any,  # noqa: ANN401 - one of the three methods below
    ) -> tuple[MatrixEntry, ...]:
        listed = raw.get(key)
        if listed is None:
            return ()
        if not isinstance(listed, list):
            self._add_problem("must be a list; begin each entry with a dash", key)
            return ()
        entries: list[MatrixEntry] = []
        taken: dict[str, int] = {}
        for number, entry in enumerate(listed):
            variant = read(entry, (key, number))
            if variant is None:
                continue
            # Folders of some systems do not tell capitals apart.
            first = taken.setdefault(variant.name.lower(), self._document.find_line(key, number))
            if variant.name.lower() in (other.name.lower() for other in entries):
                problem = f"two of them are called {variant.name!r}, the first on line {first}"
                self._add_problem(f"{problem}; give one another `name`", key, number)
                continue
            entries.append(variant)
        return tuple(entries)

    def _read_system(self, entry: object, at: tuple[Key, ...]) -> MatrixEntry | None:
        if isinstance(entry, str):
            entry = {"adapter": entry}
        if not isinstance(entry, dict):
            self._add_problem("a system must be a name, or a mapping with `adapter`", *at)
            return None
        self._refuse_unknown(entry, _SYSTEM, *at)
        adapter = entry.get("adapter", entry.get("name"))
        if not isinstance(adapter, str) or not adapter:
            self._add_problem("names no `adapter`; say which system it is", *at)
            return None
        name = self._read_name(entry.get("name", _name_system(adapter)), *at, "name")
        sections = {key: entry[key] for key in ("run", "models") if key in entry}
        settings = self._read_settings(sections, {}, *at)
        settings["adapter"] = resolve_code_path(adapter, self._base) or adapter
        if isinstance(factory := entry.get("factory"), str):
            settings["factory"] = factory
        config = entry.get("config", {})
        if not isinstance(config, dict) or not all(isinstance(key, str) for key in config):
            self._add_problem("must be a mapping of the system's settings", *at, "config")
            config = {}
        settings["config"] = config
        return MatrixEntry(name=name, given=settings)

    def _read_setting(self, entry: object, at: tuple[Key, ...]) -> MatrixEntry | None:
        if not isinstance(entry, dict) or "name" not in entry:
            self._add_problem(
                "a setting must be a mapping with a `name` and keys of a profile's `run`", *at
            )
            return None
        name = self._read_name(entry["name"], *at, "name")
        run = {key: value for key, value in entry.items() if key not in ("name", "models")}
        sections = {"run": run} | ({"models": entry["models"]} if "models" in entry else {})
        settings = self._read_settings(sections, {}, *at, is_flat=True)
        return MatrixEntry(name=name, given=settings)

    def _read_dataset(self, entry: object, at: tuple[Key, ...]) -> MatrixEntry | None:
        if isinstance(entry, str):
            entry = {"dataset": entry}
        if not isinstance(entry, dict) or not isinstance(entry.get("dataset"), str):
            self._add_problem("a dataset must be a name, or a mapping with `dataset`", *at)
            return None
        self._refuse_unknown(entry, ("name", *_DATASET), *at)
        name = self._read_name(entry.get("name", entry["dataset"]), *at, "name")
        options: dict[str, Any] = {}
        for key, kind in _DATASET.items():
            value = entry.get(key)
            if value is None:
                continue
            if type(value) is not kind:
                self._add_problem(f"{value!r:.40} is not {_KINDS[kind]}", *at, key)
            else:
                options[re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)] = value
        if "data" in options:
            options["data"] = self._base / options["data"]
        return MatrixEntry(name=name, given=options)

    def _read_settings(
        self,
        sections: Mapping[str, Any],
        moved: Mapping[str, Any],
        *at: Key,
        is_flat: bool = False,
    ) -> dict[str, Any]:
        """What these sections of a profile give; `moved` are keys of `run` that stand outside."""
        for section, content in sections.items():
            where = at if is_flat and section == "run" else (*at, section)
            if isinstance(content, dict):
                extra = ("name", "models") if is_flat else ()
                self._refuse_unknown(content, (*_list_keys(section), *extra), *where)
                for key in content if section == "run" else ():
                    if key in _ELSEWHERE:
                        self._add_problem(
                            f"{key!r} cannot stand here; {_ELSEWHERE[key]}", *where, key
                        )
                    elif at and key in _WHERE_DONE:
                        self._add_problem(f"{key!r} cannot stand here; {_AT_THE_TOP}", *where, key)
            elif content is not None:
                self._add_problem(f"{content!r:.40} is not a mapping of settings", *where)
        if self._problems:
            return {}
        whole = {**sections, "run": {**(sections.get("run") or {}), **moved}}
        try:
            return extract_settings(msgspec.convert(whole, Profile), self._base)
        except msgspec.ValidationError as error:
            words, place = describe_profile_error(error)
            steps: list[Key] = [
                int(step) if step.isdigit() else step
                for step in re.findall(r"[A-Za-z_]+|\d+", place)
            ]
            if steps[:1] == ["run"] and (is_flat or (len(steps) > 1 and steps[1] in moved)):
                steps = steps[1:]
            self._add_problem(words, *at, *steps)
        except UsageError as error:
            self._problems.append(UsageError(f"{self._document.describe_place(*at)}: {error}"))
        return {}

    def _read_seeds(self, raw: Mapping[str, Any]) -> tuple[int, ...]:
        seeds = raw.get("seeds", [DEFAULT_SEED])
        if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
            self._add_problem(
                f"{seeds!r} is not a list of whole numbers, for example [42, 43]", "seeds"
            )
            return (DEFAULT_SEED,)
        if len(set(seeds)) < len(seeds):
            self._add_problem("the same seed stands twice; name each once", "seeds")
        return tuple(dict.fromkeys(seeds))

    def _read_baseline(self, raw: Mapping[str, Any], systems: tuple[MatrixEntry, ...]) -> str:
        names = [system.name for system in systems]
        baseline = raw.get("baseline", names[0] if names else "")
        if names and baseline not in names:
            self._add_problem(
                f"{baseline!r} is not one of the systems{_suggest_key(baseline, names)}", "baseline"
            )
        return str(baseline)

    def _read_limits(self, raw: Mapping[str, Any]) -> MatrixLimits:
        limits = raw.get("limits") or {}
        if not isinstance(limits, dict):
            self._add_problem(f"must be a mapping with {', '.join(_LIMITS)}", "limits")
            return MatrixLimits()
        self._refuse_unknown(limits, tuple(_LIMITS), "limits")
        numbers: dict[str, Any] = {}
        for key, kind in (("maxCost", float), ("maxTokens", int), ("maxCalls", int)):
            value = limits.get(key)
            is_number = isinstance(value, (int, kind)) and not isinstance(value, bool)
            if value is not None and not (is_number and value >= 0):
                self._add_problem(f"{value!r} is not a limit; give a number", "limits", key)
            elif value is not None:
                numbers["max_cost_usd" if key == "maxCost" else _LIMITS[key]] = kind(value)
        return MatrixLimits(**numbers)

    def _read_suites(
        self, raw: Mapping[str, Any], systems: tuple[MatrixEntry, ...]
    ) -> tuple[MatrixSuite, ...]:
        listed = raw.get("suites")
        if listed is None:
            return ()
        if not isinstance(listed, list):
            self._add_problem("must be a list, for example [erasure, freshness]", "suites")
            return ()
        suites: dict[str, MatrixSuite] = {}
        for number, entry in enumerate(listed):
            suite = self._read_suite(entry, ("suites", number))
            if suite is not None and suite.name in suites:
                self._add_problem(f"{suite.name} stands twice; name each once", "suites", number)
            elif suite is not None:
                suites[suite.name] = suite
        taken = [system.name for system in systems if system.name.partition("+")[2] in suites]
        for name in taken:
            self._add_problem(f"{name!r} is the folder of a suite; give it another name", "systems")
        return tuple(suites.values())

    def _read_suite(self, entry: object, at: tuple[Key, ...]) -> MatrixSuite | None:
        given = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            self._add_problem("a suite must be a name, or a mapping with `name`", *at)
            return None
        self._refuse_unknown(given, _SUITE, *at)
        suites = list_offers("figures")
        if given["name"] not in suites:
            problem = f"no suite is named {given['name']!r}"
            self._add_problem(f"{problem}{_suggest_key(given['name'], tuple(suites))}", *at)
            return None
        stories = given.get("stories")
        if stories is not None and not (type(stories) is int and stories > 0):
            self._add_problem(f"{stories!r} is not a number of stories", *at, "stories")
        for key in ("patience", "loadTime"):
            value = given.get(key)
            if value is not None and not (type(value) in (int, float) and value > 0):
                self._add_problem(f"{value!r} is not a time; give seconds as a number", *at, key)
        is_owned = given.get(_OWNED, False)
        if not isinstance(is_owned, bool):
            self._add_problem(f"{is_owned!r} is neither true nor false", *at, _OWNED)
        return MatrixSuite(
            name=given["name"],
            stories=stories,
            patience_s=given.get("patience"),
            load_s=given.get("loadTime"),
            is_owned=is_owned is True,
        )

    def _read_recall(self, raw: Mapping[str, Any]) -> bool:
        """Whether systems are run over personas; without that there must be a suite."""
        value = raw.get("recall", True)
        if not isinstance(value, bool):
            self._add_problem(f"{value!r} is neither true nor false", "recall")
        elif not value and not raw.get("suites"):
            self._add_problem("nothing is left to run; name `suites`", "recall")
        return bool(value)

    def _read_name(self, name: object, *at: Key) -> str:
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problem = f"{name!r} cannot be the name of a folder"
            self._add_problem(f"{problem}; use letters, digits and . _ - + = ,", *at)
        return str(name)

    def _refuse_unknown(self, raw: Mapping[Any, Any], known: tuple[str, ...], *at: Key) -> None:
        for key in raw:
            if key not in known:
                self._add_problem(f"unknown key {key!r}{_suggest_key(key, known)}", *at, key)

    def _add_problem(self, problem: str, *at: Key) -> None:
        words = ".".join(str(key) for key in at if not isinstance(key, int))
        message = (
            problem if not words or problem.startswith("unknown key") else f"{words}: {problem}"
        )
        self._problems.append(UsageError(f"{self._document.describe_place(*at)}: {message}"))


def _suggest_key(key: object, known: list[str] | tuple[str, ...]) -> str:
    return "; " + suggest(key, known, f"known: {', '.join(known)}")


def _list_keys(section: str) -> tuple[str, ...]:
    """The keys that this section of a profile has."""
    kind = next(f.type for f in msgspec.structs.fields(Profile) if f.name == section)
    inner = next(t for t in kind.__args__ if t is not type(None))
    return tuple(field.encode_name for field in msgspec.structs.fields(inner))


def _name_system(adapter: str) -> str:
    """What a system is called that was given no name: its file's, or its own."""
    target = adapter.split(":", 1)[0] if ".py" in adapter else adapter
    if target.endswith((".py", ".yaml", ".yml")):
        target = Path(target).stem
    return re.sub(r"[^A-Za-z0-9_.,=+-]+", "-", target).strip("-.") or "system"


def apply_limits(limits: MatrixLimits, given: Mapping[str, Any]) -> MatrixLimits:
    """The limits with those that flags gave in their place."""
    names: Iterator[str] = (name for name in MatrixLimits.__dataclass_fields__ if name in given)
    return replace(limits, **{name: given[name] for name in names})
