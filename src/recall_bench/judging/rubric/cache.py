"""Verdicts that were paid for, on disk, by the digest of everything they depend on."""

from hashlib import sha256
from pathlib import Path

import msgspec

from recall_bench.core.record import Record
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.errors import JudgeGone, UsageError
from recall_bench.models.model import Prompt
from recall_bench.replacement import write_shared_file


class _CachedVerdict(Record, frozen=True, kw_only=True):
    key: str
    verdict: Verdict
    check: str
    """The verdict's digest: a mark that changed on the disk is noticed."""


def make_cache_key(card: JudgeCard, prompt: Prompt) -> str:
    """Names one case before one judge: who judges, by which rules, and all that was asked."""
    asked = (card, prompt.system, prompt.user, prompt.schema)
    return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()


class VerdictCache:
    """A folder of verdicts that several processes may share. Entries appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"verdicts cannot be kept in {folder} ({error.strerror or error}); "
                "name another folder"
            ) from error

    def find(self, key: str) -> Verdict | None:
        """The verdict on record; None if there is none, or what there is was damaged."""
        try:
            entry = msgspec.json.decode(self._path(key).read_bytes(), type=_CachedVerdict)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError):
            return None
        return entry.verdict if (entry.key, entry.check) == (key, entry.verdict.digest) else None

    def keep(self, key: str, verdict: Verdict) -> None:
        """Put a verdict on record, in the place of whatever was there."""
        content = msgspec.json.encode(
            _CachedVerdict(key=key, verdict=verdict, check=verdict.digest)
        )
        path = self._path(key)
        try:
            write_shared_file(path, content)
        except OSError as error:
            raise JudgeGone(
                f"verdicts can no longer be kept in {self._folder} ({error.strerror or error}); "
                "make room or name another folder, and the same command continues"
            ) from error

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
