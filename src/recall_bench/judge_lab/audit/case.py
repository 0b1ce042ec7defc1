"""One question on one day, ready to have answers written to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from recall_bench.core.question import Item, Truth
from recall_bench.judge_lab.audit.book import HistoryLookup
from recall_bench.judge_lab.audit.chance import SeededChoice
from recall_bench.judge_lab.audit.frames import fill_frame, list_frames
from recall_bench.judge_lab.audit.item import Labels
from recall_bench.judge_lab.audit.key import AnswerKey, AnswerShape, list_answer_strings
from recall_bench.judge_lab.audit.number_words import spell_number
from recall_bench.judge_lab.audit.restating import restate
from recall_bench.judge_lab.audit.values import AuditValue
from recall_bench.judge_lab.audit.wordings import Wording, list_wordings

_RESTATE_EVERY = 3
"""One sentence in so many takes up the question, where the question's form allows it."""


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """An answer, how it was written, and where its labels depart from those of its class."""

    recipe: str
    answer: str
    labels: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCase:
    """A question with its truth, the history around it and lots to draw."""

    book: HistoryLookup
    item: Item
    key: AnswerKey
    days: int
    asked: date
    lots: SeededChoice
    parts: tuple["AuditCase", ...] = ()
    """The questions a question of several parts is made of."""

    @property
    def truth(self) -> Truth:
        """What is true about it."""
        return self.item.truth

    def frame(self, value: AuditValue, text: str) -> str:
        """The text in some sentence fit for the value, now and then one in the question's words."""
        turned = list(restate(self.item.text, value.kind, text))
        if turned and self.lots.pick_below(_RESTATE_EVERY) == 0:
            return self.lots.pick(turned)
        return fill_frame(self.lots.pick(list_frames(value.kind)), text)

    def list_giveaways(self) -> tuple[str, ...]:
        """Whatever gives the answer away, or a part of it, in any wording."""
        worded = [way for value in self.key.values for _, way in self.list_wordings(value)]
        # `Two` gives `2 days` away; `one` is in every other sentence and gives nothing away.
        counts = [atom for atom in self.truth.atoms if atom.isdigit() and atom != "1"]
        worded += [spell_number(int(atom)) for atom in counts]
        return (*list_answer_strings(self.item), *worded)

    def list_wordings(self, value: AuditValue) -> list[Wording]:
        """The value in other words, such as the dataset itself takes for right among them."""
        aliases = self.truth.aliases if self.key.shape is AnswerShape.VALUE else ()
        return list_wordings(value, aliases, self.asked)

    def reword(self, value: AuditValue) -> Wording:
        """The value in other words; as written where there are none."""
        ways = self.list_wordings(value)
        return self.lots.pick(ways) if ways else ("as written", value.text)


Writer = Callable[[AuditCase], Iterator[AuditDraft]]
"""Every answer of one class that can be written to a question; none where that is absurd."""

UNSURE_COMPLETENESS: Labels = {"completeness": None}
