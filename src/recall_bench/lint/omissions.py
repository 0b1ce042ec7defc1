"""Questions that cannot be answered from a story told in another form than its logs."""

from collections.abc import Iterator

from recall_bench.core.history import Episode
from recall_bench.core.question import Disclosure, Expects, Item, Scenario
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import DATE, TextValue
from recall_bench.lint.day import DayLog
from recall_bench.lint.index import ValueIndex


def find_lost_questions(scenario: Scenario) -> tuple[Item, ...]:
    """The questions with an exact value that gets lost on the way.

    Their evidence days log it; what a system is fed up to the last of these days does not hold it,
    in whatever spelling. The date of an evidence day is not lost if that day is fed.
    """
    if scenario.retold is None:
        return ()
    asked = [
        LintQuestion(item, None, _read_demands(item))
        for item in scenario.items
        if _is_answerable(item)
    ]
    wanted = [atom for each in asked for atom in each.exact]
    cited = {day for each in asked if each.exact for day in each.days}
    logged = ValueIndex(
        _make_day_logs(each for each in scenario.episodes if each.day in cited), wanted
    )
    fed = ValueIndex(_make_day_logs(iter(scenario.retold)), wanted)
    dates = {each.day: f"{each.at:%m-%d}" for each in scenario.retold}

    def is_lost(atom: TextValue, days: tuple[int, ...]) -> bool:
        if logged.find_days(atom).isdisjoint(days):
            return False
        if atom.kind == DATE and atom.core in map(dates.get, days):
            return False
        return all(day > days[-1] for day in fed.find_loose_days(atom))

    return tuple(
        each.item for each in asked if any(is_lost(atom, each.days) for atom in each.exact)
    )


def _is_answerable(item: Item) -> bool:
    truth = item.truth
    is_told = truth.disclosure in (None, Disclosure.ANSWER)
    return bool(truth.evidence) and truth.expects is Expects.ANSWER and is_told


def _read_demands(item: Item) -> dict[str, object]:
    return {"atoms": list(item.truth.atoms)}


def _make_day_logs(episodes: Iterator[Episode]) -> Iterator[DayLog]:
    return (DayLog(each.day, each.id, each.text) for each in episodes)
