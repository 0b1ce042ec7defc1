"""Questions that cannot be answered from a story told in another form than its logs."""

from collections.abc import Iterator

from recall_bench.core.history import Episode
from recall_bench.core.question import Disclosure, Expects, Item, Scenario
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import DATE, Atom
from recall_bench.lint.day import Day
from recall_bench.lint.index import Index


def omitted(scenario: Scenario) -> tuple[Item, ...]:
    """The questions with an exact value that gets lost on the way.

    Their evidence days log it; what a system is fed up to the last of these days does not hold it,
    in whatever spelling. The date of an evidence day is not lost if that day is fed.
    """
    if scenario.retold is None:
        return ()
    asked = [Asked(item, None, _demands(item)) for item in scenario.items if _has_answer(item)]
    wanted = [atom for each in asked for atom in each.exact]
    cited = {day for each in asked if each.exact for day in each.days}
    logged = Index(_days(each for each in scenario.episodes if each.day in cited), wanted)
    fed = Index(_days(iter(scenario.retold)), wanted)
    dates = {each.day: f"{each.at:%m-%d}" for each in scenario.retold}

    def is_lost(atom: Atom, days: tuple[int, ...]) -> bool:
        if logged.days(atom).isdisjoint(days):
            return False
        if atom.kind == DATE and atom.core in map(dates.get, days):
            return False
        return all(day > days[-1] for day in fed.loose_days(atom))

    return tuple(
        each.item for each in asked if any(is_lost(atom, each.days) for atom in each.exact)
    )


def _has_answer(item: Item) -> bool:
    truth = item.truth
    is_told = truth.disclosure in (None, Disclosure.ANSWER)
    return bool(truth.evidence) and truth.expects is Expects.ANSWER and is_told


def _demands(item: Item) -> dict[str, object]:
    return {"atoms": list(item.truth.atoms)}


def _days(episodes: Iterator[Episode]) -> Iterator[Day]:
    return (Day(each.day, each.id, each.text) for each in episodes)
