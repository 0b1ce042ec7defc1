"""The operations by which answers follow from the text, by the name a question uses."""

from collections.abc import Callable

from recall_bench.proof.account import StatementLookup, Underivable
from recall_bench.proof.boundaries import derive_partial, derive_refusal
from recall_bench.proof.derived import AskContext, DerivedAnswer
from recall_bench.proof.events import derive_did, derive_gap, derive_order, derive_step_date
from recall_bench.proof.facts import derive_history, derive_shared_value, derive_value
from recall_bench.proof.finding import VerificationCode
from recall_bench.proof.recipe import DerivationRecipe
from recall_bench.proof.tallies import derive_count, derive_highest, derive_lowest, derive_total

OPERATIONS: dict[str, Callable[[StatementLookup, DerivationRecipe, AskContext], DerivedAnswer]] = {
    "value": derive_value,
    "date": derive_step_date,
    "gap": derive_gap,
    "order": derive_order,
    "did": derive_did,
    "count": derive_count,
    "total": derive_total,
    "highest": derive_highest,
    "lowest": derive_lowest,
    "shared": derive_shared_value,
    "history": derive_history,
    "denied": derive_refusal,
    "partly": derive_partial,
}


def derive_answer(
    account: StatementLookup, recipe: DerivationRecipe, asking: AskContext
) -> DerivedAnswer:
    """The answer that follows from the text on that day, or Underivable with the reason."""
    operation = OPERATIONS.get(recipe.op)
    if operation is None:
        raise Underivable(
            VerificationCode.DERIVE,
            f"derive has the unknown op {recipe.op!r}; use {', '.join(OPERATIONS)}",
        )
    return operation(account, recipe, asking)
