"""A language model written in Python by somebody else: a file or an importable name.

This is where foreign code runs, so this is where its failures get a name: what it raises is a
ModelFault, and what it returns is a reply or one more.
"""

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

from recall_bench.core.usage import Usage
from recall_bench.errors import ModelBusy, ModelFault, UsageError
from recall_bench.foreign_code import (
    describe_error,
    digest_source,
    import_target,
    locate_error,
    split_target,
)
from recall_bench.models.daemon_thread import run_in_daemon_thread
from recall_bench.models.faults import truncate_line
from recall_bench.models.model import Prompt, Reply
from recall_bench.models.python_call import PythonCall, inspect_call
from recall_bench.models.secrets import Redactor, list_environment_secrets
from recall_bench.models.tuning import NO_TUNING, Tuning

_USUAL_NAMES = ("model", "complete")


def load_model(
    target: str, tuning: Tuning = NO_TUNING, environ: Mapping[str, str] | None = None
) -> "PythonModel":
    """The model that `file.py`, `file.py:name` or `package.module:name` names, ready to be asked.

    The name is a function that takes the prompt, or system and user as two texts; an object with
    such a method called `complete`; or a class or function without parameters that makes one of
    these. A file alone means its `model`, or else its `complete`. What the tuning asks for is
    passed on where it is taken.
    """
    place, name = _split_name(target)
    module = import_target(place, target)
    found = _make_object(_find_object(module, target, name), target)
    function = found.complete if hasattr(found, "complete") else found
    if not callable(function):
        raise UsageError(
            f"{target}: is {type(found).__name__}, neither a function nor an object with a "
            "complete method"
        )
    redact = Redactor(list_environment_secrets(os.environ if environ is None else environ))
    call = inspect_call(function, tuning, target)
    return PythonModel(
        found, call, name=redact(_make_name(target, module, found, call)), redact=redact
    )


class PythonModel:
    """Somebody's model behind our contract."""

    def __init__(self, found: object, call: PythonCall, *, name: str, redact: Redactor) -> None:
        self._found = found
        self._call = call
        self._name = name
        self._redact = redact

    @property
    def name(self) -> str:
        """Of its file, with a digest of that, and what it calls itself."""
        return self._name

    @property
    def is_priced(self) -> bool:
        """Whether it says so itself; then its replies say what they cost."""
        return getattr(self._found, "is_priced", False) is True

    def __repr__(self) -> str:
        return f"PythonModel({self.name})"

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once, in a thread if it is not async.

        A thread cannot be ended: one whose caller gave up runs on, unheard.
        """
        returned = await self._run(
            partial(self._call.function, *self._call.format_arguments(prompt))
        )
        if isinstance(returned, str):
            return Reply(text=_escape_text(returned), usage=Usage(calls=1, unpriced=1))
        if isinstance(returned, Reply):
            return replace(returned, text=_escape_text(returned.text))
        kind = type(returned).__name__
        raise ModelFault(f"{self.name}: returned {kind}, neither a text nor a Reply")

    async def close(self) -> None:
        """Let it close, if it wants to."""
        close = getattr(self._found, "close", None)
        if callable(close):
            await self._run(close)

    async def _run(self, call: Callable[[], object]) -> object:
        fault: ModelFault
        try:
            returned = call() if _is_async(call) else await run_in_daemon_thread(call)
            return await returned if isinstance(returned, Awaitable) else returned
        except ModelFault:
            raise
        except (ConnectionError, TimeoutError) as error:
            fault = ModelBusy(
                f"{self.name}: could not reach what it needs: {self._describe_error(error)}"
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's code
            fault = ModelFault(f"{self.name}: failed: {self._describe_error(error)}")
        # Raised here, where no error of theirs is being handled, it drags no secrets along.
        raise fault

    def _describe_error(self, error: BaseException) -> str:
        place = locate_error(error)
        said = truncate_line(self._redact(describe_error(error)))
        return f"{said} ({place})" if place else said


def _split_name(target: str) -> tuple[str, str]:
    place, name = split_target(target)
    is_module = re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", place) is not None and bool(name)
    if not (place.endswith(".py") or is_module) or (name and not name.isidentifier()):
        raise UsageError(
            f"{target!r} is neither file.py, file.py:name nor package.module:name; a program is "
            "named as command:PROGRAM"
        )
    return place, name


def _find_object(module: ModuleType, target: str, name: str) -> object:
    for wanted in (name,) if name else _USUAL_NAMES:
        if hasattr(module, wanted):
            found: object = getattr(module, wanted)
            return found
    missing = name or " or ".join(_USUAL_NAMES)
    raise UsageError(f"{target}: there is no {missing} in it; define it, or name another")


def _make_object(found: object, target: str) -> object:
    """What a class or a function without parameters makes; anything else as it is."""
    if not inspect.isclass(found):
        if not inspect.isfunction(found) or inspect.signature(found).parameters:
            return found
        if inspect.iscoroutinefunction(found):
            raise UsageError(f"{target}: takes no prompt; give it a parameter for one")
    assert callable(found)  # noqa: S101 - a class or a function
    try:
        made: object = found()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{target}: cannot be made: {describe_error(error)}") from error
    return made


def _make_name(target: str, module: ModuleType, found: object, call: PythonCall) -> str:
    place, name = split_target(target)
    place = Path(place).name if place.endswith(".py") else place
    own = getattr(found, "name", None)
    parts = {
        "digest": digest_source(module),
        "name": truncate_line(own) if isinstance(own, str) else None,
        **{key.replace("_", "-"): str(value) for key, value in call.asked.items()},
    }
    said = [f"{key}={value}" for key, value in parts.items() if value is not None]
    return ";".join([f"{place}:{name}" if name else place, *said])


def _is_async(call: Callable[[], object]) -> bool:
    function = call.func if isinstance(call, partial) else call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def _escape_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
