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
from functools import cached_property, lru_cache
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

    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        return _compile_pattern(self._secrets)

    @cached_property
    def _keys(self) -> re.Pattern[str] | None:
        forms = {form for each in self._secrets if _is_key(each) for form in _list_forms(each)}
        longest_first = sorted(forms, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __repr__(self) -> str:
        return "Redactor()"


def _replace_shapes(text: str, shapes: Iterable[re.Pattern[str]]) -> str:
    for shape in shapes:
        text = shape.sub(rf"\g<keep>{REDACTED}", text)
    return text


def _is_key(secret: str) -> bool:
    """Whether a secret differs from the words and numbers of any answer."""
    return (
        len(secret) >= _LONG
        and not secret.isalpha()
        and not all(each.isdecimal() or each in " .:/-" for each in secret)
    )


def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for secret in secrets for form in _list_forms(secret)}
    wordings = [
        re.escape(form) if len(form) >= _LONG else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(forms, key=len, reverse=True)
    ]
    # Some providers show the start of a key and stars, and some log lines are cut within it.
    heads = {secret[:_LONG] for secret in secrets if len(secret) >= 2 * _LONG and _is_key(secret)}
    wordings += [rf"{re.escape(head)}[\w*.…-]*" for head in sorted(heads)]
    return re.compile("|".join(wordings)) if wordings else None


def _list_forms(secret: str) -> set[str]:
    """List the spellings of a secret: plain, in a URL, in JSON, in a Basic header."""
    if not secret:
        return set()
    plain = secret.encode(errors="surrogatepass")
    return {secret, quote(plain, safe=""), json.dumps(secret)[1:-1], b64encode(plain).decode()}


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
    if userinfo is None:
        return ()
    plain = unquote(userinfo)
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
    """Whether the name marks a variable as secret; the same names are read again and again."""
    return bool(_SECRET_VARIABLE.search(name)) and not _PLACE_VARIABLE.search(name)


def find_secrets(value: object, name: str = "") -> Iterator[str]:
    """Find the secrets of a setting: values with such names, in its commands and URLs too."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from find_secrets(each, name if is_secret_name(name) else str(key))
    elif isinstance(value, list | tuple):
        yield from _find_flag_secrets([each for each in value if isinstance(each, str)])
        for each in value:
            yield from find_secrets(each, name)
    elif is_secret_name(name):
        if not _is_shown(value):
            yield str(value)
    elif isinstance(value, str):
        yield from _find_text_secrets(value)


def _find_text_secrets(text: str) -> Iterator[str]:
    for url in re.findall(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s'\"]+", text):
        yield from _find_url_secrets(url)
    if " " in text:
        yield from _find_flag_secrets(_split_words(text))


_LONG_COMMAND = 10_000
"""Splitting as a shell does takes time that grows with the square of the length of a word."""


def _split_words(text: str) -> list[str]:
    """Split a command as a shell does; at blanks alone where a quote has no end."""
    try:
        return shlex.split(text) if len(text) < _LONG_COMMAND else text.split()
    except ValueError:
        return text.split()


def _find_url_secrets(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    userinfo = parts.netloc.rpartition("@")[0]
    yield from list_userinfo_secrets(userinfo or None)
    for name, value in parse_qsl(parts.query):
        if is_secret_name(name) or name.lower() in ("key", "sig", "signature"):
            yield value


def _find_flag_secrets(words: list[str]) -> Iterator[str]:
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and is_secret_name(name):
            yield value
        elif word.startswith("-") and is_secret_name(word) and position + 1 < len(words):
            yield words[position + 1]


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


class _KnownSecrets:
    """The secrets of this process, and the redactor that removes them."""

    def __init__(self) -> None:
        self._given: dict[str, None] = {}
        self._environment: tuple[str, ...] | None = None
        self._redactor = Redactor(())

    def learn(self, secrets: Iterable[str]) -> None:
        """Know these secrets too, and those that the environment holds now."""
        before = len(self._given)
        self._given.update(dict.fromkeys(filter(_is_worth_knowing, secrets)))
        environment = list_environment_secrets(os.environ)
        if len(self._given) != before or environment != self._environment:
            self._environment = environment
            self._redactor = Redactor((*self._given, *environment))

    def get_redactor(self) -> Redactor:
        if self._environment is None:
            self.learn(())
        return self._redactor


def _is_worth_knowing(secret: str) -> bool:
    """Whether a value is no short word: messages stay readable after `token=auto`."""
    return len(secret) >= _LONG or (len(secret) >= _LONG // 2 and any(map(str.isdecimal, secret)))


_KNOWN = _KnownSecrets()


def learn_secrets(*settings: object) -> None:
    """Keep the secrets of these settings, and of the environment, out of what is written."""
    _KNOWN.learn(secret for each in settings for secret in find_secrets(each))


def get_redactor() -> Redactor:
    """Return the redactor that removes the secrets of this process."""
    return _KNOWN.get_redactor()


def filter_logs(secrets: Iterable[str] = ()) -> None:
    """Keep these secrets, and all known ones, out of the logs of this process."""
    _KNOWN.learn(secrets)
    families = tuple(f"{name}." for name in _LOGGERS)
    known = tuple(name for name in logging.root.manager.loggerDict if name.startswith(families))
    for name in (*_LOGGERS, *known):
        logging.getLogger(name).addFilter(_FILTER)
    for handler in (*logging.root.handlers, logging.lastResort):
        if handler is not None:
            handler.addFilter(_FILTER)


def redact_message(text: str) -> str:
    """Return a message, a command or a URL without secrets."""
    return get_redactor()(text)


NO_NAMES: frozenset[str] = frozenset()


class TreeRedactor:
    """Removes secrets from plain content, such as decoded JSON; names of keys count everywhere."""

    def __init__(
        self,
        *,
        is_prose: bool,
        messages: frozenset[str] = NO_NAMES,
        kept: frozenset[str] = NO_NAMES,
    ) -> None:
        """`is_prose` for texts of systems and judges, which lose known and unmistakable keys only.

        `messages` are the keys of messages among them, `kept` the keys of what stays as it is.
        """
        self._is_prose = is_prose
        self._messages = messages
        self._kept = kept

    def redact(self, content: Any) -> Any:  # noqa: ANN401 - plain content
        """Return the content without secrets; the same object if it has none."""
        return self._redact(content, "", is_prose=self._is_prose)

    def _redact(self, value: Any, name: str, *, is_prose: bool) -> Any:  # noqa: ANN401
        is_prose = is_prose and name not in self._messages
        if isinstance(value, Mapping):
            pairs = {
                key: each if key in self._kept else self._redact_entry(name, key, each, is_prose)
                for key, each in value.items()
            }
            return value if all(pairs[key] is value[key] for key in pairs) else pairs
        if isinstance(value, list | tuple):
            shown = _hide_flag_values(value)
            items = [self._redact(each, name, is_prose=is_prose) for each in shown]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        if is_secret_name(name):
            return value if _is_shown(value) else REDACTED
        if not isinstance(value, str):
            return value
        redact = get_redactor()
        found = redact.redact_keys(value) if is_prose else redact(value)
        return value if found == value else found

    def _redact_entry(self, name: str, key: object, value: Any, is_prose: bool) -> Any:  # noqa: ANN401
        # What stands below a secret is secret, whatever its own name.
        below = name if is_secret_name(name) else str(key)
        return self._redact(value, below, is_prose=is_prose)


def _is_shown(value: object) -> bool:
    """Whether what has the name of a secret is none: nothing, a switch, or redacted before."""
    return value is None or isinstance(value, bool) or value in ("", REDACTED)


def _hide_flag_values(words: list[Any] | tuple[Any, ...]) -> list[Any]:
    """The words of a command, without the values that follow flags such as `--token`."""
    shown = list(words)
    for position, word in enumerate(words[:-1]):
        following = words[position + 1]
        is_flag = isinstance(word, str) and word.startswith("-") and "=" not in word
        if is_flag and isinstance(following, str) and is_secret_name(word):
            shown[position + 1] = following if following == REDACTED else REDACTED
    return shown
