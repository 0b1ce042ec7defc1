"""How somebody else's function wants to be called, read from its signature."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from inspect import Parameter

from recall_bench.errors import UsageError
from recall_bench.models.model import Prompt
from recall_bench.models.program import join_prompt
from recall_bench.models.tuning import Tuning

_TUNING_NAMES = ("temperature", "max_tokens")
_IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class _PromptForm(Enum):
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
    takes: _PromptForm

    def format_arguments(self, prompt: Prompt) -> tuple[Prompt] | tuple[str, ...]:
        """The prompt in the form that the function takes."""
        match self.takes:
            case _PromptForm.PROMPT:
                return (prompt,)
            case _PromptForm.TEXT:
                return (join_prompt(prompt),)
            case _PromptForm.SYSTEM_AND_USER:
                return (prompt.system, prompt.user)


def inspect_call(function: Callable[..., object], tuning: Tuning, owner: str) -> PythonCall:
    """How to call it; UsageError that speaks of its owner if it takes no prompt.

    `temperature` and `max_tokens` are passed by name, if the user asked for them. One that it
    cannot do without is None otherwise.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise UsageError(f"{owner}: nobody can tell what it takes; wrap it in a function") from None
    takes = _find_form(parameters)
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
    missed = {
        name: None
        for name in _TUNING_NAMES
        if name in parameters and _is_mandatory(parameters[name])
    }
    return PythonCall(function=partial(function, **(missed | asked)), asked=asked, takes=takes)


def _find_form(parameters: Mapping[str, Parameter]) -> _PromptForm | None:
    others = [one for name, one in parameters.items() if name not in _TUNING_NAMES]
    in_order = [one for one in others if one.kind in _IN_ORDER]
    required = [one for one in others if _is_mandatory(one)]
    if not in_order or any(one not in in_order for one in required):
        return None
    if [one.name for one in in_order[:2]] == ["system", "user"] or len(required) == 2:
        return None if len(required) > 2 else _PromptForm.SYSTEM_AND_USER
    if len(required) > 2:
        return None
    return _PromptForm.TEXT if in_order[0].annotation in (str, "str") else _PromptForm.PROMPT


def _is_mandatory(parameter: Parameter) -> bool:
    is_variable = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not is_variable
