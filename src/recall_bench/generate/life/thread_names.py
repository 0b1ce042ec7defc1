"""How questions call a thread, so that no other one is meant."""

from bisect import bisect_left, bisect_right
from collections import Counter

from recall_bench.generate.life.names import holds, list_placeholders
from recall_bench.generate.life.threads import LifeThread
from recall_bench.generate.world.fact_values import Dates, format_month


class ThreadNames:
    """Every name of every thread that can mean no other; a month is added where it is needed."""

    def __init__(self, threads: list[LifeThread], dates: Dates) -> None:
        self._dates = dates
        told = [each for each in threads if each.steps]
        plain = Counter(name for each in told for name in set(each.called))
        dated = Counter(self._add_month(name, each) for each in told for name in set(each.called))
        self._names: dict[str, list[str | None]] = {}
        for thread in told:
            self._names[thread.key] = [
                self._choose(name, thread, plain, dated) for name in thread.called
            ]
        named = [(each.began, each, self.find(each)) for each in told]
        self._told = sorted(
            ((began, each, name) for began, each, name in named if name is not None),
            key=lambda entry: entry[0],
        )

    def _add_month(self, name: str, thread: LifeThread) -> str:
        return f"{name} in {format_month(self._dates.get_month(thread.began))}"

    def _choose(
        self, name: str, thread: LifeThread, plain: Counter[str], dated: Counter[str]
    ) -> str | None:
        if plain[name] == 1:
            return name
        longer = self._add_month(name, thread)
        return longer if dated[longer] == 1 else None

    def find(self, thread: LifeThread, without: str | None = None) -> str | None:
        """A name that does not tell the asked role or fact, without a month if there is one."""
        names = self._names.get(thread.key, [])
        found = [
            (name, way)
            for name, way in zip(names, thread.process.called, strict=False)
            if name is not None and (without is None or not holds(way, without))
        ]
        found.sort(key=lambda each: (not _is_clear(thread, each[1]), each[0] not in thread.called))
        return found[0][0] if found else None

    def list_between(self, first: int, last: int) -> list[tuple[LifeThread, str]]:
        """The threads that began in these days, with their names."""
        start = bisect_left(self._told, first, key=lambda entry: entry[0])
        end = bisect_right(self._told, last, key=lambda entry: entry[0])
        return [(thread, name) for _, thread, name in self._told[start:end]]


def _is_clear(thread: LifeThread, way: str) -> bool:
    """Whether the first day tells everything that a name of the thread says."""
    named = {each.name for each in list_placeholders(way)}
    return all(
        name in thread.told and thread.told[name].day == thread.began
        for name in named & {*thread.facts, *thread.people}
    )
