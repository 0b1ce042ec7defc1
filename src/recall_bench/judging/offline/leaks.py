"""Finds what an answer gives away, before anybody grades it."""

from collections.abc import Mapping

from recall_bench.core.question import Scenario
from recall_bench.core.secrets import told_secrets
from recall_bench.core.verdict import Exhibit
from recall_bench.errors import JudgeFault
from recall_bench.judging.offline.boundary import Secrecy
from recall_bench.judging.offline.case import Case, prepare
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

        The dataset's canaries and withheld values come first, in any spelling; then values and
        names that only forbidden sessions had told.
        """
        return told_leaks(prepare(exhibit.item, self._reader), self._histories, exhibit)


def told_leaks(
    case: Case, histories: Mapping[str, HistoryIndex], exhibit: Exhibit
) -> tuple[str, ...]:
    """What the answer to a case gives away, as `LeakFinder` says."""
    named = told_secrets(case.item.truth, exhibit.answer.text)
    if named or not case.has_secrets:
        return named
    history = histories.get(exhibit.scenario)
    if history is None:
        raise JudgeFault(
            f"scenario {exhibit.scenario!r} was not studied; hand it over before its answers"
        )
    account = case.reader.account(plain(exhibit.answer.text))
    return tuple(Secrecy(case, history, exhibit.days).leaks(account))
