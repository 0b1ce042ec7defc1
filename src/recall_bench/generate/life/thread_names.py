"""How questions call a thread, so that no other one is meant."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable

from recall_bench.generate.life.names import holds, list_names
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.threads import CalledScope, LifeThread
from recall_bench.generate.world.fact_values import Dates, format_month
from recall_bench.generate.world.random_stream import RandomStream

_FRONT = re.compile(r"(?:the )?\w+(?:'s|s') |[A-Z][\w.-]*(?: [A-Z][\w.-]*){0,2}'s |the ")
"""What stands before the noun of a name: an owner or an article."""

_RELATIVE = re.compile(r"\b(?:that|which|who|whom|whose)\b")
_LAST = 10**9
_FIRST_AND_CHANGED = 2
"""The states of an attribute that changed once."""


class ThreadNames:
    """Every name of every thread that can mean no other; a month is added where it is needed."""

    def __init__(self, play: LifeSimulation) -> None:
        self._dates = play.calendar.dates
        self._chance = RandomStream(play.seed, "life", "thread names")
        threads = [each for each in play.threads.threads if each.steps]
        plain = Counter(name for each in threads for name in set(each.called))
        dated = Counter(
            put_month(name, month)
            for each in threads
            for name in set(each.called)
            for month in _list_months(each, self._dates)
        )
        self._names: dict[str, list[str | None]] = {}
        for thread in threads:
            self._names[thread.key] = [
                self._choose(name, thread, plain, dated) for name in thread.called
            ]
        self._openings = self._find_openings(play, threads)
        self._alike = Counter(_sort_words(name) for each in threads for name in set(each.called))
        self._alike_dated = Counter(
            _sort_words(put_month(name, month))
            for each in threads
            for name in set(each.called)
            for month in _list_months(each, self._dates)
        )

    def _choose(
        self, name: str, thread: LifeThread, plain: Counter[str], dated: Counter[str]
    ) -> str | None:
        if len(_RELATIVE.findall(name)) > 1:
            # "the complaint about a doctor who never sat down that Ines took down"
            return None
        if plain[name] == 1:
            return name
        month = _find_month(thread, self._dates)
        longer = put_month(name, month) if month is not None else ""
        return longer if dated[longer] == 1 else None

    def _find_openings(
        self, play: LifeSimulation, threads: Iterable[LifeThread]
    ) -> list[tuple[int, LifeThread, str]]:
        """The threads whose beginning can be stated in a clause that fits no other, in order."""
        clauses = [
            (each, play.writer.fill_inside(way, CalledScope(each, play.sources)))
            for each in threads
            for way in each.process.opens[:1]
            if _is_told(each, way, each.began)
        ]
        plain = Counter(clause for _, clause in clauses)
        found = []
        for thread, clause in clauses:
            month = format_month(self._dates.get_month(thread.began))
            longer = clause if plain[clause] == 1 else f"{clause} in {month}"
            found.append((thread.began, thread, longer))
        count = Counter(clause for _, _, clause in found)
        return sorted(
            (each for each in found if count[each[2]] == 1), key=lambda each: (each[0], each[2])
        )

    def find(
        self, thread: LifeThread, by: int, *, without: str = "", is_dated: bool = True
    ) -> str | None:
        """A name that says only what was stated by a day, and not the asked role or fact.

        Those that the first day explains come first; between them different questions use
        different ones.
        """
        names = self._names.get(thread.key, [])
        found = [
            (name, way)
            for name, way in zip(names, thread.process.called, strict=False)
            if name is not None
            and (is_dated or name in thread.called)
            and not (without and holds(way, without))
            and _is_told(thread, way, by)
        ]
        clear = [name for name, way in found if _is_told(thread, way, thread.began)]
        known = clear or [name for name, _ in found]
        dated = [name for name in known if name not in thread.called]
        # With a month the shortest name says enough.
        best = [name for name in known if name in thread.called] + sorted(dated, key=len)[:1]
        chosen = self._chance.choose(best) if best else None
        return self._make_clear(thread, chosen, by) if chosen and is_dated else chosen

    def _make_clear(self, thread: LifeThread, name: str, by: int) -> str:
        """The name with a month where the same words mean another event too.

        A month in which nothing of what is asked came is that of the start, and says so.
        """
        month = _find_month(thread, self._dates)
        if month is None:
            return name
        if name in thread.called:
            longer = put_month(name, month)
            is_shared = self._alike[_sort_words(name)] > 1 or _is_repeated(thread)
            if not is_shared or self._alike_dated[_sort_words(longer)] > 1:
                return name
            name = longer
        since = thread.process.since
        if since is None or format_month(self._dates.get_month(by)) == month:
            return name
        plain = name.replace(f"{month} ", "", 1)
        if _RELATIVE.search(plain):
            return name
        return f"{plain} {since.replace('{month}', month)}"

    def find_first(self, thread: LifeThread) -> str | None:
        """The name of a thread by which its facts are known, without a month if there is one."""
        names = [
            name
            for name, way in zip(
                self._names.get(thread.key, []), thread.process.called, strict=False
            )
            if name is not None and _is_told(thread, way, _LAST)
        ]
        return min(names, key=lambda each: each not in thread.called, default=None)

    def list_openings(self, first: int, last: int) -> list[tuple[LifeThread, str]]:
        """The threads that began in these days, each with a clause that says so."""
        start = bisect_left(self._openings, first, key=lambda entry: entry[0])
        end = bisect_right(self._openings, last, key=lambda entry: entry[0])
        return [(thread, clause) for _, thread, clause in self._openings[start:end]]


def _sort_words(name: str) -> tuple[str, ...]:
    """The words of a name in one order: "between A and B" is "between B and A"."""
    return tuple(sorted(name.split()))


def _is_repeated(thread: LifeThread) -> bool:
    """Whether what the thread brings about came at other times too, outside threads of its kind."""
    role, _, attribute = (thread.process.repeats or "").partition(".")
    entity = thread.entities.get(role)
    fact = entity.facts.get(attribute) if entity is not None else None
    return fact is not None and len(fact.states) > _FIRST_AND_CHANGED


def put_month(name: str, month: str) -> str:
    """The name with the month before its noun, where it can belong to nothing else."""
    front = _FRONT.match(name)
    end = front.end() if front is not None else 0
    return f"{name[:end]}{month} {name[end:]}"


def _list_months(thread: LifeThread, dates: Dates) -> set[str]:
    """Every month in which a step of the thread was stated, and the one that it is called by."""
    months = {format_month(dates.get_month(step.day)) for step in thread.steps.values()}
    return months | {month for month in (_find_month(thread, dates),) if month is not None}


def _find_month(thread: LifeThread, dates: Dates) -> str | None:
    """The month that people put to a thread: that of its start, or of what was planned."""
    day = find_named_day(thread)
    return None if day is None else format_month(dates.get_month(day))


def find_named_day(thread: LifeThread) -> int | None:
    """The day whose month is put to a thread; None if what was planned did not come."""
    held = thread.process.held
    if held is None:
        return thread.began
    step = thread.steps.get(held)
    return thread.facts[held].day if held in thread.facts else step.day if step else None


def _is_told(thread: LifeThread, way: str, by: int) -> bool:
    """Whether everything that a name of the thread says was stated by a day."""
    for name in list_names(way):
        if name in thread.facts or name in thread.people:
            mention = thread.mentions.get(name)
            if mention is None or mention.day > by:
                return False
    return True
