"""Seeds that shipped stories are drawn from, and challenges that commit to a secret one.

A challenge is two files: `NAME.json`, which is public, holds the digest of the seed;
`NAME.secret` beside it holds the seed until `reveal` writes it into the first.
"""

import os
import secrets
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plan import DrawnStory, WorldCard
from recall_bench.core.record import Record
from recall_bench.core.settings import Settings
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file

FRESH = "fresh"
BITS = 128
_COMMITMENT = "recall-bench world seed, version 1\n{:032x}\n"


@dataclass(frozen=True, slots=True)
class WorldSeed:
    """The seed of a world. A secret one appears in no plan."""

    value: int
    is_secret: bool = False

    @classmethod
    def draw(cls, *, is_secret: bool = False) -> Self:
        """Draw a seed that cannot be found by trying."""
        # The highest bit is set, so that a drawn seed is never a small number.
        return cls(secrets.randbits(BITS) | 1 << (BITS - 1), is_secret)

    @property
    def hex(self) -> str:
        """The seed as it is written."""
        return f"0x{self.value:x}"

    @property
    def commitment(self) -> str:
        """A digest that fixes the seed without disclosing it."""
        return sha256(_COMMITMENT.format(self.value).encode()).hexdigest()

    def make_card(self, stories: tuple[DrawnStory, ...]) -> WorldCard:
        """The card of a plan; it names the seed unless it is secret."""
        seed = None if self.is_secret else self.hex
        return WorldCard(commitment=self.commitment, seed=seed, stories=stories)


class Challenge(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The public part of a challenge."""

    commitment: str
    stories: tuple[DrawnStory, ...]
    version: str
    """The version of Recall Bench that draws it."""
    seed: str | None = None
    """In hexadecimal, once it is revealed."""


def parse_world_seed(word: str) -> WorldSeed:
    """Parse a seed: a number, decimal or hexadecimal, or the path of a challenge's file."""
    text = word.strip()
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        path = Path(text)
        if path.is_file():
            return read_secret(path)
        raise UsageError(
            f"--world-seed: {word!r} is neither a seed nor the file of a challenge; "
            "give `fresh`, a number such as 7 or 0x1f, or the file of `challenge new`"
        ) from None
    if not 0 < value < 1 << BITS:
        raise UsageError(
            f"--world-seed: {word} is not between 1 and 2^{BITS} - 1; "
            "leave it out for the stories as released"
        )
    return WorldSeed(value)


def resolve_seed(settings: Settings, card: WorldCard | None) -> Settings:
    """Replace `fresh` by a seed: that of the run that is continued, else a new one."""
    if settings.world_seed is None or settings.world_seed.strip().lower() != FRESH:
        return settings
    if card is not None and card.seed is not None:
        return replace(settings, world_seed=card.seed)
    return replace(settings, world_seed=WorldSeed.draw().hex)


def create_challenge(path: Path, stories: tuple[DrawnStory, ...], version: str) -> Challenge:
    """Draw a secret seed and write both files; an existing challenge is never overwritten."""
    secret = find_secret_file(path)
    if secret == path:
        raise UsageError(f"{path}: the seed goes into a .secret file; name another for the rest")
    for item in (path, secret):
        if item.exists():
            raise UsageError(f"{item} exists already; name another file for the new challenge")
    seed = WorldSeed.draw(is_secret=True)
    results = Challenge(commitment=seed.commitment, stories=stories, version=version)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{seed.hex}\n")
    _write_challenge(path, results)
    return results


def reveal_challenge(path: Path) -> Challenge:
    """Write the secret seed into the challenge's file, for anyone to verify."""
    results = replace_seed(read_challenge(path), read_secret(path))
    _write_challenge(path, results)
    return results


def replace_seed(challenge: Challenge, seed: WorldSeed) -> Challenge:
    """The challenge with its seed."""
    return msgspec.structs.replace(challenge, seed=seed.hex)


def read_challenge(path: Path) -> Challenge:
    """Read the public file; a revealed seed must be the committed one."""
    try:
        untrusted_json = decode_untrusted_json(read_regular_file(path), Challenge)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a challenge") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: is not the file of a challenge ({error})") from error
    if untrusted_json.seed is not None:
        _parse_committed(untrusted_json.seed, untrusted_json, path)
    return untrusted_json


def read_secret(path: Path) -> WorldSeed:
    """The seed of a challenge: revealed in its file, or secret in the one beside it."""
    challenge = read_challenge(path)
    if challenge.seed is not None:
        return _parse_committed(challenge.seed, challenge, path)
    secret = find_secret_file(path)
    try:
        word = secret.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: its seed is still secret, and {secret.name} is not beside it; "
            "only the author of the challenge can run it before it is revealed"
        ) from error
    return replace(_parse_committed(word, challenge, secret), is_secret=True)


def _parse_committed(word: str, challenge: Challenge, path: Path) -> WorldSeed:
    try:
        seed = WorldSeed(int(word, 16))
    except ValueError:
        seed = WorldSeed(0)
    if seed.commitment != challenge.commitment:
        raise DataError(
            f"{path}: the seed is not the one that the challenge committed to; "
            "the challenge was changed, or the seed was"
        )
    return seed


def find_secret_file(path: Path) -> Path:
    """The file with the seed of a challenge."""
    return path.with_suffix(".secret")


def _write_challenge(path: Path, challenge: Challenge) -> None:
    with AtomicFile(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(challenge), indent=1) + b"\n")
        file.commit()
