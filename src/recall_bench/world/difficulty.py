"""How hard a kind of question is: measured on the baselines, not felt."""

_MEASURED: dict[str, str] = {}
"""Kind of question to difficulty, as `benchmarks/difficulty.py` prints it."""


def difficulty(kind: str) -> str:
    """The difficulty of a kind of question; medium where it was never measured.

    A kind ends in `/named` where the question calls its subject by the name the text uses.
    """
    return _MEASURED.get(kind, "medium")
