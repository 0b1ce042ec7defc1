"""How somebody else's function wants to be called, read from its signature."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from inspect import Parameter

from recall_bench.errors import UsageError
from recall_bench.models.model import Prompt
from recall_bench.models.program import whole
from recall_bench.models.tuning import Tuning

_TUNED = ("temperature", "max_tokens")
_IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class _Takes(Enum):
    PROMPT = auto()
    TEXT = auto()
    """System and user in one."""
    SYSTEM_AND_USER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A function with what it is to be told beside the prompt."""

    function: Callable[..., object]
    asked: Mapping[str, float]
    """What the user asked for and the function takes."""
    takes: _Takes

    def positional(self, prompt: Prompt) -> tuple[Prompt] | tuple[str, ...]:
        """The prompt in the form that the function takes."""
        match self.takes:
            case _Takes.PROMPT:
                return (prompt,)
            case _Takes.TEXT:
                return (whole(prompt),)
            case _Takes.SYSTEM_AND_USER:
                return (prompt.system, prompt.user)


def python_call(function: Callable[..., object], tuning: Tuning, owner: str) -> PythonCall:
    """How to call it; UsageError that speaks of its owner if it takes no prompt.

    `temperature` and `max_tokens` are passed by name, if the user asked for them. One that it
    cannot do without is None otherwise.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise UsageError(f"{owner}: nobody can tell what it takes; wrap it in a function") from None
    takes = _takes(parameters)
    if takes is None:
        raise UsageError(
            f"{owner}: takes neither a prompt alone nor system and user; give it one of these "
            "forms, with temperature and max_tokens as it likes"
        )
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    wanted = {"temperature": tuning.temperature, "max_tokens": tuning.max_tokens}
    asked = {
        name: value
        for name, value in wanted.items()
        if value is not None and (takes_any or name in parameters)
    }
    missed = {name: None for name in _TUNED if name in parameters and _required(parameters[name])}
    return PythonCall(function=partial(function, **(missed | asked)), asked=asked, takes=takes)


def _takes(parameters: Mapping[str, Parameter]) -> _Takes | None:
    others = [one for name, one in parameters.items() if name not in _TUNED]
    in_order = [one for one in others if one.kind in _IN_ORDER]
    required = [one for one in others if _required(one)]
    if not in_order or any(one not in in_order for one in required):
        return None
    if [one.name for one in in_order[:2]] == ["system", "user"] or len(required) == 2:
        return None if len(required) > 2 else _Takes.SYSTEM_AND_USER
    if len(required) > 2:
        return None
    return _Takes.TEXT if in_order[0].annotation in (str, "str") else _Takes.PROMPT


def _required(parameter: Parameter) -> bool:
    is_variable = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not is_variable
