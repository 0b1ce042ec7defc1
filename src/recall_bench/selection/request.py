"""What `select run` is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recall_bench.selection.suite import EXAMPLE
from recall_bench.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """A suite and who is to pick."""

    selector: str
    memories: Path = EXAMPLE / "memory"
    tests: Path = EXAMPLE / "tests"
    settings: Settings = field(default_factory=lambda: Settings(error_budget=0.0))
    only: Sequence[str] = ()
    """Patterns of test names; empty means all."""
