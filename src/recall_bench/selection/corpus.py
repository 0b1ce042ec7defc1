"""What names a folder of memories, byte by byte."""

from collections.abc import Mapping
from hashlib import sha256


def corpus_digest(memories: Mapping[str, bytes]) -> str:
    """Sha-256 over every memory's name and bytes, by name: a changed letter changes it."""
    digest = sha256()
    for name in sorted(memories):
        digest.update(name.encode() + b"\0" + memories[name] + b"\0")
    return digest.hexdigest()
