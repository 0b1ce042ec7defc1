"""Judges whose errors are known."""

import re
from collections.abc import Iterable

from recall_bench.core.errors import JudgeFault, JudgeGone
from recall_bench.core.scenario import Scenario
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES, Exhibit, JudgeCard, Verdict
from recall_bench.features.judges.audit_answers import AuditItem

Case = tuple[str, str, int]


def case_of(exhibit: Exhibit) -> Case:
    return exhibit.item.id, exhibit.answer.text, exhibit.days


class Oracle:
    """Has been told every label, and gives the least marks that fit them."""

    card = JudgeCard(name="oracle", version="1", computes=True)

    def __init__(self, items: Iterable[AuditItem]) -> None:
        self._labels = {case_of(item.make_exhibit()): item.labels for item in items}
        self.studied: list[str] = []

    def study(self, scenario: Scenario) -> None:
        self.studied.append(scenario.id)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        labels = self._labels[case_of(exhibit)]
        return Verdict(marks={mark: PASS[mark] if labels[mark] else 0 for mark in SCALES})


class Generous:
    """Passes whatever touches on the topic, as a widely used prompt asks judges to."""

    card = JudgeCard(name="generous", version="1", computes=True)

    def study(self, scenario: Scenario) -> None:
        pass

    async def judge(self, exhibit: Exhibit) -> Verdict:
        topic = f"{exhibit.item.text} {exhibit.item.truth.reference} log entry notes matter team"
        words = set(re.findall(r"[a-z0-9]{2,}", topic.casefold()))
        on_topic = words & set(re.findall(r"[a-z0-9]{2,}", exhibit.answer.text.casefold()))
        return Verdict.of(3, 2, 1, "on topic") if on_topic else Verdict.of(0, 0, 1, "off topic")


class Costly:
    """Asks a model that fails at every third answer, and is paid for each."""

    card = JudgeCard(name="costly", version="1", model="some-model")

    def __init__(self) -> None:
        self._asked = 0

    def study(self, scenario: Scenario) -> None:
        pass

    async def judge(self, exhibit: Exhibit) -> Verdict:
        self._asked += 1
        exhibit.bill(Usage(calls=1, input_tokens=100, output_tokens=10, cost_usd=0.5))
        if self._asked % 3 == 0:
            raise JudgeFault("unreadable")
        return Verdict.of(3, 2, 1)


class Gone:
    """Cannot judge anything."""

    card = JudgeCard(name="gone", version="1", computes=True)

    def study(self, scenario: Scenario) -> None:
        pass

    async def judge(self, exhibit: Exhibit) -> Verdict:
        raise JudgeGone("no key")
