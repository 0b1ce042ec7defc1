"""A product under the name it is asked for: its adapter, and what it needs to run."""

import inspect
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from recall_bench.core.memory import MemorySystem
from recall_bench.errors import UsageError
from recall_bench.systems.python.system import build_python_system


class Product:
    """Makes the system of a product from its settings, and says what is missing for it.

    Nothing of the product is imported before it is called.
    """

    def __init__(
        self,
        adapter: type,
        *,
        needs: tuple[str, ...] = (),
        programs: tuple[str, ...] = (),
        extra: str | None = None,
        wants_endpoint: bool = False,
    ) -> None:
        self.adapter = adapter
        self.name: str = getattr(adapter, "name", adapter.__name__)
        self.needs = needs
        """The modules it imports that the base install does not bring."""
        self.programs = programs
        """The programs it starts, which no extra installs."""
        self.extra = self.name if extra is None else extra
        """The extra of ours that installs them."""
        self.wants_endpoint = wants_endpoint
        """Whether it cannot do without a model endpoint, so that one must be started for it."""
        self.__doc__ = adapter.__doc__

    @property
    def takes_endpoint(self) -> bool:
        """Whether it can make use of a model endpoint: its adapter has a parameter for it."""
        return "endpoint" in inspect.signature(self.adapter).parameters

    @property
    def is_installed(self) -> bool:
        """Whether every module it needs can be imported here."""
        return all(_is_importable(module) for module in self.needs)

    def __call__(
        self, config: Mapping[str, object], *, endpoint: str | None = None
    ) -> MemorySystem:
        """The system, or UsageError. The endpoint, a base URL ending in /v1, is on no card."""
        if not self.is_installed:
            raise UsageError(
                f"{self.name} is not installed; pip install 'recall-bench[{self.extra}]'"
            )
        for program in self.programs:
            if shutil.which(program) is None:
                raise UsageError(
                    f"{self.name} needs the program {program}, which is not on the PATH; install it"
                )
        if endpoint is None and self.wants_endpoint:
            raise UsageError(f"{self.name} needs a model endpoint, and none was started for it")
        if endpoint is not None and not self.takes_endpoint:
            raise UsageError(f"{self.name} has no use for a model endpoint; start none for it")
        given = {"endpoint": endpoint} if self.takes_endpoint else {}
        return build_python_system(
            self.adapter, {**self._collect_defaults(given), **config}, given=given
        )

    def _collect_defaults(self, given: Mapping[str, object]) -> dict[str, object]:
        """The settings unsaid: they too decide what is found, so they belong on the card."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.adapter).parameters.items()
            if name not in given and parameter.default is not inspect.Parameter.empty
        }


def _is_importable(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
