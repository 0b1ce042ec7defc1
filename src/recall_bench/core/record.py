"""The base of everything we write down."""

from hashlib import sha256
from typing import Self

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Persisted data: frozen, closed to unknown fields.

    Types are checked when a record is read back; code that builds one is checked by mypy.
    """

    @property
    def digest(self) -> str:
        """Sha-256 of the canonical JSON: equal digests, equal records."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()

    def replace(self, **changes: object) -> Self:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)
