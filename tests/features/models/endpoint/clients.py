"""Calling an endpoint as products do: with OpenAI's own client, or with plain HTTP."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import openai

from recall_bench.features.models.chat_completions import open_chat
from recall_bench.features.models.model_endpoint import ModelEndpoint
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.systems.parent_endpoint import ParentEndpoint

HELLO: list[Any] = [{"role": "user", "content": "Who has the key?"}]


@contextmanager
def client(endpoint: ModelEndpoint | ParentEndpoint) -> Iterator[openai.OpenAI]:
    """It asks once and does not retry."""
    with openai.OpenAI(base_url=endpoint.url, api_key="sk-of-the-client", max_retries=0) as found:
        yield found


@contextmanager
def talking(text: str, *, timeout_s: float = 30, **environ: str) -> Iterator[ModelEndpoint]:
    """An endpoint that passes chats on to the model of this spec."""
    spec = parse_spec(text, environ)
    assert spec is not None
    with ModelEndpoint(chat=open_chat(spec, environ, timeout_s=timeout_s)) as endpoint:
        yield endpoint


def call(
    endpoint: ModelEndpoint,
    path: str,
    body: object = None,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request; a body that is not bytes is sent as JSON."""
    place = urlsplit(endpoint.url)
    line = HTTPConnection("127.0.0.1", place.port, timeout=20)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        line.request(method, path, sent, dict(headers or {}))
        reply = line.getresponse()
        found = {name.lower(): value for name, value in reply.getheaders()}
        return reply.status, found, reply.read()
    finally:
        line.close()
