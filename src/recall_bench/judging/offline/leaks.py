"""Finds what an answer gives away, before anybody grades it."""

from collections.abc import Mapping

from recall_bench.core.question import Scenario
from recall_bench.core.secrets import find_secrets
from recall_bench.core.verdict import Exhibit
from recall_bench.errors import JudgeFault
from recall_bench.judging.offline.boundary import SecretCheck
from recall_bench.judging.offline.case import GradingCase, prepare_case
from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.wording import normalise


class LeakFinder:
    """Knows the secrets of the scenarios it has studied."""

    def __init__(self) -> None:
        self._reader = ContentReader()
        self._histories: dict[str, HistoryIndex] = {}

    def study(self, scenario: Scenario) -> None:
        """Index what was told, when, and in which session."""
        self._histories[scenario.id] = HistoryIndex(scenario)

    def find_leaks(self, exhibit: Exhibit) -> tuple[str, ...]:
        """What the answer gives away, for people to read; empty if it is discreet.

        The dataset's canaries and withheld values come first, in any spelling; then values and
        names that only forbidden sessions had told.
        """
        return find_answer_leaks(prepare_case(exhibit.item, self._reader), self._histories, exhibit)


def find_answer_leaks(
    case: GradingCase, histories: Mapping[str, HistoryIndex], exhibit: Exhibit
) -> tuple[str, ...]:
    """What the answer to a case gives away, as `LeakFinder` says."""
    named = find_secrets(case.item.truth, exhibit.answer.text)
    if named or not case.has_secrets:
        return named
    history = histories.get(exhibit.scenario)
    if history is None:
        raise JudgeFault(
            f"scenario {exhibit.scenario!r} was not studied; hand it over before its answers"
        )
    account = case.reader.read_answer(normalise(exhibit.answer.text))
    return tuple(SecretCheck(case, history, exhibit.days).find_leaks(account))
