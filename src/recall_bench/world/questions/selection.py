"""Which drafts become questions: so many of each kind in each month of the story."""

from collections.abc import Iterator

from recall_bench.world.chance import Chance
from recall_bench.world.questions.draft import Draft

WINDOW = 30
"""Days over which the kinds of questions are balanced."""

_QUOTAS = {
    "factual-recall": 3,
    "temporal-reasoning/date": 1,
    "temporal-reasoning/gap": 1,
    "temporal-reasoning/order2": 1,
    "temporal-reasoning/order3": 1,
    "decision-tracking": 2,
    "contradiction-resolution/now": 2,
    "contradiction-resolution/then": 1,
    "cross-reference": 2,
    "recency-bias-resistance": 2,
    "synthesis/count": 1,
    "synthesis/total": 1,
    "synthesis/highest": 1,
    "synthesis/lowest": 1,
    "negative-recall/yes": 2,
    "negative-recall/no": 2,
    "group-session-attribution": 2,
    "information-boundary/refuse": 2,
    "information-boundary/partial": 1,
    "information-boundary/answer": 2,
}
_ARREARS = 3
"""How many windows' worth of an unfilled quota is made up for later."""

_AUTHORED = 3
"""Questions on the authored story, of each category in each window."""


class Selection:
    """Collects drafts and lets some of them through, window by window."""

    def __init__(self, seed: int) -> None:
        self._chance = Chance(seed, "selection")
        self._waiting: dict[str, list[Draft]] = {bucket: [] for bucket in _QUOTAS}
        self._owed = dict.fromkeys(_QUOTAS, 0)
        self._authored: dict[tuple[int, str], list[Draft]] = {}
        self._asked: set[tuple[str, str | None]] = set()

    def offer(self, draft: Draft) -> None:
        """Consider a draft for the window at hand."""
        if draft.is_authored:
            window = (draft.known_from - 1) // WINDOW
            self._authored.setdefault((window, draft.category), []).append(draft)
        else:
            self._waiting[_bucket(draft)].append(draft)

    def close_window(self) -> Iterator[Draft]:
        """What this window asks; whatever is left over is dropped."""
        for bucket, quota in _QUOTAS.items():
            self._owed[bucket] = min(self._owed[bucket] + quota, quota * _ARREARS)
            for draft in self._chance.shuffled(self._waiting[bucket]):
                if self._owed[bucket] == 0:
                    break
                if self._is_new(draft):
                    self._owed[bucket] -= 1
                    yield draft
            self._waiting[bucket] = []

    def authored(self) -> Iterator[Draft]:
        """Questions on the authored story, spread over the windows in which they arise."""
        for key in sorted(self._authored):
            chosen = 0
            for draft in self._chance.shuffled(self._authored[key]):
                if chosen == _AUTHORED:
                    break
                if self._is_new(draft):
                    chosen += 1
                    yield draft

    def _is_new(self, draft: Draft) -> bool:
        """Whether nothing like it was asked: the same words from the same place."""
        keys = {(wording, draft.session) for wording in draft.wordings}
        if keys & self._asked:
            return False
        self._asked |= keys
        return True


def _bucket(draft: Draft) -> str:
    return draft.kind if draft.kind in _QUOTAS else draft.category
