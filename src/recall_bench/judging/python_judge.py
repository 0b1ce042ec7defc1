"""A judge written in Python by the user: a file or an importable name.

What user code raises becomes a JudgeFault; what it returns is a verdict or unreadable.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Protocol, runtime_checkable

from recall_bench.core.errors import (
    BenchError,
    JudgeBusy,
    JudgeFault,
    UnreadableVerdict,
    UsageError,
)
from recall_bench.core.plain_text import escape_surrogates
from recall_bench.core.runtime import run_in_daemon_thread
from recall_bench.core.scenario import Scenario
from recall_bench.core.user_code import (
    describe_error,
    digest_source,
    import_target,
    is_async_call,
    split_target,
)
from recall_bench.core.verdict import Exhibit, Judge, JudgeCard, Verdict
from recall_bench.judging.verdicts import parse_marks

_DEFAULT_NAME = "judge"

JudgeFunction = Callable[[Exhibit], object]
"""A user's judge function, sync or async."""


@runtime_checkable
class _JudgeObject(Protocol):
    """A user's judge object. It may also have `study` and `card`."""

    judge: JudgeFunction


def load_judge(target: str, config: Mapping[str, object]) -> Judge:
    """Load the judge that `file.py`, `file.py:name` or `package.module:name` names.

    The name is a function that takes the exhibit, an object with a method `judge`, or a class or
    factory that builds one of these from the configuration. A file alone means its `judge`, or
    else its class `Judge`.
    """
    place, name = _split_judge_target(target)
    module = import_target(place, f"judge {target}")
    if name == _DEFAULT_NAME and not hasattr(module, name) and hasattr(module, "Judge"):
        name = "Judge"
    found = getattr(module, name, None)
    if found is None:
        raise UsageError(f"judge {target}: {place} has no {name!r}; define it or name another")
    if _is_factory(found, name):
        found = _make_judge(found, config, target)
    elif config:
        raise UsageError(
            f"judge {target}: {name!r} takes no settings, so {min(config)!r} has no effect; "
            "remove it, or name a class or a factory that takes config"
        )
    function = found.judge if isinstance(found, _JudgeObject) else found
    if not callable(function):
        raise UsageError(
            f"judge {target}: {name!r} is {type(found).__name__}, neither a function nor an object "
            "with a judge method"
        )
    study = getattr(found, "study", None)
    if inspect.iscoroutinefunction(study):
        raise UsageError(f"judge {target}: study must not be async; make it a plain function")
    return PythonJudge(function, _make_card(found, module, target, config), study)


class PythonJudge:
    """A user's judge behind the Judge contract."""

    def __init__(
        self,
        function: JudgeFunction,
        card: JudgeCard,
        study: Callable[[Scenario], object] | None = None,
    ) -> None:
        self.card = card
        self._function = function
        self._study = study

    def study(self, scenario: Scenario) -> None:
        """Call the user's `study`, if there is one."""
        if self._study is not None:
            with _translate_errors(
                JudgeFault, f"judge {self.card.name} failed to study {scenario.id}"
            ):
                self._study(scenario)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Call the judge, in a thread if it is not async, and parse what it returns."""
        with _translate_errors(JudgeFault, f"judge {self.card.name} failed"):
            try:
                if is_async_call(self._function):
                    returned = self._function(exhibit)
                else:
                    returned = await run_in_daemon_thread(partial(self._function, exhibit))
                if isinstance(returned, Awaitable):
                    returned = await returned
            except (ConnectionError, TimeoutError) as error:
                raise JudgeBusy(
                    f"judge {self.card.name} could not reach what it needs: {describe_error(error)}"
                ) from error
        return _parse_result(returned)


@contextmanager
def _translate_errors(fault: type[BenchError], problem: str) -> Iterator[None]:
    """Turn whatever user code raises into the fault."""
    try:
        yield
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        raise fault(f"{problem}: {describe_error(error)}") from error


def _parse_result(returned: object) -> Verdict:
    if isinstance(returned, Verdict):
        return returned.replace(reason=escape_surrogates(returned.reason))
    if isinstance(returned, Mapping):
        return parse_marks(returned)
    text = repr(returned)
    raise UnreadableVerdict(
        f"the judge returned {text[:120]} ({type(returned).__name__}), "
        "not a Verdict or a mapping with its marks"
    )


def _split_judge_target(target: str) -> tuple[str, str]:
    place, name = split_target(target)
    name = name or (_DEFAULT_NAME if place.endswith(".py") else "")
    if not place or not name.isidentifier():
        raise UsageError(
            f"judge {target!r} is neither file.py, file.py:name nor package.module:name"
        )
    return place, name


def _is_factory(found: object, name: str) -> bool:
    if inspect.isclass(found):
        return True
    if not inspect.isfunction(found) or name == _DEFAULT_NAME:
        return False
    parameters = list(inspect.signature(found).parameters)
    return not parameters or parameters[0] == "config"


def _make_judge(
    factory: Callable[..., object], config: Mapping[str, object], target: str
) -> object:
    try:
        takes_config = bool(inspect.signature(factory).parameters)
    except ValueError:
        takes_config = False
    if config and not takes_config:
        raise UsageError(
            f"judge {target} takes no settings, so {min(config)!r} has no effect; remove it"
        )
    with _translate_errors(UsageError, f"judge {target} cannot be built"):
        return factory(config) if takes_config else factory()


def _make_card(
    found: object, module: ModuleType, target: str, config: Mapping[str, object]
) -> JudgeCard:
    own = getattr(found, "card", None)
    if isinstance(own, JudgeCard):
        return own
    if own is not None:
        raise UsageError(f"judge {target}: its card is {type(own).__name__}, not a JudgeCard")
    settings = f" {sorted(config.items())!r}" if config else ""
    return JudgeCard(name=target, version=(digest_source(module) or "undeclared") + settings)
