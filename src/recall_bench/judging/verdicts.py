"""Parse a judge's reply into a verdict or fail, and cache paid verdicts on disk."""

import json
from collections.abc import Collection, Mapping
from numbers import Integral
from pathlib import Path
from typing import NoReturn

import msgspec

from recall_bench.core.atomic_file import open_cache, write_shared_file
from recall_bench.core.errors import JudgeGone, UnreadableVerdict
from recall_bench.core.plain_text import escape_surrogates
from recall_bench.core.record import Record, digest_content
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.verdict import SCALES, JudgeCard, Verdict
from recall_bench.systems.models.model import Prompt

_GROUNDED = ("grounded", "hallucination")
"""The third mark here and in the public files; 1 means grounded in both."""

_REASON = ("reason", "reasoning")


def parse_strict(text: str, keys: Collection[str] | None = None) -> Verdict:
    """The verdict of one bare JSON object; only blanks may surround it.

    With `keys`, the object must have exactly those keys.
    """
    try:
        found = _parse_json(text)
    except ValueError as error:
        raise UnreadableVerdict(
            f"the judge's reply is not one JSON object: {_quote_value(text)}"
        ) from error
    if not isinstance(found, dict):
        raise UnreadableVerdict(f"the judge's reply is not one JSON object: {_quote_value(text)}")
    if keys is not None and found.keys() != set(keys):
        raise UnreadableVerdict(
            f"a verdict has exactly the keys {', '.join(keys)}; "
            f"the judge gave {_quote_value(found)}"
        )
    return parse_marks(found)


def parse_marks(found: Mapping[str, object]) -> Verdict:
    """The verdict of a mapping with exactly the three marks and perhaps a reason."""
    third = [name for name in _GROUNDED if name in found]
    unknown = set(found) - {"correctness", "completeness", *_GROUNDED, *_REASON}
    if unknown or len(third) != 1 or not {"correctness", "completeness"} <= set(found):
        raise UnreadableVerdict(
            "a verdict has correctness, completeness and either grounded or hallucination, and may "
            f"have a reason; the judge gave {_quote_value(found)}"
        )
    names = {"correctness": "correctness", "completeness": "completeness", "grounded": third[0]}
    marks = {mark: _parse_whole_mark(found, key) for mark, key in names.items()}
    reasons = [found[key] for key in _REASON if found.get(key) is not None]
    if len(reasons) > 1 or not all(isinstance(reason, str) for reason in reasons):
        raise UnreadableVerdict(f"a reason is one text; the judge gave {_quote_value(found)}")
    return _make_verdict(marks, str(reasons[0]) if reasons else "", found)


def _parse_json(text: str) -> object:
    """The JSON value; ValueError for anything that is not strict JSON, and for repeated keys."""

    def reject(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key occurs twice")
        return found

    try:
        return json.loads(text, parse_constant=reject, object_pairs_hook=collect)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _parse_whole_mark(found: Mapping[str, object], name: str) -> int:
    value = found[name]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UnreadableVerdict(
            f"{name} must be a whole number; the judge gave {_quote_value(value)}"
        )
    return int(value)


def _make_verdict(marks: dict[str, int], reason: str, source: object) -> Verdict:
    for name, points in marks.items():
        if not 0 <= points <= SCALES[name]:
            raise UnreadableVerdict(
                f"{name} goes from 0 to {SCALES[name]}; the judge gave {_quote_value(source)}"
            )
    return Verdict(marks=marks, reason=escape_surrogates(reason))


def _quote_value(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # An integer of thousands of digits, or a deeply nested value.
        return f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= 120 else f"{text[:117]}..."


class _CachedVerdict(Record, frozen=True, kw_only=True):
    key: str
    verdict: Verdict
    check: str
    """The verdict's digest, to detect damage on disk."""


def make_cache_key(card: JudgeCard, prompt: Prompt) -> str:
    """The digest of the judge's card and everything in the prompt."""
    content = (card, prompt.system, prompt.user, prompt.schema)
    return digest_content(content)


class VerdictCache:
    """A folder of verdicts that several processes may share; entries are written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = open_cache(folder, "verdicts")

    def find(self, key: str) -> Verdict | None:
        """The cached verdict; None if there is none or the file is damaged."""
        try:
            entry = decode_untrusted_json(self._path(key).read_bytes(), _CachedVerdict)
        except (OSError, msgspec.DecodeError):
            return None
        return entry.verdict if (entry.key, entry.check) == (key, entry.verdict.digest) else None

    def keep(self, key: str, verdict: Verdict) -> None:
        """Store a verdict, replacing an earlier one."""
        content = msgspec.json.encode(
            _CachedVerdict(key=key, verdict=verdict, check=verdict.digest)
        )
        path = self._path(key)
        try:
            write_shared_file(path, content)
        except OSError as error:
            raise JudgeGone(
                f"verdicts can no longer be stored in {self._folder} ({error.strerror or error}); "
                "make room or name another folder, then run the same command again"
            ) from error

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
