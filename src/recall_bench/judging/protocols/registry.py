"""Protocols by name."""

from recall_bench.errors import UsageError
from recall_bench.judging.protocols import choice, locomo, longmemeval, matching
from recall_bench.judging.protocols.score import ComputedProtocol, ModelProtocol, ProtocolCard

_PROTOCOLS: dict[str, ComputedProtocol | ModelProtocol] = {
    protocol.card.name: protocol
    for protocol in (
        locomo.LOCOMO_OFFICIAL,
        longmemeval.LONGMEMEVAL_RULES,
        *choice.CHOICE_PROTOCOLS,
        *matching.STRING_PROTOCOLS,
    )
}


def list_cards() -> tuple[ProtocolCard, ...]:
    """Every protocol there is, by name."""
    return tuple(_PROTOCOLS[name].card for name in sorted(_PROTOCOLS))


def find_protocol(name: str) -> ComputedProtocol | ModelProtocol:
    """The protocol of this name."""
    if name not in _PROTOCOLS:
        raise UsageError(f"no protocol named {name!r}; there are {', '.join(sorted(_PROTOCOLS))}")
    return _PROTOCOLS[name]
