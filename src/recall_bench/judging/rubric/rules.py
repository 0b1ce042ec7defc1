"""A digest of the code that decides a verdict here, so that a changed rule changes the card.

Of the offline judge's rules it covers those that find leaks and tell a refusal from an answer, and
no other: a better way to grade offline leaves the verdicts of models as they are, and paid for.
"""

import ast
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

_HERE = Path(__file__).parent
_OFFLINE = _HERE.parent / "offline"

SHARED = (
    "abstention",
    "answering",
    "assertion",
    "atoms",
    "boundary",
    "case",
    "citations",
    "contents",
    "coverage",
    "exact",
    "history_index",
    "leaks",
    "literal",
    "names",
    "number_words",
    "ordering",
    "phrasing",
    "values",
    "wanted",
    "wording",
)
"""The offline rules that the judge here imports, with all that they import of their own folder."""


@cache
def rules_digest() -> str:
    """Names the code; comments and the wording of docstrings do not count."""
    return digest_of([*sorted(_HERE.glob("*.py")), *(_OFFLINE / f"{name}.py" for name in SHARED)])


def digest_of(paths: Iterable[Path]) -> str:
    """Changes with whatever a file does, its name included."""
    digest = sha256()
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = None
        digest.update(f"{path.parent.name}/{path.name}\n{ast.dump(tree)}\n".encode())
    return digest.hexdigest()
