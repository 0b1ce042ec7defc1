"""Whoever runs the tests may have keys, addresses and proxies of their own."""

import os

import pytest

from recall_bench.models.provider_catalogue import PROVIDERS

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def nobodys_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {name for facts in PROVIDERS.values() for name in (*facts.keys, *facts.urls)}
    for name in (*ours, *_PROXIES, *map(str.lower, _PROXIES), "OPENAI_API_VERSION", "OPENAI_LOG"):
        if name in os.environ:
            monkeypatch.delenv(name)
