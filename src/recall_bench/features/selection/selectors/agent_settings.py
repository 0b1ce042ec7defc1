"""The recall agent's settings: from a mapping, and from an `agent.conf`.

The conf file has shell syntax, one `KEY=value` per line; it is parsed, never executed. Only keys
that begin with MEMORY_RECALL_ are read; the file is the agent's own and holds other settings too.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.feature import require_part
from recall_bench.features.selection.selectors.agent_prompt import (
    RecallTemplate,
    find_template,
    read_template,
)

CALL_TIMEOUT_S = 25.0
"""The default time limit of a model call."""

_PREFIX = "MEMORY_RECALL_"
_KEYS = ("scheme", "models", "prompts", "presearch", "presearch_content")
"""The keys of a conf file, there with the prefix and in capitals."""
_DIRECT = (*_KEYS, "call_timeout_s", "conf")

_ALIASES = frozenset({"opus", "sonnet", "haiku"})
"""Model names of the `claude` program."""

_ASSIGNMENT = re.compile(rf"\s*(?:export\s+)?(?P<key>{_PREFIX}\w+)(?P<equals>\s*=)?")
_PIECE = re.compile(
    r"""'(?P<literal>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^\s'"\\]+)"""
)
_UNFILLED = re.compile(r"(?:^|[^\\])(?:\\\\)*[$`]")
_AFTER = re.compile(r"\s*(?:#.*)?")


class Scheme(StrEnum):
    """How many passes select."""

    SINGLE = "single"
    """One pass, over a line about each memory."""
    DOUBLE = "double"
    """A second pass over the full text of what the first one chose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Everything that determines a selection of the recall agent.

    For a single scheme, the second model and template are None. Models are written as for
    `--judge`.
    """

    scheme: Scheme
    first_model: str
    second_model: str | None
    first_template: RecallTemplate
    second_template: RecallTemplate | None
    presearch: bool
    presearch_content: bool
    call_timeout_s: float


def read_conf(path: Path) -> dict[str, str]:
    """The recall settings of a conf file, by our names; UsageError for unknown keys."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise UsageError(f"conf: {path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise Malformed(str(path), "a conf file is text in UTF-8, and this is not") from error
    values: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if assigned := _ASSIGNMENT.match(line):
            where = f"{path}:{number}"
            key = _parse_key(assigned["key"], where)
            if key in values:
                raise Malformed(where, f"{assigned['key']} is set a second time; keep one")
            if assigned["equals"] != "=":
                raise Malformed(where, f"write {assigned['key']}=value, with no blanks around '='")
            values[key] = _parse_value(line[assigned.end() :], assigned["key"], where)
    # An empty value means the default, as it does for the agent itself.
    return {key: value for key, value in values.items() if value}


def _parse_key(key: str, where: str) -> str:
    name = key.removeprefix(_PREFIX).lower()
    if name in _KEYS and key.isupper():
        return name
    variables = [_PREFIX + key.upper() for key in _KEYS]
    near = get_close_matches(key.upper(), variables, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(variables)}"
    raise UsageError(f"{where}: unknown key {key}; {hint}")


def _parse_value(text: str, key: str, where: str) -> str:
    """The value as a shell would read it without expansions."""
    value, at = "", 0
    while piece := _PIECE.match(text, at):
        at = piece.end()
        if piece["literal"] is not None:
            value += piece["literal"]
            continue
        plain = piece["quoted"] if piece["quoted"] is not None else piece["bare"] or ""
        if _UNFILLED.search(plain):
            raise Malformed(where, f"{key} needs a shell to expand it; write the value out")
        value += re.sub(r"\\([\\\"$`])", r"\1", plain) + (piece["escaped"] or "")
    if not _AFTER.fullmatch(text, at):
        problem = "a quote is not closed" if text[at] in "'\"" else "more follows the value"
        raise Malformed(where, f"{key}: {problem}; write the whole value in quotes, on one line")
    return value.strip()


def build_agent_settings(config: Mapping[str, object], folder: Path) -> AgentSettings:
    """Settings of the mapping, else of its conf file, else defaults; UsageError if wrong.

    Relative paths and `prompts` are looked up in the folder; for a conf file, in its own folder.
    """
    _refuse_unknown(config)
    conf = _find_conf(config, folder)
    settings: dict[str, object] = {**(read_conf(conf) if conf else {})}
    at_home = conf.parent if conf is not None and "prompts" not in config else folder
    settings |= {key: value for key, value in config.items() if key != "conf"}
    scheme = _parse_scheme(settings.get("scheme", Scheme.DOUBLE))
    is_double = scheme is Scheme.DOUBLE
    models = _parse_pair(
        "models", settings.get("models", "opus/opus"), _is_model, is_double=is_double
    )
    prompts = _parse_pair(
        "prompts",
        settings.get("prompts", _OURS[scheme]),
        lambda name: find_template(name, at_home) is not None,
        is_double=is_double,
    )
    return AgentSettings(
        scheme=scheme,
        first_model=_normalise_model(models[0]),
        second_model=_normalise_model(models[1]) if is_double else None,
        first_template=read_template(prompts[0], at_home),
        second_template=read_template(prompts[1], at_home) if is_double else None,
        presearch=_parse_switch("presearch", settings.get("presearch", False)),
        presearch_content=_parse_switch(
            "presearch_content", settings.get("presearch_content", False)
        ),
        call_timeout_s=_parse_seconds(settings.get("call_timeout_s", CALL_TIMEOUT_S)),
    )


_OURS = {
    Scheme.SINGLE: "recall-v1-single",
    Scheme.DOUBLE: "recall-v1-pass1/recall-v1-pass2",
}


def _refuse_unknown(config: Mapping[str, object]) -> None:
    for key in config:
        if key not in _DIRECT:
            near = get_close_matches(key, _DIRECT, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(_DIRECT)}"
            raise UsageError(f"the recall agent has no setting {key!r}; {hint}")


def _find_conf(config: Mapping[str, object], folder: Path) -> Path | None:
    if "conf" not in config:
        return None
    named = config["conf"]
    if not isinstance(named, str | Path) or not str(named):
        raise UsageError(f"conf: {named!r} is not a path; name an agent.conf")
    return folder / named


def _parse_scheme(value: object) -> Scheme:
    try:
        return Scheme(str(value))
    except ValueError as error:
        raise UsageError(f"scheme: {value!r} is neither single nor double; choose one") from error


def _parse_switch(key: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("on", "off"):
        return value == "on"
    raise UsageError(f"{key}: {value!r} is neither on nor off; choose one")


def _parse_seconds(value: object) -> float:
    if isinstance(value, int | float) and value is not True and 0 < value < math.inf:
        return float(value)
    raise UsageError(f"call_timeout_s: {value!r} is not a time limit; give seconds above 0")


def _parse_pair(
    key: str, value: object, is_one: Callable[[str], bool], *, is_double: bool
) -> tuple[str, str]:
    """One value for each pass; a single value is for both."""
    match value:
        case str() if value.strip():
            return _split_pair(key, value.strip(), is_one, is_double=is_double)
        case [str() as one]:
            return one, one
        case [str() as first, str() as second]:
            return first, second
    raise UsageError(f"{key}: {value!r} is not one for each pass; write FIRST/SECOND")


def _split_pair(
    key: str, text: str, is_one: Callable[[str], bool], *, is_double: bool
) -> tuple[str, str]:
    """Split the text at the one slash that separates two valid values.

    Model addresses and paths contain slashes too; a slash between spaces always separates. If
    neither the parts nor the whole are valid, it is split as a shell does: before the first slash
    and after the last one.
    """
    if " / " in text:
        first, _, second = text.partition(" / ")
        return first.strip(), second.strip()
    cuts = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "/"]
    fitting = [cut for cut in cuts if is_one(cut[0]) and is_one(cut[1])]
    if len(fitting) > 1:
        raise UsageError(f"{key}: can be divided in several ways; write ' / ' between the two")
    if fitting:
        return fitting[0]
    if not is_one(text) and not is_double:
        # The second value is not used, so it need not be valid.
        fitting = [cut for cut in cuts if is_one(cut[0])]
    if len(fitting) == 1:
        return fitting[0]
    if is_one(text) or not cuts:
        return text, text
    return text.partition("/")[0], text.rpartition("/")[2]


def _is_model(text: str) -> bool:
    try:
        return text in _ALIASES or bool(require_part("models.is_spec", text)(text))
    except UsageError:
        return False


def _normalise_model(text: str) -> str:
    """A model spec; names of the `claude` program become `claude:NAME`."""
    return f"claude:{text}" if text in _ALIASES or text.startswith("claude-") else text
