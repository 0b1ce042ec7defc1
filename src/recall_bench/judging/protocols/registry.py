"""Protocols by name."""

from recall_bench.errors import UsageError
from recall_bench.judging.protocols import choice, locomo, longmemeval, matching
from recall_bench.judging.protocols.score import Asked, Computed, ProtocolCard

_PROTOCOLS: dict[str, Computed | Asked] = {
    protocol.card.name: protocol
    for protocol in (
        locomo.OFFICIAL,
        longmemeval.OFFICIAL_RULES,
        *choice.PROTOCOLS,
        *matching.PROTOCOLS,
    )
}


def cards() -> tuple[ProtocolCard, ...]:
    """Every protocol there is, by name."""
    return tuple(_PROTOCOLS[name].card for name in sorted(_PROTOCOLS))


def find(name: str) -> Computed | Asked:
    """The protocol of this name."""
    if name not in _PROTOCOLS:
        raise UsageError(f"no protocol named {name!r}; there are {', '.join(sorted(_PROTOCOLS))}")
    return _PROTOCOLS[name]
