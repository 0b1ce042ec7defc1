"""The operations by which answers follow from the text, by the name a question uses."""

from collections.abc import Callable

from recall_bench.proof.account import Account, Underivable
from recall_bench.proof.boundaries import denied, partly
from recall_bench.proof.derived import Asking, Derived
from recall_bench.proof.events import date_of_step, did, gap, order
from recall_bench.proof.facts import history, shared, value
from recall_bench.proof.finding import Code
from recall_bench.proof.recipe import Recipe
from recall_bench.proof.tallies import count, highest, lowest, total

OPERATIONS: dict[str, Callable[[Account, Recipe, Asking], Derived]] = {
    "value": value,
    "date": date_of_step,
    "gap": gap,
    "order": order,
    "did": did,
    "count": count,
    "total": total,
    "highest": highest,
    "lowest": lowest,
    "shared": shared,
    "history": history,
    "denied": denied,
    "partly": partly,
}


def derive(account: Account, recipe: Recipe, asking: Asking) -> Derived:
    """The answer that follows from the text on that day, or Underivable with the reason."""
    operation = OPERATIONS.get(recipe.op)
    if operation is None:
        raise Underivable(
            Code.DERIVE, f"derive has the unknown op {recipe.op!r}; use {', '.join(OPERATIONS)}"
        )
    return operation(account, recipe, asking)
