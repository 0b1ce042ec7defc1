"""Whether models that are opened now need their keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KEYS_NECESSARY = ContextVar("needed", default=True)


@contextmanager
def allow_missing_keys() -> Iterator[None]:
    """Within this context models open without their keys, because none is called."""
    token = _KEYS_NECESSARY.set(False)
    try:
        yield
    finally:
        _KEYS_NECESSARY.reset(token)


def is_key_necessary() -> bool:
    """Whether a model that is opened now needs its key."""
    return _KEYS_NECESSARY.get()
