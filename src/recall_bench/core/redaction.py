"""Keeps keys out of everything that is written: journals, files, pages, messages and logs.

A secret is known by its name (`api_key` in a configuration, `--token` in a command, the password of
a URL), by the shape of well-known keys, or by its value: what settings and environment variables
with such names hold is replaced wherever it appears.

Messages may lose too much, answers must not: a story may speak of passwords and tokens. So the
texts of systems and judges lose known values and unmistakable keys only.
"""

import json
import logging
import os
import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from traceback import format_exception
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

REDACTED = "[redacted]"

_LONG = 8
"""A secret of this length is replaced anywhere in a message; a shorter one only as a whole word."""

_STRONG_NAMES = (
    r"(?:api|access|secret|private|signing|encryption|account|subscription|master|service|auth)"
    r"[-_]?key|(?:access|auth|api|bearer|refresh|session|id)[-_]?token|client[-_]?secret"
)
_WEAK_NAMES = "token|secret|password|passwd|pwd|passphrase|authorization|credentials?"

_SECRET_NAME = re.compile(rf"(?:.*_)?(?:{_STRONG_NAMES}|{_WEAK_NAMES})")
_ORDINARY_NAME = re.compile(
    r"(?:.*_)?(?:stop|eos|bos|pad|sep|unk|mask|cls|special|first|last|next|start|end)_token"
)
_SECRET_VARIABLE = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)", re.IGNORECASE
)
_PLACE_VARIABLE = re.compile(r"_(PATH|FILE|DIR|URL|NAME)$", re.IGNORECASE)

_VALUE = r"(?!\[redacted\])[^\s'\",;)}\]&]"
_SCHEME = r"(?:bearer|basic)\s+"

_MESSAGE_SHAPES = (
    # Credentials in a header, a dictionary, a list of pairs, a flag or a query. In prose a comma
    # stands after a name too: what follows it is a value if the name has a quote or it has a digit.
    re.compile(
        rf"(?P<keep>(?:authorization|{_STRONG_NAMES})"
        rf"(?:['\"]?\s*[:=]|['\"]\s*,|\s*,(?=\s*(?:b?['\"]|{_SCHEME}|{_VALUE}*\d)))"
        rf"\s*(?:b?['\"])?+)(?:{_SCHEME})?{_VALUE}+",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<keep>(?<![a-z])(?:{_WEAK_NAMES})(?:['\"]?\s*:\s*(?:b?['\"])?|['\"]?=(?:b?['\"])?))"
        rf"{_VALUE}{{4,}}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<keep>--(?:[\w-]*-)?(?:{_STRONG_NAMES}|{_WEAK_NAMES})\s+(?:['\"])?)(?!-){_VALUE}+",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<keep>[?&](?:key|sig|signature)=){_VALUE}+", re.IGNORECASE),
    re.compile(r"(?P<keep>\bbearer\s+)[\w.~+/=*-]{6,}", re.IGNORECASE),
    re.compile(r"(?P<keep>)\b(?:sk|pk|gsk|xai|hf|ghp|gho|ghs)[-_][\w*.-]{8,}"),
    re.compile(
        r"(?P<keep>(?<![a-z0-9+.-])[a-z0-9+.-]+://)(?!\[redacted\]@)[^\s/@]+(?=@)", re.IGNORECASE
    ),
)

_KEY_SHAPES = (
    re.compile(
        r"(?P<keep>)\b(?:(?:sk|pk|rk|xai|glpat|pplx|nvapi|tvly|dop_v1)[-_]"
        r"|(?:gsk|hf|ghp|gho|ghu|ghs|ghr|npm)_)(?=[\w-]*\d)[\w-]{16,}"
    ),
    re.compile(r"(?P<keep>)\bgithub_pat_\w{20,}"),
    re.compile(r"(?P<keep>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?P<keep>)\bAIza[\w-]{30,}"),
    re.compile(r"(?P<keep>)\bxox[abeoprs]-[\w-]{11,}"),
    re.compile(r"(?P<keep>)\bya29\.[\w-]{20,}"),
    re.compile(r"(?P<keep>)\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    re.compile(r"(?P<keep>)\beyJ[\w-]{13,}\.eyJ[\w-]{8,}\.[\w-]*"),
    re.compile(r"(?P<keep>\b[Bb]earer\s+)(?=[\w-]*\d)[\w-]{16,}[\w.~+/=-]*"),
    re.compile(
        rf"(?P<keep>(?:{_STRONG_NAMES})['\"]?\s?[:=]\s?['\"]?)(?=[\w-]*\d)[\w-]{{16,}}[\w.~+/=-]*",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?!\[redacted\])"
        r"(?s:.*?)(?=-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    ),
    re.compile(
        r"(?P<keep>(?<![a-z0-9+.-])[a-z0-9+.-]+://)[^\s/@:\[]+:[^\s/@]+(?=@)", re.IGNORECASE
    ),
)
"""Unmistakable keys. All but the last two contain a run of 16 letters, digits, `_` and `-`."""

_RUN = b"x" * 16
_RUN_TABLE = bytes(
    ord("x") if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "-_") else ord(" ")
    for code in range(256)
)


def _may_hold_key(text: str) -> bool:
    """Whether a shape of a key may match; a regular expression takes a hundred times as long."""
    plain = text.encode(errors="surrogatepass")
    return (
        _RUN in plain.translate(_RUN_TABLE)
        or b"PRIVATE KEY" in plain
        or (b"://" in plain and b"@" in plain)
    )


class Redactor:
    """Removes the given secrets, and everything shaped like a key, from texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(dict.fromkeys(filter(None, secrets)))

    def __call__(self, text: str) -> str:
        """Return a message without secrets and without anything that looks like one."""
        return _replace_shapes(self.redact_secrets(text), (*_KEY_SHAPES, *_MESSAGE_SHAPES))

    def redact_secrets(self, text: str) -> str:
        """Return the text without the given secrets, and otherwise unchanged."""
        return text if self._known is None else self._known.sub(REDACTED, text)

    def redact_keys(self, text: str) -> str:
        """Return an answer without the given keys and unmistakable ones; words stay."""
        if self._keys is not None:
            text = self._keys.sub(REDACTED, text)
        return _replace_shapes(text, _KEY_SHAPES) if _may_hold_key(text) else text

    def holds_keys(self, *texts: str) -> bool:
        """Whether `redact_keys` changes one of the texts."""
        return any(self.redact_keys(text) != text for text in texts)

    # One pattern for all secrets: one for each would take eight times as long.
    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        wordings = [
            re.escape(form) if len(form) >= _LONG else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in _list_forms(self._secrets)
        ]
        # Some providers show the start of a key and stars, and some log lines are cut within it.
        heads = {key[:_LONG] for key in self._secrets if len(key) >= 2 * _LONG and _is_key(key)}
        wordings += [rf"{re.escape(head)}[\w*.…-]*" for head in sorted(heads)]
        return re.compile("|".join(wordings)) if wordings else None

    @cached_property
    def _keys(self) -> re.Pattern[str] | None:
        forms = _list_forms(filter(_is_key, self._secrets))
        return re.compile("|".join(map(re.escape, forms))) if forms else None

    def __repr__(self) -> str:
        return "Redactor()"


def _replace_shapes(text: str, shapes: Iterable[re.Pattern[str]]) -> str:
    for shape in shapes:
        text = shape.sub(rf"\g<keep>{REDACTED}", text)
    return text


def _is_key(secret: str) -> bool:
    """Whether a secret differs from the words and numbers of any answer."""
    is_number = all(mark.isdecimal() or mark in " .:/-" for mark in secret)
    return len(secret) >= _LONG and not secret.isalpha() and not is_number


def _list_forms(secrets: Iterable[str]) -> list[str]:
    """List the spellings of secrets, longest first: plain, in a URL, in JSON, in a Basic header."""
    forms: set[str] = set()
    for secret in secrets:
        plain = secret.encode(errors="surrogatepass")
        forms |= {secret, quote(plain, safe=""), json.dumps(secret)[1:-1]}
        forms.add(b64encode(plain).decode())
    return sorted(forms, key=len, reverse=True)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether a setting, a flag or a query parameter of this name holds a secret."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("-"))
    plain = re.sub(r"[\s.-]+", "_", plain).lower()
    if _ORDINARY_NAME.fullmatch(plain):
        return False
    return _SECRET_NAME.fullmatch(plain) is not None or (name.isupper() and name.endswith("_KEY"))


def list_userinfo_secrets(userinfo: str | None) -> tuple[str, ...]:
    """List the secrets in `user:password` of a URL: all of it, and the password."""
    plain = unquote(userinfo or "")
    return tuple(filter(None, (plain, plain.partition(":")[2])))


def list_environment_secrets(
    environ: Mapping[str, str], *, shortest: int = _LONG
) -> tuple[str, ...]:
    """List the values of variables whose names mark them as secret."""
    return tuple(
        value
        for name, value in environ.items()
        if len(value) >= shortest and _is_secret_variable(name)
    )


@lru_cache(maxsize=1024)
def _is_secret_variable(name: str) -> bool:
    return bool(_SECRET_VARIABLE.search(name)) and not _PLACE_VARIABLE.search(name)


def find_secrets(value: object, name: str = "") -> Iterator[str]:
    """Find the secrets of a setting: values with such names, in its commands and URLs too."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from find_secrets(part, name if is_secret_name(name) else str(key))
    elif isinstance(value, list | tuple):
        yield from _find_flag_values([word for word in value if isinstance(word, str)])
        for part in value:
            yield from find_secrets(part, name)
    elif is_secret_name(name):
        if not _is_shown(value):
            yield str(value)
    elif isinstance(value, str):
        for url in re.findall(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s'\"]+", value):
            with suppress(ValueError):
                parts = urlsplit(url)
                yield from list_userinfo_secrets(parts.netloc.rpartition("@")[0])
                for key, part in parse_qsl(parts.query):
                    if is_secret_name(key) or key.lower() in ("key", "sig", "signature"):
                        yield part
        if " " in value:
            words = value.split()
            # Splitting as a shell does takes the square of the length of a word.
            with suppress(ValueError):
                words = shlex.split(value) if len(value) < _LONG_COMMAND else words
            yield from _find_flag_values(words)


_LONG_COMMAND = 10_000


def _find_flag_values(words: list[str]) -> Iterator[str]:
    for word, following in zip_longest(words, words[1:]):
        name, equals, value = word.partition("=")
        if equals and is_secret_name(name):
            yield value
        elif word.startswith("-") and is_secret_name(word) and following is not None:
            yield following


class _LogFilter(logging.Filter):
    """Redacts the records of a logger or a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        redact = get_redactor()
        try:
            record.msg = redact(record.getMessage())
        except (TypeError, ValueError):
            return True  # logging itself reports a malformed record
        record.args = None
        if record.exc_info and record.exc_info[1]:
            record.exc_text = redact("".join(format_exception(record.exc_info[1])).rstrip())
            record.exc_info = None
        return True


_FILTER = _LogFilter()
_LOGGERS = (
    *("anthropic", "genai-prices", "httpcore", "httpcore2", "httpx", "httpx2", "openai"),
    *("pydantic_ai", "anthropic._base_client", "openai._base_client", "httpcore2.socks"),
    *("httpcore2.connection", "httpcore2.http11", "httpcore2.http2", "httpcore2.proxy"),
)


class _KnownSecrets:
    """The secrets of this process, and the redactor that removes them."""

    def __init__(self) -> None:
        self._given: dict[str, None] = {}
        self._environment: tuple[str, ...] | None = None
        self._redactor = Redactor(())

    def learn(self, secrets: Iterable[str]) -> None:
        """Know these secrets too, and those that the environment holds now.

        Short words are none: messages stay readable after `token=auto`.
        """
        before = len(self._given)
        for secret in secrets:
            has_digit = any(map(str.isdecimal, secret))
            if len(secret) >= _LONG or (has_digit and len(secret) >= _LONG // 2):
                self._given[secret] = None
        environment = list_environment_secrets(os.environ)
        if len(self._given) != before or environment != self._environment:
            self._environment = environment
            self._redactor = Redactor((*self._given, *environment))

    def get_redactor(self) -> Redactor:
        if self._environment is None:
            self.learn(())
        return self._redactor


_KNOWN = _KnownSecrets()


def learn_secrets(*settings: object) -> None:
    """Keep the secrets of these settings, and of the environment, out of what is written."""
    _KNOWN.learn(secret for value in settings for secret in find_secrets(value))


def get_redactor() -> Redactor:
    """Return the redactor that removes the secrets of this process."""
    return _KNOWN.get_redactor()


def filter_logs(secrets: Iterable[str] = ()) -> None:
    """Keep these secrets, and all known ones, out of the logs of this process."""
    _KNOWN.learn(secrets)
    families = tuple(f"{name}." for name in _LOGGERS)
    others = tuple(name for name in logging.root.manager.loggerDict if name.startswith(families))
    for name in (*_LOGGERS, *others):
        logging.getLogger(name).addFilter(_FILTER)
    for handler in (*logging.root.handlers, logging.lastResort):
        if handler is not None:
            handler.addFilter(_FILTER)


def redact_message(text: str) -> str:
    """Return a message, a command or a URL without secrets."""
    return get_redactor()(text)


@dataclass(frozen=True, kw_only=True)
class TreeRedactor:
    """Removes secrets from plain content, such as decoded JSON; names of keys count everywhere."""

    is_prose: bool
    """For texts of systems and judges, which lose known and unmistakable keys only."""
    messages: frozenset[str] = frozenset()
    """The keys of messages among them."""
    kept: frozenset[str] = frozenset()
    """The keys of what stays as it is."""

    def redact(self, content: Any, name: str = "", *, is_message: bool = False) -> Any:  # noqa: ANN401 - plain content
        """Return the content without secrets; the same object if it has none."""
        is_message = is_message or not self.is_prose or name in self.messages
        if isinstance(content, Mapping):
            # What stands below a secret is secret, whatever its own name.
            pairs = {
                key: part
                if key in self.kept
                else self.redact(
                    part, name if is_secret_name(name) else str(key), is_message=is_message
                )
                for key, part in content.items()
            }
            return content if all(pairs[key] is content[key] for key in pairs) else pairs
        if isinstance(content, list | tuple):
            safe_words = list(content)
            for place, (word, following) in enumerate(pairwise(content), start=1):
                is_flag = isinstance(word, str) and word.startswith("-") and "=" not in word
                if is_flag and isinstance(following, str) and is_secret_name(word):
                    safe_words[place] = following if following == REDACTED else REDACTED
            values = safe_words
            parts = [self.redact(part, name, is_message=is_message) for part in values]
            is_same = all(a is b for a, b in zip(parts, content, strict=True))
            return content if is_same else parts
        if is_secret_name(name):
            return content if _is_shown(content) else REDACTED
        if not isinstance(content, str):
            return content
        redactor = get_redactor()
        clean = redactor(content) if is_message else redactor.redact_keys(content)
        return content if clean == content else clean


def _is_shown(value: object) -> bool:
    """Whether what has the name of a secret is none: nothing, a switch, or redacted before."""
    return value is None or isinstance(value, bool) or value in ("", REDACTED)
