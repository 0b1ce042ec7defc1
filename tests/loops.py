"""One test for a loop over many cases: it runs them all and names those that fail."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")


def loop_over(
    cases: Iterable[Case], name: Callable[[Case], object] = repr
) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make a test without arguments from a check of one case."""
    every = tuple(cases)

    def decorate(check: Callable[[Case], None]) -> Callable[[], None]:
        def test() -> None:
            assert every, "no cases"
            failures: list[tuple[object, BaseException]] = []
            for case in every:
                try:
                    check(case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - reported below
                    failures.append((name(case), error))
            if failures:
                names = ", ".join(str(failed) for failed, _ in failures[:10])
                message = f"{len(failures)} of {len(every)} cases fail: {names}"
                raise AssertionError(message) from failures[0][1]

        # Not functools.wraps: pytest would take the argument of the check for a fixture.
        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__, test.__qualname__ = check.__module__, check.__qualname__
        return test

    return decorate


def loop_over_rows(
    names: str | tuple[str, ...], rows: Iterable[Any], ids: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Do the same for a check of several arguments; it is written like `parametrize`."""
    keys = (names,) if isinstance(names, str) else names
    cases = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    assert all(len(case) == len(keys) for case in cases)

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def check_row(case: tuple[Any, ...]) -> None:
            check(**dict(zip(keys, case, strict=True)))

        check_row.__name__, check_row.__doc__ = check.__name__, check.__doc__
        check_row.__module__, check_row.__qualname__ = check.__module__, check.__qualname__
        return loop_over(cases, lambda case: "-".join(str(ids(each)) for each in case))(check_row)

    return decorate
