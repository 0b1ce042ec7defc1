"""Whoever runs the tests may have proxies of their own; loopback needs none."""

import pytest

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_PROXIES, *map(str.lower, _PROXIES)):
        monkeypatch.delenv(name, raising=False)
