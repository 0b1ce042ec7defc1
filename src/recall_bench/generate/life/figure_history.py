"""Figures that the story has stated about a matter: stated again, they are no news."""

import re
from collections.abc import Collection, Iterator

from recall_bench.generate.life.entities import Entity
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.threads import LifeThread

_YEAR = re.compile(r"(?<=[a-z\d]),? \d{4}$")


class FigureHistory:
    """The days and the matters of each statement, by figure."""

    def __init__(self, play: LifeSimulation) -> None:
        self._statements: dict[str, list[tuple[int, frozenset[str]]]] = {}
        for entry in play.lives.log:
            self._add(entry.mention, list_state_matters(entry.entity, entry.attribute))
        for thread in play.threads.threads:
            for mention in thread.mentions.values():
                self._add(mention, _list_thread_matters(thread))

    def _add(self, mention: StateMention, matters: Iterator[str]) -> None:
        if is_figure(mention):
            shown = _drop_year(mention.value.text)
            self._statements.setdefault(shown, []).append((mention.day, frozenset(matters)))

    def is_known(self, shown: str, day: int, matters: Collection[str] | None = None) -> bool:
        """Whether a figure was stated before a day, of one of these matters or of any."""
        return any(
            first_day < day and (matters is None or not known.isdisjoint(matters))
            for first_day, known in self._statements.get(_drop_year(shown), ())
        )


def _drop_year(shown: str) -> str:
    """A figure; a date as the log writes it, mostly without its year."""
    return _YEAR.sub("", shown)


def is_figure(mention: StateMention) -> bool:
    """Whether a value is a number, an amount, a time or a date, or a phrase with a number."""
    return mention.value.kind not in ("person", "phrase") or any(
        map(str.isdigit, mention.value.text)
    )


def list_state_matters(entity: Entity, attribute: str) -> Iterator[str]:
    """What a state is about: its entity, and the attribute of all entities of the kind."""
    yield entity.name
    yield f"{entity.kind_name}.{attribute}"


def _list_thread_matters(thread: LifeThread) -> Iterator[str]:
    yield from (entity.name for entity in thread.entities.values())
