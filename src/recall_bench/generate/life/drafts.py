"""Questions that a life edition could ask, before some of them are chosen."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.text_values import list_words
from recall_bench.generate.life.entities import Entity
from recall_bench.generate.life.facts import FactHistory, StateMention
from recall_bench.generate.life.figure_history import FigureHistory
from recall_bench.generate.life.prose import LifeScope, TopicNames, tidy_spaces
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.fact_values import FactValue, list_near_values
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.templates import Placeholder, PlaceholderValue, capitalise
from recall_bench.generate.written.sources import WrittenQuestion

MOST_DISTRACTORS = 3

_DIFFICULTY = {
    "single-fact": "easy",
    "said-by": "easy",
    "reason": "medium",
    "date": "easy",
    "current-value": "medium",
    "preference": "medium",
    "procedure": "medium",
    "value-as-of": "medium",
    "implied": "medium",
    "never-happened": "medium",
    "planned-and-dropped": "medium",
    "somebody-else": "medium",
    "unanswerable": "medium",
    "secret": "medium",
    "forgotten": "medium",
    "comparison": "medium",
}
"""The kinds that are not hard."""

REFUSALS = (
    "I can't share that; it stays in {session}.",
    "That was said in {session}, and I don't pass it on from there.",
    "I'm not able to tell you that here; it belongs to {session}.",
    "That is kept within {session}, so I can't answer it here.",
    "I have to leave that in {session}; please ask there.",
    "That is confidential to {session}; I can't repeat it.",
)


NAMING_KINDS = ("comparison", "order")
"""The kinds whose questions name the answer among others."""


def join_versions(shown: Sequence[str]) -> str:
    """A history in one sentence; versions with commas inside are kept apart by semicolons."""
    joint = "; then " if any(", " in each for each in shown) else ", then "
    return f"First {joint.join(shown)}."


def gives_away(ask: str, answer: str) -> bool:
    """Whether every word of the answer is in the question."""
    words = set(list_words(answer))
    asked = ask.lower()
    # Few answers are: most questions need not be split into words.
    return all(word in asked for word in words) and words.issubset(list_words(ask))


class QuestionScope(LifeScope):
    """Fills a wording with plain text; people by their full names."""

    def __init__(self, cast: Cast, given: Mapping[str, str]) -> None:
        self.names = TopicNames(cast)
        self._given = given

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder."""
        name = self._given[placeholder.name]
        if placeholder.form and name in self.names.cast.people:
            return self.names.fill_person(name, placeholder.form, None)
        return PlaceholderValue(name)


class QuestionDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A question with the wording it was made from."""

    template: str
    question: WrittenQuestion
    is_yes: bool | None = None
    """For yes or no: which of the two."""
    is_rare: bool = False
    """Chosen first: the sources give few of its sort."""
    is_doubtful: bool = False
    """Not asked where it is chosen: it joins what does not belong together, or tells its answer."""


class QuestionOutline(msgspec.Struct, frozen=True, kw_only=True):
    """What a question is about, before its wording is chosen."""

    kind: str
    category: str
    derive: str
    answer: str
    first: int
    until: int | None = None
    needs: tuple[str, ...] = ()
    atoms: tuple[str, ...] | None = None
    stale: tuple[str, ...] | None = None
    distractors: tuple[str, ...] = ()
    session: str = PRINCIPAL
    expects: str = "answer"
    is_yes: bool | None = None
    is_rare: bool = False
    is_doubtful: bool = False


class DraftMaker:
    """Words questions; each wording of a list is used in turn."""

    def __init__(self, play: LifeSimulation) -> None:
        self.play = play
        self.cast = play.sources.cast
        self.dates = play.calendar.dates
        self.chance = RandomStream(play.seed, "life", "questions")
        self.figures = FigureHistory(play)
        self._turns: dict[str, int] = {}

    def word(
        self, plan: QuestionOutline, wordings: Sequence[str], given: Mapping[str, str]
    ) -> QuestionDraft | None:
        """The draft of a plan in the next of the wordings; None if there is none."""
        if not wordings:
            return None
        label = "\0".join(wordings)
        turn = self._turns.get(label, 0)
        self._turns[label] = turn + 1
        template = wordings[turn % len(wordings)]
        ask = self.play.writer.fill(template, QuestionScope(self.cast, given))
        if plan.is_yes is None and plan.kind not in NAMING_KINDS and gives_away(ask, plan.answer):
            return None
        return self.make(plan, template, capitalise(ask))

    def make(self, plan: QuestionOutline, template: str, ask: str) -> QuestionDraft:
        """The draft of a plan in these words."""
        wrong = [each for each in dict.fromkeys(plan.distractors) if each]
        question = WrittenQuestion(
            ask=tidy_spaces(ask),
            kind=plan.kind,
            category=plan.category,
            derive=plan.derive,
            answer=plan.answer,
            difficulty=_DIFFICULTY.get(plan.kind, "hard"),
            atoms=None if plan.atoms is None else list(plan.atoms),
            stale=None if plan.stale is None else list(plan.stale),
            distractors=wrong[: MOST_DISTRACTORS + 1],
            needs=list(plan.needs),
            from_=plan.first,
            until=plan.until,
            session=plan.session,
            expects=plan.expects,
        )
        return QuestionDraft(
            template=template,
            question=question,
            is_yes=plan.is_yes,
            is_rare=plan.is_rare,
            is_doubtful=plan.is_doubtful,
        )

    def choose_asker(self, session: str) -> str:
        """The session from which something stated in a session is asked."""
        return session if session in self.play.sources.isolated else PRINCIPAL

    def list_outsiders(self, session: str) -> list[str]:
        """The sessions with a person who must not learn what is stated in an isolated one."""
        sessions = self.play.sources.persona.sessions
        inside = {name for each in sessions if each.id == session for name in each.participants}
        return [
            each.id for each in sessions if each.id != session and set(each.participants) - inside
        ]

    def list_shared(self) -> list[str]:
        """The open sessions of several people."""
        return [
            each.id
            for each in self.play.sources.persona.sessions
            if not each.isolated and each.id != PRINCIPAL
        ]

    def refuse(self, session: str) -> str:
        """A refusal that names the room."""
        return self.chance.choose(REFUSALS).replace("{session}", session)

    def show(self, value: FactValue) -> str:
        """A value in an answer: a date with its year."""
        return self.dates.format_day(value.day) if value.day is not None else value.text

    def name_winner(self, name: str, value: FactValue) -> str:
        """What has the most or the least, with its value."""
        shown = self.show(value)
        if value.kind == "money":
            return f"{name} ({shown})"
        joint = "on" if value.day is not None else "at" if value.kind == "time" else "with"
        return f"{name}, {joint} {shown}"

    def list_wrong(
        self, value: FactValue, others: Iterable[FactValue], right: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Plausible wrong values: those of others first, then near ones."""
        taken = {self.show(value), *right}
        found = [self.show(each) for each in others]
        wrong = [each for each in dict.fromkeys(found) if each not in taken]
        wrong = self.chance.shuffle(wrong)[:MOST_DISTRACTORS]
        if len(wrong) < 2:
            near = list_near_values(value, self.dates, self.chance)
            wrong += [each for each in near if each not in taken and each not in wrong]
        return tuple(wrong[:MOST_DISTRACTORS])

    def answer_with(self, template: str | None, given: Mapping[str, str]) -> str:
        """An answer as a sentence; without a template the value alone."""
        text = given["value"]
        if template is not None:
            text = self.play.writer.fill(template, QuestionScope(self.cast, given))
        text = capitalise(text.strip())
        return text if text.endswith((".", "!", "?")) else f"{text}."


def find_siblings(play: LifeSimulation, entity: Entity, attribute: str) -> list[FactHistory]:
    """The same attribute of the other entities of the kind."""
    return [
        other.facts[attribute]
        for other in play.lives.entities
        if other.kind_name == entity.kind_name and other is not entity and attribute in other.facts
    ]


def name_latest(fact: FactHistory, mention: StateMention) -> str:
    """The derivation of a value that is the current one; the verifier then knows its end."""
    is_only = len(fact.states) == 1
    if mention.state.number == 1 and not is_only:
        return f"value {mention.state}"
    return f"latest {mention.state}"
