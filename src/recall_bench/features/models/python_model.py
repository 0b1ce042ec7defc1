"""Models written in Python by the user: a file or an importable name.

User code runs here, so its failures are translated here: an exception becomes a ModelFault, and a
result that is no reply too. A blocking call runs in a daemon thread, which cannot keep the process
alive.
"""

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from types import ModuleType

from recall_bench.core.errors import ModelBusy, ModelFault, UsageError
from recall_bench.core.plain_text import escape_surrogates
from recall_bench.core.redaction import Redactor, list_environment_secrets
from recall_bench.core.runtime import run_in_daemon_thread
from recall_bench.core.usage import Usage
from recall_bench.core.user_code import (
    describe_error,
    digest_source,
    import_target,
    is_async_call,
    locate_error,
    split_target,
)
from recall_bench.features.models.faults import truncate_line
from recall_bench.features.models.program_model import join_prompt
from recall_bench.systems.models.model import NO_TUNING, Prompt, Reply, Tuning

_TUNING_NAMES = ("temperature", "max_tokens")
_IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A function with its settings bound, and how it takes a prompt."""

    function: Callable[..., object]
    asked: Mapping[str, float]
    """The settings of the user that the function takes."""
    format_arguments: Callable[[Prompt], tuple[object, ...]]
    """The prompt in the form that the function takes."""


def inspect_call(function: Callable[..., object], tuning: Tuning, owner: str) -> PythonCall:
    """Return how to call the function; UsageError, naming the owner, if it takes no prompt.

    `temperature` and `max_tokens` are passed by name if the user set them. A required one is None
    otherwise.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise UsageError(f"{owner}: its parameters cannot be read; wrap it in a function") from None
    form = _find_form(parameters)
    if form is None:
        raise UsageError(
            f"{owner}: takes neither a prompt alone nor system and user; give it one of these "
            "forms, with temperature and max_tokens as it likes"
        )
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    values = {"temperature": tuning.temperature, "max_tokens": tuning.max_tokens}
    settings = {
        name: value
        for name, value in values.items()
        if value is not None and (takes_any or name in parameters)
    }
    missed = {
        name: None for name in values if name in parameters and _is_mandatory(parameters[name])
    }
    bound = partial(function, **(missed | settings))
    return PythonCall(function=bound, asked=settings, format_arguments=form)


def _find_form(
    parameters: Mapping[str, Parameter],
) -> Callable[[Prompt], tuple[object, ...]] | None:
    """System and user, both in one text, or the prompt itself; None if it takes none of these."""
    others = [one for name, one in parameters.items() if name not in _TUNING_NAMES]
    in_order = [one for one in others if one.kind in _IN_ORDER]
    required = [one for one in others if _is_mandatory(one)]
    if not in_order or len(required) > 2 or any(one not in in_order for one in required):
        return None
    if [one.name for one in in_order[:2]] == ["system", "user"] or len(required) == 2:
        return lambda prompt: (prompt.system, prompt.user)
    if in_order[0].annotation in (str, "str"):
        return lambda prompt: (join_prompt(prompt),)
    return lambda prompt: (prompt,)


def _is_mandatory(parameter: Parameter) -> bool:
    is_variable = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not is_variable


_USUAL_NAMES = ("model", "complete")


def load_model(
    target: str, tuning: Tuning = NO_TUNING, environ: Mapping[str, str] | None = None
) -> "PythonModel":
    """Load the model of `file.py`, `file.py:name` or `package.module:name`.

    The name is a function that takes the prompt, or system and user as two texts; an object with
    such a method named `complete`; or a class or function without parameters that makes one of
    these. A file alone means its `model`, or else its `complete`. The tuning is passed to
    functions that take it.
    """
    place, name = split_target(target)
    is_module = re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", place) is not None and bool(name)
    if not (place.endswith(".py") or is_module) or (name and not name.isidentifier()):
        raise UsageError(
            f"{target!r} is neither file.py, file.py:name nor package.module:name; a program is "
            "named as command:PROGRAM"
        )
    module = import_target(place, target)
    names = (name,) if name else _USUAL_NAMES
    if (own := next((one for one in names if hasattr(module, one)), None)) is None:
        missing = " or ".join(names)
        raise UsageError(f"{target}: there is no {missing} in it; define it, or name another")
    target_object = _make_object(getattr(module, own), target)
    function = target_object.complete if hasattr(target_object, "complete") else target_object
    if not callable(function):
        raise UsageError(
            f"{target}: is {type(target_object).__name__}, neither a function nor an object with a "
            "complete method"
        )
    redact = Redactor(list_environment_secrets(os.environ if environ is None else environ))
    call = inspect_call(function, tuning, target)
    return PythonModel(
        target_object,
        call,
        name=redact(_make_name(target, module, target_object, call)),
        redact=redact,
    )


class PythonModel:
    """A model of the user."""

    def __init__(self, found: object, call: PythonCall, *, name: str, redact: Redactor) -> None:
        self._found = found
        self._call = call
        self._redact = redact
        self.name = name
        """Its file or module, a digest of the source, and its own name."""
        self.is_priced = getattr(found, "is_priced", False) is True
        """Its own `is_priced`; its replies then hold their price."""

    def __repr__(self) -> str:
        return f"PythonModel({self.name})"

    async def complete(self, prompt: Prompt) -> Reply:
        """Call once, in a thread if the function is not async.

        A thread cannot be ended: after a cancelled call it runs on, and its result is ignored.
        """
        returned = await self._run(
            partial(self._call.function, *self._call.format_arguments(prompt))
        )
        if isinstance(returned, str):
            return Reply(text=escape_surrogates(returned), usage=Usage(calls=1, unpriced=1))
        if isinstance(returned, Reply):
            return replace(returned, text=escape_surrogates(returned.text))
        kind = type(returned).__name__
        raise ModelFault(f"{self.name}: returned {kind}, neither a text nor a Reply")

    async def close(self) -> None:
        """Call its own `close`, if it has one."""
        close = getattr(self._found, "close", None)
        if callable(close):
            await self._run(close)

    async def _run(self, call: Callable[[], object]) -> object:
        fault: ModelFault
        try:
            function = call.func if isinstance(call, partial) else call
            returned = call() if is_async_call(function) else await run_in_daemon_thread(call)
            return await returned if isinstance(returned, Awaitable) else returned
        except ModelFault:
            raise
        except (ConnectionError, TimeoutError) as error:
            fault = ModelBusy(
                f"{self.name}: could not reach what it needs: {self._describe_error(error)}"
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code
            fault = ModelFault(f"{self.name}: failed: {self._describe_error(error)}")
        # Raised outside of the except block, so that it carries no context with secrets.
        raise fault

    def _describe_error(self, error: BaseException) -> str:
        place = locate_error(error)
        message = truncate_line(self._redact(describe_error(error)))
        return f"{message} ({place})" if place else message


def _make_object(found: object, target: str) -> object:
    """Return what a class or a function without parameters makes; anything else as it is."""
    if not inspect.isclass(found):
        if not inspect.isfunction(found) or inspect.signature(found).parameters:
            return found
        if inspect.iscoroutinefunction(found):
            raise UsageError(f"{target}: takes no prompt; give it a parameter for one")
    assert callable(found)  # noqa: S101 - a class or a function
    try:
        instance: object = found()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{target}: cannot be made: {describe_error(error)}") from error
    return instance


def _make_name(target: str, module: ModuleType, found: object, call: PythonCall) -> str:
    place, name = split_target(target)
    place = Path(place).name if place.endswith(".py") else place
    own = getattr(found, "name", None)
    parts = {
        "digest": digest_source(module),
        "name": truncate_line(own) if isinstance(own, str) else None,
        **{key.replace("_", "-"): str(value) for key, value in call.asked.items()},
    }
    options = [f"{key}={value}" for key, value in parts.items() if value is not None]
    return ";".join([f"{place}:{name}" if name else place, *options])
