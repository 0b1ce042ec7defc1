"""Chooses the questions of a life edition from all that could be asked."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from recall_bench.core.scenario import BOUNDARY, CATEGORIES, NEGATIVE
from recall_bench.generate.life.arc_questions import ArcQuestions
from recall_bench.generate.life.drafts import DraftMaker, QuestionDraft, QuestionOutline
from recall_bench.generate.life.entities import Entity
from recall_bench.generate.life.names import flatten
from recall_bench.generate.life.question_evidence import HOPS, fill_slots
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import UnansweredTopic
from recall_bench.generate.life.state_questions import StateQuestions
from recall_bench.generate.life.thread_names import ThreadNames
from recall_bench.generate.life.thread_questions import ThreadQuestions
from recall_bench.generate.life.untold import find_telling, fold_texts, split_words
from recall_bench.generate.written.sources import WrittenDay, WrittenQuestion

_A_DAY = 1.2
"""Questions for each day of the story."""
_SHARE = 0.016
"""The largest share of questions in one wording."""
_SAME = 0.07
"""The largest share of a category's questions that have the same answer."""
_LEAD = 3
"""By how many questions one of two constant answers may lead."""
_ASKED_OF = 4
"""Of how many entities something that was never stated is asked."""


def write_questions(play: LifeSimulation, days: tuple[WrittenDay, ...]) -> list[WrittenQuestion]:
    """The questions of a story, by the day from which they can be asked."""
    names = ThreadNames(play)
    name_threads(play, names)
    maker = DraftMaker(play)
    drafts = [
        *StateQuestions(maker, names).draft_all(),
        *ThreadQuestions(maker, names).draft_all(),
        *ArcQuestions(maker).draft_all(),
        *UnanswerableQuestions(maker, days).draft_all(),
    ]
    choice = QuestionChoice(maker.chance.shuffle(drafts), play.calendar.days, play.sources.isolated)
    chosen = sorted(choice.choose(), key=_place_in_time)
    return [*_list_asked(play.sources.persona.id, chosen)]


def _place_in_time(draft: QuestionDraft) -> tuple[int, str, str]:
    return draft.question.from_ or 0, draft.question.ask, draft.question.session


def _list_asked(persona: str, chosen: Iterable[QuestionDraft]) -> Iterator[WrittenQuestion]:
    """The questions under their numbers, without doubtful ones and those that ask the same again.

    They are left out after the choice, so that all others and their numbers stay.
    """
    asked: set[tuple[str, ...]] = set()
    for number, draft in enumerate(chosen, start=1):
        question = draft.question
        same = (question.category, question.session, question.derive, *question.needs)
        if draft.is_doubtful or same in asked:
            continue
        if draft.is_yes is None:
            asked.add(same)
        yield msgspec.structs.replace(question, id=f"{persona}-w{number:03}")


def name_threads(play: LifeSimulation, names: ThreadNames) -> None:
    """Let the facts of a thread be about the thread as questions call it."""
    for thread in play.threads.threads:
        name = names.find_first(thread)
        if name is None:
            continue
        mentions = [*thread.mentions.values(), *thread.later_mentions.values()]
        keys = [each.state.key for each in mentions]
        keys += [step.mark.key for step in thread.steps.values()]
        for key in keys:
            play.lives.book.facts[key].about = name


class UnanswerableQuestions:
    """Questions for what never happened or was never stated."""

    def __init__(self, maker: DraftMaker, days: tuple[WrittenDay, ...]) -> None:
        self._maker = maker
        self._play = maker.play
        texts = (fill_slots(self._play, day.text) for day in days)
        self._lines = fold_texts(line for text in texts for line in text.splitlines())

    def draft_all(self) -> Iterator[QuestionDraft]:
        """Every such question that no sentence of the story answers."""
        entities = self._play.sources.entities
        for matter in entities.unknown:
            yield from self._ask(matter, "unknown", "unanswerable")
        for matter in entities.never:
            yield from self._ask(matter, "absent", "never-happened")

    def _ask(self, matter: UnansweredTopic, form: str, kind: str) -> Iterator[QuestionDraft]:
        words = split_words(matter)
        if find_telling(words, self._lines) is not None:
            return
        usual = "Nothing in the log says." if form == "unknown" else "No, that never came up."
        known = [each for each in self._play.lives.entities if each.kind_name == matter.kind]
        subjects: list[Entity | None] = [*self._maker.chance.shuffle(known)[:_ASKED_OF]]
        for entity in subjects or [None]:
            given = {"it": entity.name} if entity is not None else {}
            plan = QuestionOutline(
                kind=kind,
                category=NEGATIVE,
                derive=" ".join([form, *words]),
                answer=matter.answer or usual,
                first=(entity.introduced or 1) if entity is not None else 1,
                is_yes=False,
            )
            draft = self._maker.word(plan, flatten(matter.ask), given)
            if draft is not None:
                yield draft


class DraftGroup(NamedTuple):
    """Drafts of one category between which only the time decides."""

    side: object
    is_rare: bool
    kind: str
    template: str


class QuestionChoice:
    """Chooses as many questions of each category, spread over kinds, wordings and time."""

    def __init__(self, drafts: list[QuestionDraft], days: int, isolated: Collection[str]) -> None:
        self._wanted = round(days * _A_DAY)
        self._cap = max(2, int(self._wanted * _SHARE))
        self._days = days
        self._used: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._answers: Counter[tuple[str, object]] = Counter()
        self._thirds: Counter[tuple[str, int]] = Counter()
        self._isolated = isolated
        self._is_ahead = False
        """Whether a secret and its twin were taken at once, so that the next turn is over."""
        self._insiders: set[tuple[str, str]] = set()
        """States, and the sessions that may know them and are asked for them."""
        self._lasting: dict[str, int] = {}
        """Wordings over two records with a question that holds to the end, and its first day."""
        self._latest: dict[str, int] = {}
        """Wordings over two records, and the last of the first days."""
        self._replies: Counter[tuple[str, str]] = Counter()
        self._same = max(2, int(self._wanted / len(CATEGORIES) * _SAME))
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._waiting: dict[str, dict[DraftGroup, list[QuestionDraft]]] = {
            name: {} for name in CATEGORIES
        }
        self._twins: dict[str, list[QuestionDraft]] = {}
        """The drafts for askers who may know a secret, by the states they rest on."""
        for draft in drafts:
            if draft.question.expects == "answer" and draft.question.session in isolated:
                for key in draft.question.derive.split()[1:]:
                    self._twins.setdefault(key, []).append(draft)
            groups = self._waiting[draft.question.category]
            group = DraftGroup(
                _find_side(draft), draft.is_rare, draft.question.kind, draft.template
            )
            groups.setdefault(group, []).append(draft)

    def choose(self) -> list[QuestionDraft]:
        """The chosen questions."""
        chosen: list[QuestionDraft] = []
        share = self._wanted // len(CATEGORIES)
        for _ in range(share):
            for category in CATEGORIES:
                chosen += self._take(category)
        # What a category lacks, the others give.
        rest = [name for name in CATEGORIES if name not in (NEGATIVE, BOUNDARY)]
        while len(chosen) < self._wanted and any(self._waiting[name] for name in rest):
            for category in rest:
                chosen += self._take(category)
        return chosen

    def _take(self, category: str) -> list[QuestionDraft]:
        """The next question of a category, in the wording that was used least."""
        if category == BOUNDARY and self._is_ahead:
            self._is_ahead = False
            return []
        groups = self._waiting[category]
        while groups:
            group = min(groups, key=lambda each: self._rank_group(category, each))
            if self._is_one_sided(category, group.side):
                return []
            waiting = groups[group]
            waiting[:] = [each for each in waiting if self._is_free(each)]
            if waiting and self._used[group.template] < self._cap:
                return self._accept_with_twin(min(waiting, key=self._rank))
            del groups[group]
        return []

    def _is_one_sided(self, category: str, side: object) -> bool:
        """Whether one more of a side would let a constant answer win."""
        if not isinstance(side, bool):
            return False
        return self._answers[category, side] > self._answers[category, not side] + _LEAD

    def _rank_group(self, category: str, group: DraftGroup) -> tuple[int, bool, int, int]:
        """The side of which least were taken, what is rare, then the kind and the wording."""
        return (
            # A counter takes long to say that it lacks a key.
            self._answers.get((category, group.side), 0),
            not group.is_rare,
            self._kinds.get((category, group.kind), 0),
            self._used.get(group.template, 0),
        )

    def _is_free(self, draft: QuestionDraft) -> bool:
        """Whether it was not asked, and its answer is not that of too many others."""
        question = draft.question
        if question.expects != "answer" and self._is_without_twin(question):
            return False
        if question.kind in HOPS and not self._is_clear_hop(draft):
            return False
        return question.ask not in self._asked and (
            draft.is_yes is not None
            or question.expects != "answer"
            or self._replies[question.category, question.answer] < self._same
        )

    def _is_clear_hop(self, draft: QuestionDraft) -> bool:
        """Whether no later question in the same words could be taken for the same one, changed."""
        first = draft.question.from_ or 0
        if first > self._lasting.get(draft.template, first):
            return False
        is_lasting = draft.question.until is None
        return not is_lasting or first >= self._latest.get(draft.template, 0)

    def _is_without_twin(self, secret: WrittenQuestion) -> bool:
        """Whether no asker may know it, as for what was forgotten."""
        return not (
            secret.kind == "forgotten" or self._is_answered(secret) or self._find_twin(secret)
        )

    def _is_answered(self, secret: WrittenQuestion) -> bool:
        """Whether an asker who may know it is asked already."""
        keys = set(secret.derive.split()[1:])
        return any(key in keys and room != secret.session for key, room in self._insiders)

    def _find_twin(self, secret: WrittenQuestion) -> QuestionDraft | None:
        """A question about a secret for an asker who may know it."""
        for key in secret.derive.split()[1:]:
            for twin in self._twins.get(key, ()):
                is_other = twin.question.session != secret.session
                if is_other and twin.question.ask != secret.ask and self._is_free(twin):
                    return twin
        return None

    def _accept_with_twin(self, draft: QuestionDraft) -> list[QuestionDraft]:
        """The question, and with a secret the question of an asker who may know it."""
        secret = draft.question
        accepted = [self._accept(draft)]
        if secret.expects != "answer" and not self._is_answered(secret):
            twin = self._find_twin(secret)
            self._is_ahead = twin is not None
            accepted += [self._accept(twin)] if twin is not None else []
        return accepted

    def _accept(self, draft: QuestionDraft) -> QuestionDraft:
        question = draft.question
        self._used[draft.template] += 1
        self._asked.add(question.ask)
        self._replies[question.category, question.answer] += 1
        self._answers[question.category, _find_side(draft)] += 1
        self._thirds[question.category, self._find_third(draft)] += 1
        self._kinds[question.category, question.kind] += 1
        if question.expects == "answer" and question.session in self._isolated:
            self._insiders |= {(key, question.session) for key in question.derive.split()[1:]}
        if question.kind in HOPS:
            first = question.from_ or 0
            self._latest[draft.template] = max(first, self._latest.get(draft.template, 0))
            if question.until is None:
                self._lasting.setdefault(draft.template, first)
        return draft

    def _find_third(self, draft: QuestionDraft) -> int:
        return ((draft.question.from_ or 1) - 1) * 3 // self._days

    def _rank(self, draft: QuestionDraft) -> tuple[int, bool]:
        """Where fewer questions were taken from this part of the story; lasting ones first."""
        third = self._thirds[draft.question.category, self._find_third(draft)]
        return third, draft.question.until is not None


def _find_side(draft: QuestionDraft) -> object:
    """What is balanced within a category: yes and no, answered and refused."""
    if draft.question.category == NEGATIVE:
        return draft.is_yes
    if draft.question.category == BOUNDARY:
        return draft.question.expects == "answer"
    return None
