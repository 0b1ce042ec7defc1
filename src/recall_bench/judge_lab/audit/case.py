"""One question on one day, ready to have answers written to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from recall_bench.core.question import Item, Truth
from recall_bench.judge_lab.audit.book import Book
from recall_bench.judge_lab.audit.chance import Lots
from recall_bench.judge_lab.audit.frames import frames, said
from recall_bench.judge_lab.audit.item import Labels
from recall_bench.judge_lab.audit.key import Key, Shape, told
from recall_bench.judge_lab.audit.number_words import spelled
from recall_bench.judge_lab.audit.restating import restated
from recall_bench.judge_lab.audit.values import Value
from recall_bench.judge_lab.audit.wordings import Wording, wordings

_TURNED = 3
"""One sentence in so many takes up the question, where the question's form allows it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer, how it was written, and where its labels depart from those of its class."""

    recipe: str
    answer: str
    labels: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with its truth, the history around it and lots to draw."""

    book: Book
    item: Item
    key: Key
    days: int
    asked: date
    lots: Lots
    parts: tuple["Case", ...] = ()
    """The questions a question of several parts is made of."""

    @property
    def truth(self) -> Truth:
        """What is true about it."""
        return self.item.truth

    def framed(self, value: Value, text: str) -> str:
        """The text in some sentence fit for the value, now and then one in the question's words."""
        turned = list(restated(self.item.text, value.kind, text))
        if turned and self.lots.below(_TURNED) == 0:
            return self.lots.one(turned)
        return said(self.lots.one(frames(value.kind)), text)

    def giveaways(self) -> tuple[str, ...]:
        """Whatever gives the answer away, or a part of it, in any wording."""
        worded = [way for value in self.key.values for _, way in self.wordings(value)]
        # `Two` gives `2 days` away; `one` is in every other sentence and gives nothing away.
        counts = [atom for atom in self.truth.atoms if atom.isdigit() and atom != "1"]
        worded += [spelled(int(atom)) for atom in counts]
        return (*told(self.item), *worded)

    def wordings(self, value: Value) -> list[Wording]:
        """The value in other words, such as the dataset itself takes for right among them."""
        aliases = self.truth.aliases if self.key.shape is Shape.VALUE else ()
        return wordings(value, aliases, self.asked)

    def reworded(self, value: Value) -> Wording:
        """The value in other words; as written where there are none."""
        ways = self.wordings(value)
        return self.lots.one(ways) if ways else ("as written", value.text)


Writer = Callable[[Case], Iterator[Draft]]
"""Every answer of one class that can be written to a question; none where that is absurd."""

UNSURE: Labels = {"completeness": None}
