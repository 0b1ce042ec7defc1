"""Keeps keys out of messages, files and logs.

Providers repeat a refused key in the body of a 401, and HTTP libraries log whole headers. Every
text from them passes through a `Redactor` before it is raised or returned, and their loggers have
a filter with every key in use.
"""

import json
import logging
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from traceback import format_exception
from urllib.parse import quote, unquote

REDACTED = "[redacted]"

_LOGGERS = (
    "anthropic",
    "anthropic._base_client",
    "genai-prices",
    "httpcore",
    "httpcore2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
    "httpx",
    "httpx2",
    "openai",
    "openai._base_client",
    "pydantic_ai",
)

_SHAPES = (
    # Credentials in a header, a dictionary or a list of pairs.
    re.compile(
        r"(?P<keep>(?:authorization|(?:x-)?api[-_]?key)['\"]?\s*[:=,]\s*(?:b?['\"])?)"
        r"(?:(?:bearer|basic)\s+)?[^\s'\",;)}\]]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>\bbearer\s+)[\w.~+/=*-]{6,}", re.IGNORECASE),
    re.compile(r"(?P<keep>)\b(?:sk|pk|gsk|xai|hf|ghp|gho|ghs)[-_][\w*.-]{8,}"),
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]*://)[^\s/@]+(?=@)", re.IGNORECASE),
)

_LONG = 8
"""A secret of this length is replaced anywhere; a shorter one only as a whole word."""


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


class Redactor:
    """Removes the given secrets, and everything shaped like a key, from texts."""

    __slots__ = ("_known",)

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known = _compile_pattern(tuple(secrets))

    def __call__(self, text: str) -> str:
        """Return the text without secrets and without anything that looks like one."""
        text = self.redact_secrets(text)
        for shape in _SHAPES:
            text = shape.sub(rf"\g<keep>{REDACTED}", text)
        return text

    def redact_secrets(self, text: str) -> str:
        """Return the text without the given secrets, and otherwise unchanged."""
        return text if self._known is None else self._known.sub(REDACTED, text)

    def __repr__(self) -> str:
        return "Redactor()"


def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for secret in secrets for form in _list_forms(secret)}
    wordings = [
        re.escape(form) if len(form) >= _LONG else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(forms, key=len, reverse=True)
    ]
    # Some providers show the start of a key and stars, and some log lines are cut within it.
    heads = {secret[:_LONG] for secret in secrets if len(secret) >= 2 * _LONG}
    wordings += [rf"{re.escape(head)}[\w*.…-]*" for head in sorted(heads)]
    return re.compile("|".join(wordings)) if wordings else None


def _list_forms(secret: str) -> set[str]:
    """List the spellings of a secret: plain, in a URL, in JSON, in a Basic header."""
    if not secret:
        return set()
    return {
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        b64encode(secret.encode()).decode(),
    }


def list_userinfo_secrets(userinfo: str | None) -> tuple[str, ...]:
    """List the secrets in `user:password` of a URL: all of it, and the password."""
    if userinfo is None:
        return ()
    plain = unquote(userinfo)
    return tuple(filter(None, (plain, plain.partition(":")[2])))


def list_environment_secrets(
    environ: Mapping[str, str], *, shortest: int = _LONG
) -> tuple[str, ...]:
    """List the values of variables whose names mark them as secret."""
    secret = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)", re.IGNORECASE)
    return tuple(
        value for name, value in environ.items() if secret.search(name) and len(value) >= shortest
    )


class _LogFilter(logging.Filter):
    """Redacts the records of the libraries that carry our keys."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: set[str] = set()
        self._redactor = Redactor(())

    def learn(self, secrets: Iterable[str]) -> None:
        self._secrets.update(secrets)
        self._redactor = Redactor(self._secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            record.msg = self._redactor(record.getMessage())
        except (TypeError, ValueError):
            return True  # logging itself reports a malformed record
        record.args = None
        if record.exc_info and record.exc_info[1]:
            record.exc_text = self._redactor("".join(format_exception(record.exc_info[1])).rstrip())
            record.exc_info = None
        return True


_FILTER = _LogFilter()


def filter_logs(secrets: Iterable[str]) -> None:
    """Keep these secrets out of the logs of the libraries that call models."""
    _FILTER.learn(secrets)
    families = tuple(f"{name}." for name in _LOGGERS)
    known = tuple(name for name in logging.root.manager.loggerDict if name.startswith(families))
    for name in (*_LOGGERS, *known):
        logging.getLogger(name).addFilter(_FILTER)
