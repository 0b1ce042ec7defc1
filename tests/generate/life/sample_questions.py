"""Questions of a life edition for its tests."""

from recall_bench.generate.written.sources import WrittenQuestion


def ask(text: str, derive: str, *, first: int = 190, kind: str = "reason") -> WrittenQuestion:
    """A question about statements, open from a day on; its answer does not matter."""
    return WrittenQuestion(
        ask=text,
        kind=kind,
        category="factual-recall",
        derive=derive,
        answer="-",
        difficulty="easy",
        from_=first,
    )
