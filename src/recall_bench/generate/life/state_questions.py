"""Questions about entities: their state now and then, its history, reasons, joins and lists."""

from collections.abc import Iterator

from recall_bench.core.plain_text import join_words
from recall_bench.core.scenario import (
    ATTRIBUTION,
    BOUNDARY,
    CONTRADICTION,
    CROSS_REFERENCE,
    DECISION,
    FACTUAL,
    PRINCIPAL,
    RECENCY,
    SYNTHESIS,
)
from recall_bench.generate.life.drafts import (
    DraftMaker,
    QuestionDraft,
    QuestionOutline,
    find_siblings,
    join_versions,
    name_latest,
)
from recall_bench.generate.life.entities import Entity, ReasonMention
from recall_bench.generate.life.facts import FactHistory, StateMention
from recall_bench.generate.life.figure_history import is_figure, list_state_matters
from recall_bench.generate.life.names import holds
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import EntityJoin, EntityList, LifeAttribute
from recall_bench.generate.life.thread_names import ThreadNames

_LONG_AGO = 120
_SHORTEST = 12
"""The fewest days on which a question about the present can be asked."""

Drafts = Iterator[QuestionDraft]


class StateQuestions:
    """Drafts questions about the states of entities."""

    def __init__(self, maker: DraftMaker, names: ThreadNames) -> None:
        self._maker = maker
        self._play: LifeSimulation = maker.play
        self._names = names
        self._last = maker.play.calendar.days

    def draft_all(self) -> Drafts:
        """Every question that the entities give."""
        for entity in self._play.lives.entities:
            for attribute, fact in entity.facts.items():
                about = _Subject(entity, attribute, fact)
                yield from self._ask_now(about)
                yield from self._ask_then(about)
                yield from self._ask_history(about)
                yield from self._ask_first(about)
                yield from self._ask_times(about)
                yield from self._ask_outsiders(about)
            for join in entity.kind.joins:
                yield from self._ask_join(entity, join)
        yield from self._ask_reasons()
        yield from self._compare()
        for kind in self._play.sources.entities.kinds.values():
            for listed in kind.lists:
                yield from self._ask_list(listed, kind.called)

    def _ask_now(self, about: "_Subject") -> Drafts:
        ask = about.definition.ask.now
        for mention in about.fact.states:
            end = about.fact.find_end(mention) or self._last
            if mention.manner == "misreported" or end - mention.day < _SHORTEST:
                continue
            if self._is_known(about, mention):
                continue
            yield from self._word(about, self._plan_now(about, mention), ask)
            if mention.day + _LONG_AGO + _SHORTEST <= end:
                late = self._plan_long_ago(about, mention)
                if late is not None:
                    yield from self._word(about, late, ask)
            if about.session in self._maker.list_shared():
                yield from self._word(about, self._plan_for_group(about, mention), ask)

    def _is_known(self, about: "_Subject", mention: StateMention) -> bool:
        """Whether an earlier figure on the same matter would look like the answer."""
        matters = list(list_state_matters(about.entity, about.attribute))
        return self._maker.figures.is_known(mention.value.text, mention.day, matters)

    def _plan_now(self, about: "_Subject", mention: StateMention) -> QuestionOutline:
        is_revised = mention.state.number > 1
        kind = about.definition.kind or ("current-value" if is_revised else "single-fact")
        category = CONTRADICTION if is_revised else FACTUAL
        asker = self._maker.choose_asker(about.session)
        if asker != PRINCIPAL:
            category = BOUNDARY
        return self._plan_value(about, mention, kind=kind, category=category, session=asker)

    def _plan_value(
        self, about: "_Subject", mention: StateMention, *, kind: str, category: str, session: str
    ) -> QuestionOutline:
        others = [
            each.value
            for sibling in find_siblings(self._play, about.entity, about.attribute)
            if (each := sibling.find_at(mention.day)) is not None
        ]
        had = {self._maker.show(each.value) for each in about.fact.states}
        return QuestionOutline(
            kind=kind,
            category=category,
            derive=name_latest(about.fact, mention),
            answer=self._answer(about, mention),
            first=mention.day,
            until=about.fact.find_end(mention),
            distractors=self._maker.list_wrong(mention.value, others, had),
            session=session,
        )

    def _plan_long_ago(self, about: "_Subject", mention: StateMention) -> QuestionOutline | None:
        """The value still holds after months, while siblings got newer ones."""
        first = mention.day + _LONG_AGO
        newer = [
            each.value
            for sibling in find_siblings(self._play, about.entity, about.attribute)
            if (each := sibling.find_at(first)) is not None
            and each.day > mention.day
            and each.value.text != mention.value.text
        ]
        if not newer or about.session in self._play.sources.isolated:
            return None
        return QuestionOutline(
            kind=about.definition.kind or "current-value",
            category=RECENCY,
            derive=name_latest(about.fact, mention),
            answer=self._answer(about, mention),
            first=first,
            until=about.fact.find_end(mention),
            distractors=self._maker.list_wrong(
                mention.value, newer, {self._maker.show(each.value) for each in about.fact.states}
            ),
        )

    def _plan_for_group(self, about: "_Subject", mention: StateMention) -> QuestionOutline:
        """What is stated in an open room may be repeated there, unlike a secret."""
        return self._plan_value(
            about,
            mention,
            kind=about.definition.kind or "current-value",
            category=BOUNDARY,
            session=about.session,
        )

    def _ask_then(self, about: "_Subject") -> Drafts:
        if about.session in self._play.sources.isolated:
            return
        dated = [each for each in about.definition.ask.then if holds(each, "date")]
        eventful = [each for each in about.definition.ask.then if holds(each, "event")]
        for number, mention in enumerate(about.fact.states[:-1]):
            end = about.fact.find_end(mention)
            if mention.manner == "misreported" or end is None or end - mention.day < _SHORTEST:
                continue
            if self._is_known(about, mention):
                continue
            day = self._maker.chance.draw_between(mention.day + 3, end - 3)
            later = [each.value for each in about.fact.states[number + 1 :]]
            category = RECENCY if self._maker.chance.is_hit(0.6) else CONTRADICTION
            plan = QuestionOutline(
                kind="value-as-of",
                category=category,
                derive=f"as-of {about.fact.key} @{day}",
                answer=self._answer(about, mention),
                first=end + 1,
                distractors=self._maker.list_wrong(mention.value, later),
            )
            given = {"date": self._maker.dates.format_day(day)}
            yield from self._word(about, plan, dated, given)
            yield from self._ask_event(about, mention, end, eventful)

    def _ask_event(
        self, about: "_Subject", mention: StateMention, end: int, wordings: list[str]
    ) -> Drafts:
        """The state when some other thread began: two records are needed."""
        if not wordings:
            return
        known = [
            (thread, clause)
            for thread, clause in self._names.list_openings(mention.day + 1, end - 1)
            if thread.steps and thread.process.session not in self._play.sources.isolated
        ]
        if not known:
            return
        if is_figure(mention) and self._maker.figures.is_known(mention.value.text, mention.day):
            # The thread is a second matter: a figure stated of it would look like the answer.
            return
        near = [each for each in known if about.entity in each[0].entities.values()]
        thread, clause = self._maker.chance.choose(near or known)
        mark = next(iter(thread.steps.values())).mark
        number = about.fact.states.index(mention)
        plan = QuestionOutline(
            kind="two-hop",
            category=CROSS_REFERENCE,
            derive=f"as-of {about.fact.key} @{thread.began}",
            answer=self._answer(about, mention),
            first=end + 1,
            needs=(str(mark),),
            distractors=self._maker.list_wrong(
                mention.value, [each.value for each in about.fact.states[number + 1 :]]
            ),
            is_doubtful=not near,
        )
        yield from self._word(about, plan, wordings, {"event": clause})

    def _ask_history(self, about: "_Subject") -> Drafts:
        if about.session in self._play.sources.isolated:
            return
        for mention in about.fact.states[2:]:
            end = about.fact.find_end(mention)
            if mention.manner == "misreported" or (end or self._last) - mention.day < _SHORTEST:
                continue
            states = about.fact.states[: mention.state.number]
            if len({each.value.text for each in states}) < 3:
                continue
            held = _list_held(states)
            shown = [self._maker.show(each.value) for each in held]
            plan = QuestionOutline(
                kind="history",
                category=SYNTHESIS,
                derive=f"history {about.fact.key} @{mention.day}"
                if len(held) == len(states)
                else " ".join(["list", *(str(each.state) for each in held)]),
                answer=join_versions(shown),
                first=mention.day,
                until=end,
                # What was reported wrongly is no part of the history, but it has to be known.
                needs=tuple(str(each.state) for each in states if each not in held),
                is_doubtful=len(held) < 2,
            )
            yield from self._word(about, plan, about.definition.ask.history)

    def _ask_first(self, about: "_Subject") -> Drafts:
        states = about.fact.states
        if len(states) < 2 or about.session in self._play.sources.isolated:
            return
        if self._is_known(about, states[0]):
            return
        plan = QuestionOutline(
            kind="value-as-of",
            category=RECENCY,
            derive=f"value {states[0].state}",
            answer=self._answer(about, states[0]),
            first=states[1].day,
            distractors=self._maker.list_wrong(
                states[0].value, [each.value for each in states[1:]]
            ),
        )
        yield from self._word(about, plan, about.definition.ask.first)

    def _ask_times(self, about: "_Subject") -> Drafts:
        if about.session in self._play.sources.isolated:
            return
        for mention in about.fact.states[2:]:
            states = about.fact.states[1 : mention.state.number]
            end = about.fact.find_end(mention)
            if any(each.manner == "misreported" for each in states):
                return
            if (end or self._last) - mention.day < _SHORTEST:
                continue
            plan = QuestionOutline(
                kind="count",
                category=SYNTHESIS,
                derive=" ".join(["count", *(str(each.state) for each in states)]),
                answer=f"{len(states)} times.",
                first=mention.day,
                until=end,
                needs=(str(about.fact.states[0].state),),
            )
            yield from self._word(about, plan, about.definition.ask.times)

    def _ask_outsiders(self, about: "_Subject") -> Drafts:
        if not about.definition.secret:
            return
        outsiders = self._maker.list_outsiders(about.session)
        for number, mention in enumerate(about.fact.states):
            end = about.fact.find_end(mention)
            if (end or self._last) - mention.day < _SHORTEST:
                continue
            states = about.fact.states[: number + 1]
            for asker in self._maker.chance.shuffle(outsiders)[:2]:
                plan = QuestionOutline(
                    kind="secret",
                    category=BOUNDARY,
                    derive=" ".join(["secret", *(str(each.state) for each in states)]),
                    answer=self._maker.refuse(about.session),
                    first=mention.day,
                    until=end,
                    session=asker,
                    expects="refuse",
                )
                yield from self._word(about, plan, about.definition.ask.secret)

    def _word(
        self,
        about: "_Subject",
        plan: QuestionOutline,
        wordings: list[str],
        given: dict[str, str] | None = None,
    ) -> Drafts:
        draft = self._maker.word(plan, wordings, {"it": about.entity.name, **(given or {})})
        if draft is not None:
            yield draft

    def _answer(self, about: "_Subject", mention: StateMention) -> str:
        given = {"it": about.entity.name, "value": self._maker.show(mention.value)}
        template = about.definition.answer
        end = about.fact.find_end(mention)
        # A sentence in the present would be wrong about the past.
        return self._maker.answer_with(template if end is None else None, given)

    def _ask_reasons(self) -> Drafts:
        for reason in self._play.lives.reasons:
            fact = reason.entity.facts[reason.attribute]
            same = [each for each in fact.states if each.value.text == reason.of.value.text]
            if len(same) > 1 or reason.of.session in self._play.sources.isolated:
                continue
            yield from self._ask_reason(reason)

    def _ask_reason(self, reason: ReasonMention) -> Drafts:
        definition = reason.entity.kind.attributes[reason.attribute]
        is_why = reason.part == "why"
        is_group = reason.of.session != PRINCIPAL
        category = DECISION
        if not is_why and is_group:
            category = ATTRIBUTION
        others = [each for each in reason.mention.value.others if each != reason.mention.value.text]
        plan = QuestionOutline(
            kind="reason" if is_why else "said-by",
            category=category,
            derive=f"value {reason.mention.state}",
            answer=self._maker.answer_with(None, {"value": reason.mention.value.text}),
            first=reason.mention.day,
            needs=(str(reason.of.state),),
            distractors=tuple(self._maker.chance.shuffle(others)[:3]),
        )
        given = {"it": reason.entity.name, "value": self._maker.show(reason.of.value)}
        wordings = definition.ask.why if is_why else definition.ask.who
        draft = self._maker.word(plan, wordings, given)
        if draft is not None:
            yield draft

    def _compare(self) -> Drafts:
        """Pairs of entities of a kind, at days on which one of the two has changed."""
        entities = self._play.lives.entities
        for number, one in enumerate(entities):
            others = [each for each in entities[number + 1 :] if each.kind_name == one.kind_name]
            for other in self._maker.chance.shuffle(others)[:2]:
                for attribute in one.facts:
                    if attribute in other.facts:
                        yield from self._compare_pair(one, other, attribute)

    def _compare_pair(self, one: Entity, other: Entity, attribute: str) -> Drafts:
        definition = one.kind.attributes[attribute]
        facts = [one.facts[attribute], other.facts[attribute]]
        if definition.session in self._play.sources.isolated:
            return
        for day in self._list_moments(facts):
            states = [fact.find_at(day) for fact in facts]
            first, second = states
            if first is None or second is None:
                continue
            end = self._find_end(facts, [first, second])
            is_clear = "misreported" not in (first.manner, second.manner)
            if not is_clear or first.day == second.day or end - day < _SHORTEST:
                continue
            for form, wordings in (
                ("most", definition.ask.compare),
                ("least", definition.ask.lower),
            ):
                yield from self._compare_states(form, wordings, facts, [first, second], day)

    def _compare_states(
        self,
        form: str,
        wordings: list[str],
        facts: list[FactHistory],
        states: list[StateMention],
        day: int,
    ) -> Drafts:
        keys = [_measure(each) for each in states]
        if not wordings or keys[0] == keys[1]:
            return
        best = keys.index((max if form == "most" else min)(keys))
        end = self._find_end(facts, states)
        plan = QuestionOutline(
            kind="comparison",
            category=SYNTHESIS,
            derive=f"{form} {states[0].state} {states[1].state}",
            answer=self._maker.answer_with(
                None,
                {"value": self._maker.name_winner(facts[best].about, states[best].value)},
            ),
            first=day,
            until=None if end >= self._last else end,
            distractors=(facts[1 - best].about,),
        )
        pair = [facts[0].about, facts[1].about]
        if self._maker.chance.is_hit(0.5):
            pair.reverse()
        draft = self._maker.word(plan, wordings, {"a": pair[0], "b": pair[1]})
        if draft is not None:
            yield draft

    def _list_moments(self, facts: list[FactHistory]) -> list[int]:
        return sorted({each.day for fact in facts for each in fact.states})

    def _find_end(self, facts: list[FactHistory], states: list[StateMention]) -> int:
        ends = [fact.find_end(state) for fact, state in zip(facts, states, strict=True)]
        return min((end for end in ends if end is not None), default=self._last)

    def _ask_join(self, entity: Entity, join: EntityJoin) -> Drafts:
        by_name = {each.name: each for each in self._play.lives.entities}
        days = {each.day for fact in entity.facts.values() for each in fact.states}
        days |= {
            state.day
            for other in self._play.lives.entities
            for name, fact in other.facts.items()
            if name in join.path[1:]
            for state in fact.states
        }
        seen: set[tuple[str, ...]] = set()
        for day in sorted(days):
            path = self._follow(entity, join, day, by_name)
            if path is None:
                continue
            facts, states = path
            end = self._find_end(facts, states)
            steps = tuple(str(each.state) for each in states)
            if steps in seen or end - day < _SHORTEST:
                continue
            seen.add(steps)
            rivals = [each.value for each in facts[-1].states]
            attribute = join.path[-1]
            owner = by_name[states[-2].value.text]
            if self._is_known(_Subject(owner, attribute, facts[-1]), states[-1]):
                continue
            rivals += [each.now.value for each in find_siblings(self._play, owner, attribute)]
            plan = QuestionOutline(
                kind="two-hop" if len(join.path) == 2 else "three-hop",
                category=CROSS_REFERENCE,
                derive=name_latest(facts[-1], states[-1]),
                answer=self._maker.answer_with(
                    join.answer,
                    {"it": entity.name, "value": self._maker.show(states[-1].value)},
                ),
                first=max(each.day for each in states),
                until=None if end >= self._last else end,
                needs=steps[:-1],
                distractors=self._maker.list_wrong(states[-1].value, rivals),
            )
            draft = self._maker.word(plan, join.ask, {"it": entity.name})
            if draft is not None:
                yield draft

    def _follow(
        self, entity: Entity, join: EntityJoin, day: int, by_name: dict[str, Entity]
    ) -> tuple[list[FactHistory], list[StateMention]] | None:
        at: Entity | None = entity
        facts: list[FactHistory] = []
        states: list[StateMention] = []
        for attribute in join.path:
            fact = at.facts.get(attribute) if at is not None else None
            state = fact.find_at(day) if fact is not None else None
            if fact is None or state is None or state.manner == "misreported":
                return None
            if state.session in self._play.sources.isolated:
                return None
            facts.append(fact)
            states.append(state)
            at = by_name.get(state.value.text)
        return facts, states

    def _ask_list(self, listed: EntityList, called: str) -> Drafts:
        members = [
            (each, each.facts[listed.attribute])
            for each in self._play.lives.entities
            if each.kind.called == called and listed.attribute in each.facts
        ]
        facts = [fact for _, fact in members]
        days = self._list_moments(facts)
        for place, day in enumerate(days):
            end = days[place + 1] - 1 if place + 1 < len(days) else self._last
            if end - day < _SHORTEST - 4:
                continue
            by_value: dict[str, list[tuple[FactHistory, StateMention]]] = {}
            for fact in facts:
                state = fact.find_at(day)
                if state is not None:
                    by_value.setdefault(state.value.text, []).append((fact, state))
            for value, found in by_value.items():
                is_clear = all(state.manner != "misreported" for _, state in found)
                days_told = {state.day for _, state in found}
                if not 2 <= len(found) <= 7 or not is_clear or len(days_told) < 2:
                    continue
                if found[0][1].session in self._play.sources.isolated:
                    continue
                names = [fact.about for fact, _ in found]
                others = [fact.about for fact in facts if fact.about not in names]
                plan = QuestionOutline(
                    kind="list",
                    category=SYNTHESIS,
                    derive=f"same {found[0][1].state} @{day}",
                    answer=self._maker.answer_with(None, {"value": join_words(names)}),
                    first=day,
                    until=None if end >= self._last else end,
                    distractors=tuple(self._maker.chance.shuffle(others)[:3]),
                )
                draft = self._maker.word(plan, listed.ask, {"value": value})
                if draft is not None:
                    yield draft


class _Subject:
    """An attribute of an entity, with its states."""

    __slots__ = ("attribute", "definition", "entity", "fact")

    def __init__(self, entity: Entity, attribute: str, fact: FactHistory) -> None:
        self.entity = entity
        self.attribute = attribute
        self.fact = fact
        self.definition: LifeAttribute = entity.kind.attributes[attribute]

    @property
    def session(self) -> str:
        """Where it is stated."""
        return self.definition.session


def _list_held(states: list[StateMention]) -> list[StateMention]:
    """The states without wrong reports, and without those that only say again what held before."""
    true = [each for each in states if each.manner != "misreported"]
    return [
        each
        for number, each in enumerate(true)
        if not number or each.value.text != true[number - 1].value.text
    ]


def _measure(mention: StateMention) -> float:
    value = mention.value
    if value.day is not None:
        return float(value.day)
    if value.kind == "time":
        hours, _, minutes = value.text.partition(":")
        return float(int(hours) * 60 + int(minutes))
    return float(value.amount or 0)
