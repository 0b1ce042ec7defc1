"""What the batches of one model in one folder may cost."""

from collections.abc import Mapping

from recall_bench.core.errors import BudgetSpent


class BatchBudget:
    """Counts what replies cost and what open requests may cost, and says when that is enough.

    A request may cost as much as the most expensive reply so far. Before the first reply it may
    cost as much as its longest reply would.
    """

    def __init__(self, path: str) -> None:
        """`path` names the folder in messages."""
        self.limit_usd: float | None = None
        self._path = path
        self._paid_usd: dict[str, float] = {}
        self._open_usd: dict[str, float] = {}
        self._spent_usd = 0.0
        self._most_usd: float | None = None

    def add_paid(self, costs_usd: Mapping[str, float]) -> None:
        """Count replies by the key of their request, each once."""
        for key, cost_usd in costs_usd.items():
            self._open_usd.pop(key, None)
            if key not in self._paid_usd:
                self._paid_usd[key] = cost_usd
                self._spent_usd += cost_usd
                self._most_usd = max(self._most_usd or 0.0, cost_usd)

    def add_open(self, key: str, longest_usd: float) -> None:
        """Count a request that is with the service, or about to be."""
        self._open_usd.setdefault(key, longest_usd)

    def admit(self, key: str, longest_usd: float) -> bool:
        """Whether one more request may be sent; if so, it is counted.

        BudgetSpent if it may not although no reply is awaited that could cost less than expected.
        """
        if self.limit_usd is None:
            return True
        self._open_usd.pop(key, None)
        most_usd, count = self._most_usd, len(self._open_usd)
        open_usd = sum(self._open_usd.values()) if most_usd is None else most_usd * count
        next_usd = longest_usd if most_usd is None else most_usd
        if self._spent_usd + open_usd + next_usd <= self.limit_usd:
            self._open_usd[key] = longest_usd
            return True
        if count:
            return False
        raise BudgetSpent(
            f"the batches in {self._path} cost {self._spent_usd:.2f} USD, the next request could "
            f"cost {next_usd:.4f}, and --max-cost allows {self.limit_usd:.2f}; continue with a "
            "higher limit, or with a lower max-tokens= if there is no reply yet"
        )
