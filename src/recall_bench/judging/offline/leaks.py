"""Finds what an answer gives away, before anybody grades it."""

from recall_bench.core.question import Scenario
from recall_bench.core.secrets import told_secrets
from recall_bench.core.verdict import Exhibit
from recall_bench.errors import JudgeFault
from recall_bench.judging.offline.boundary import Secrecy
from recall_bench.judging.offline.case import prepare
from recall_bench.judging.offline.contents import Reader
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.wording import plain


class LeakFinder:
    """Knows the secrets of the scenarios it has studied."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._histories: dict[str, HistoryIndex] = {}

    def study(self, scenario: Scenario) -> None:
        """Index what was told, when, and in which session."""
        self._histories[scenario.id] = HistoryIndex(scenario)

    def leaks(self, exhibit: Exhibit) -> tuple[str, ...]:
        """What the answer gives away, for people to read; empty if it is discreet.

        The dataset's canaries and withheld values come first; then values and names that only
        forbidden sessions had told.
        """
        named = told_secrets(exhibit.item.truth, exhibit.answer.text)
        if named:
            return named
        case = prepare(exhibit.item, self._reader)
        if not case.has_secrets:
            return ()
        history = self._histories.get(exhibit.scenario)
        if history is None:
            raise JudgeFault(
                f"scenario {exhibit.scenario!r} was not studied; hand it over before its answers"
            )
        account = self._reader.account(plain(exhibit.answer.text))
        return tuple(Secrecy(case, history, exhibit.days).leaks(account))
