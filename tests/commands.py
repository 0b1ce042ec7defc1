"""What a command leaves behind, for the tests that run one."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str


Invoke = Callable[..., Shown]
