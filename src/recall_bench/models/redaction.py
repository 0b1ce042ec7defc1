"""Keys stay out of whatever we say, write or log.

Providers repeat a refused key in the body of a 401, and HTTP libraries log whole headers. Every
text that comes from them passes through a `Redactor` before it is raised or returned, and their
loggers pass through a filter that knows every key in use.
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
    # Who authenticates, and with what, in a header, a dictionary or a list of pairs.
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
"""From here on a secret is replaced wherever it stands; a shorter one only as a whole word."""


_KEYS_NECESSARY = ContextVar("needed", default=True)


@contextmanager
def allow_missing_keys() -> Iterator[None]:
    """Within it models are only looked at, and open without the keys that asking them takes."""
    token = _KEYS_NECESSARY.set(False)
    try:
        yield
    finally:
        _KEYS_NECESSARY.reset(token)


def is_key_necessary() -> bool:
    """Whether a model that is opened now may be asked."""
    return _KEYS_NECESSARY.get()


class Redactor:
    """Takes the given secrets, and whatever is shaped like a key, out of a text."""

    __slots__ = ("_known",)

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known = _compile_pattern(tuple(secrets))

    def __call__(self, text: str) -> str:
        """The text with neither secrets nor anything that looks like one."""
        text = self.redact_secrets(text)
        for shape in _SHAPES:
            text = shape.sub(rf"\g<keep>{REDACTED}", text)
        return text

    def redact_secrets(self, text: str) -> str:
        """The text without the given secrets, and otherwise as it was."""
        return text if self._known is None else self._known.sub(REDACTED, text)

    def __repr__(self) -> str:
        return "Redactor()"


def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for secret in secrets for form in _list_forms(secret)}
    wordings = [
        re.escape(form) if len(form) >= _LONG else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(forms, key=len, reverse=True)
    ]
    # Some providers show the head of a key and stars, or a log line breaks in the middle of it.
    heads = {secret[:_LONG] for secret in secrets if len(secret) >= 2 * _LONG}
    wordings += [rf"{re.escape(head)}[\w*.…-]*" for head in sorted(heads)]
    return re.compile("|".join(wordings)) if wordings else None


def _list_forms(secret: str) -> set[str]:
    """A secret as it may be written: plain, in a URL, in JSON, in a Basic header."""
    if not secret:
        return set()
    return {
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        b64encode(secret.encode()).decode(),
    }


def list_userinfo_secrets(userinfo: str | None) -> tuple[str, ...]:
    """What to keep secret about `user:password` of a URL: all of it, and the password."""
    if userinfo is None:
        return ()
    plain = unquote(userinfo)
    return tuple(filter(None, (plain, plain.partition(":")[2])))


def list_environment_secrets(
    environ: Mapping[str, str], *, shortest: int = _LONG
) -> tuple[str, ...]:
    """The values of the variables whose names say that they are secret."""
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
            return True  # not ours to repair: logging itself reports a malformed record
        record.args = None
        if record.exc_info and record.exc_info[1]:
            record.exc_text = self._redactor("".join(format_exception(record.exc_info[1])).rstrip())
            record.exc_info = None
        return True


_FILTER = _LogFilter()


def filter_logs(secrets: Iterable[str]) -> None:
    """From now on, the libraries we call models through log none of these."""
    _FILTER.learn(secrets)
    families = tuple(f"{name}." for name in _LOGGERS)
    known = tuple(name for name in logging.root.manager.loggerDict if name.startswith(families))
    for name in (*_LOGGERS, *known):
        logging.getLogger(name).addFilter(_FILTER)
