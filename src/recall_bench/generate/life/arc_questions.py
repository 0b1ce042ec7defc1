"""Questions about the authored arcs: their facts, dates, order, and who may know."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from recall_bench.core.scenario import (
    BOUNDARY,
    CONTRADICTION,
    FACTUAL,
    PRINCIPAL,
    RECENCY,
    TEMPORAL,
)
from recall_bench.generate.life.drafts import (
    DraftMaker,
    QuestionDraft,
    QuestionOutline,
    QuestionScope,
)
from recall_bench.generate.life.facts import FactHistory, StateMention
from recall_bench.generate.life.names import flatten, list_placeholders
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.story_arcs import ArcProgress
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.sources import FactSlot

_UNCLEAR = re.compile(r"\b(?:she|her|hers|he|him|his)\b")
"""Pronouns for a person whom a question by itself has not named."""
_HEAD = re.compile(r".+?(?= (?:of|that|in|about|with|over|for|from|on|to|who|between|behind)\b)|.+")
"""The noun of a name, without what follows it."""
_LATEST = "Going by the latest word: {ask}"

_SIDES = "Did {a} come before or after {b}?"
_ORDERINGS = (
    "Which came first, {a} or {b}?",
    "What was earlier: {a}, or {b}?",
    "Of {a} and {b}, which happened first?",
    _SIDES,
)

Drafts = Iterator[QuestionDraft]


class ArcQuestions:
    """Drafts questions about the authored arcs."""

    def __init__(self, maker: DraftMaker) -> None:
        self._maker = maker
        self._play: LifeSimulation = maker.play
        self._isolated = maker.play.sources.isolated
        self._last = maker.play.calendar.days

    def draft_all(self) -> Drafts:
        """Every question that the arcs give."""
        for arc in self._play.arcs.arcs:
            for name, slot in arc.active.arc.facts.items():
                fact = self._play.lives.book.facts.get(arc.name_fact(name))
                if fact is not None:
                    yield from self._ask_fact(arc, name, slot, fact)
            yield from self._ask_events(arc)
            yield from self._ask_order(arc)

    def _give(self, arc: ArcProgress, turn: int = 0) -> dict[str, str]:
        called = _prefer_clear(flatten(arc.active.arc.called))
        given = {
            name: self._maker.show(values[0])
            for name, values in arc.active.thread.slot_values.items()
        }
        given["name"] = arc.active.arc.name
        it = self._play.writer.fill(
            called[turn % len(called)], QuestionScope(self._maker.cast, given)
        )
        return given | {"it": it}

    def _fill(self, template: str, given: Mapping[str, str]) -> str:
        return self._play.writer.fill(template, QuestionScope(self._maker.cast, given))

    def _word(
        self,
        plan: QuestionOutline,
        arc: ArcProgress,
        wordings: list[str],
        more: dict[str, str] | None = None,
    ) -> Drafts:
        given = self._give(arc, len(plan.derive)) | (more or {})
        known = [each for each in wordings if all(p.name in given for p in list_placeholders(each))]
        draft = self._maker.word(plan, _prefer_clear(known), given)
        if draft is not None:
            yield draft

    def _ask_fact(self, arc: ArcProgress, name: str, slot: FactSlot, fact: FactHistory) -> Drafts:
        if slot.secret or fact.states[0].session in self._isolated:
            yield from self._ask_secret(arc, name, slot, fact)
            return
        mention = fact.now
        is_revised = len(fact.states) > 1
        category: str = slot.category or FACTUAL
        if is_revised:
            category = CONTRADICTION
        rivals = [FactValue("phrase", each) for each in mention.value.others]
        plan = QuestionOutline(
            kind="current-value" if is_revised else _find_kind(name, slot),
            category=category,
            derive=f"latest {mention.state}" if is_revised else f"value {mention.state}",
            answer=self._answer(arc, slot, mention),
            first=mention.day,
            needs=_find_links(arc, mention),
            distractors=self._maker.list_wrong(
                mention.value, rivals, [self._maker.show(each.value) for each in fact.states]
            ),
        )
        asks = [_say_latest(each) for each in slot.ask] if is_revised else slot.ask
        for wording in asks[:2]:
            yield from self._word(plan, arc, [wording])
        for number, state in enumerate(fact.states[:-1]):
            yield from self._ask_then(arc, slot, fact, state, number)

    def _ask_then(
        self, arc: ArcProgress, slot: FactSlot, fact: FactHistory, state: StateMention, number: int
    ) -> Drafts:
        end = fact.states[number + 1].day - 1
        if end - state.day < 4:
            return
        day = self._maker.chance.draw_between(state.day + 1, end - 1)
        plan = QuestionOutline(
            kind="value-as-of",
            category=RECENCY,
            derive=f"as-of {fact.key} @{day}",
            answer=self._answer(arc, slot, state),
            first=end + 1,
            distractors=tuple(
                self._maker.show(each.value)
                for each in fact.states[number + 1 :]
                if each.value.text != state.value.text
            ),
        )
        given = {"date": self._maker.dates.format_day(day)}
        yield from self._word(plan, arc, slot.then, given)

    def _answer(self, arc: ArcProgress, slot: FactSlot, mention: StateMention) -> str:
        shown = self._maker.show(mention.value)
        if slot.answer is None:
            return self._maker.answer_with(None, {"value": shown})
        names = {arc.name_fact(each): each for each in arc.active.arc.facts}
        given = self._give(arc) | {names[mention.state.key]: shown, "value": shown}
        return self._maker.answer_with(slot.answer, given)

    def _ask_secret(self, arc: ArcProgress, name: str, slot: FactSlot, fact: FactHistory) -> Drafts:
        mention = fact.states[0]
        home = mention.session
        forgotten = arc.forgotten.get(name)
        opened = arc.revealed.get(name)
        is_changed = len(fact.states) > 1
        until = fact.states[1].day - 1 if is_changed else None
        ends = [day - 1 for day in (forgotten, opened) if day is not None]
        last = min([*ends, *([until] if until is not None else [])], default=None)
        inside = QuestionOutline(
            kind=_find_kind(name, slot),
            category=BOUNDARY,
            derive=f"value {mention.state}",
            answer=self._answer(arc, slot, mention),
            first=mention.day,
            until=last,
            distractors=self._maker.list_wrong(
                mention.value, [FactValue("phrase", each) for each in mention.value.others]
            ),
            session=home,
        )
        # In several wordings, so that one is left that no outsider is asked in.
        for wording in slot.ask:
            yield from self._word(inside, arc, [wording])
        granted = [session for fact_name, session in arc.granted if fact_name == name]
        for asker in self._maker.chance.shuffle(self._maker.list_outsiders(home))[:3]:
            if asker not in granted:
                yield from self._refuse(arc, slot, mention, asker, last)
        for session in granted:
            yield from self._ask_granted(arc, name, slot, fact, session)
        if forgotten is not None:
            yield from self._ask_forgotten(arc, slot, mention, forgotten)
        yield from self._ask_partly(arc, slot, mention, last)

    def _refuse(
        self, arc: ArcProgress, slot: FactSlot, mention: StateMention, asker: str, until: int | None
    ) -> Drafts:
        if until is not None and until <= mention.day:
            return
        plan = QuestionOutline(
            kind="secret",
            category=BOUNDARY,
            derive=f"secret {mention.state}",
            answer=self._maker.refuse(mention.session),
            first=mention.day,
            until=until,
            session=asker,
            expects="refuse",
        )
        yield from self._word(plan, arc, slot.ask)

    def _ask_granted(
        self, arc: ArcProgress, name: str, slot: FactSlot, fact: FactHistory, session: str
    ) -> Drafts:
        """Refused before a room is let in, answered afterwards with what holds then."""
        day = arc.granted[name, session]
        first, mention = fact.states[0], fact.find_at(day) or fact.states[0]
        if day - 1 > first.day:
            yield from self._refuse(arc, slot, first, session, day - 1)
        revoked = arc.revoked.get((name, session))
        ends = [revoked - 1 if revoked is not None else None, fact.find_end(mention)]
        plan = QuestionOutline(
            kind=_find_kind(name, slot),
            category=BOUNDARY,
            derive=f"value {mention.state}",
            answer=self._answer(arc, slot, mention),
            first=day,
            until=min((end for end in ends if end is not None), default=None),
            session=session,
            is_rare=True,
        )
        yield from self._word(plan, arc, slot.ask)
        if revoked is not None:
            yield from self._ask_revoked(arc, slot, fact, session, revoked)

    def _ask_revoked(
        self, arc: ArcProgress, slot: FactSlot, fact: FactHistory, session: str, day: int
    ) -> Drafts:
        """A room that knew, and may not be reminded any more."""
        states = [str(each.state) for each in fact.states if each.day <= day]
        plan = QuestionOutline(
            kind="secret",
            category=BOUNDARY,
            derive=" ".join(["secret", *states, f"@{day}"]),
            answer=self._maker.refuse(fact.states[0].session),
            first=day + 1,
            needs=_find_event(arc, day),
            session=session,
            expects="refuse",
            is_rare=True,
        )
        yield from self._word(plan, arc, slot.ask)

    def _ask_forgotten(
        self, arc: ArcProgress, slot: FactSlot, mention: StateMention, day: int
    ) -> Drafts:
        plan = QuestionOutline(
            kind="forgotten",
            category=BOUNDARY,
            derive=f"secret {mention.state}",
            answer="I was asked to forget that, so I can't tell you.",
            first=day,
            needs=_find_event(arc, day),
            session=mention.session,
            expects="refuse",
            is_rare=True,
        )
        yield from self._word(plan, arc, slot.ask)

    def _ask_partly(
        self, arc: ArcProgress, slot: FactSlot, mention: StateMention, until: int | None
    ) -> Drafts:
        """A question for two things of which the asker may know one."""
        if slot.with_ is None or not slot.both:
            return
        fact = self._play.lives.book.facts.get(arc.name_fact(slot.with_))
        if fact is None or fact.states[0].session in self._isolated or len(fact.states) > 1:
            return
        other = fact.states[0]
        shown = self._maker.show(other.value)
        first = max(mention.day, other.day)
        if until is not None and until <= first:
            return
        plan = QuestionOutline(
            kind="secret",
            category=BOUNDARY,
            derive=f"secret {mention.state}",
            answer=f"{shown[:1].upper()}{shown[1:]}; the rest stays in {mention.session}.",
            first=first,
            until=until,
            needs=(str(other.state),),
            atoms=(shown,),
            session=self._choose_outsider(mention.session, other.session),
            expects="partial",
            is_rare=True,
        )
        yield from self._word(plan, arc, slot.both)

    def _choose_outsider(self, home: str, open_room: str) -> str:
        """An asker who may know one of two things: the room of the open one, if it can be."""
        outsiders = [
            each for each in self._maker.list_outsiders(home) if each not in self._isolated
        ]
        return open_room if open_room in outsiders else next(iter(outsiders), PRINCIPAL)

    def _ask_events(self, arc: ArcProgress) -> Drafts:
        first = next(iter(arc.events.values()), None)
        for name, mention in arc.events.items():
            when = arc.directives[name].when
            if when is None or mention.session in self._isolated:
                continue
            others = [each.day for each in arc.events.values() if each.day != mention.day]
            wrong = [self._maker.dates.format_day(day) for day in others]
            plan = QuestionOutline(
                kind="date",
                category=TEMPORAL,
                derive=f"date {mention.state}",
                answer=f"{self._maker.dates.format_day(mention.day)}.",
                first=mention.day,
                needs=self._list_told_on(arc, mention),
                distractors=tuple(self._maker.chance.shuffle(wrong)[:3]),
            )
            for wording in when.ask[:1]:
                yield from self._word(plan, arc, [wording])
            if first is None or not when.gap or first.session in self._isolated:
                continue
            days = mention.day - first.day
            if days > 1:
                plan = QuestionOutline(
                    kind="duration",
                    category=TEMPORAL,
                    derive=f"days {first.state} {mention.state}",
                    answer=f"{days} days.",
                    first=mention.day,
                    needs=(*self._list_told_on(arc, first), *self._list_told_on(arc, mention)),
                )
                yield from self._word(plan, arc, when.gap)

    def _list_told_on(self, arc: ArcProgress, event: StateMention) -> tuple[str, ...]:
        """What the text of an event stated, beside the sentence that names the arc."""
        found = [
            self._play.lives.book.facts.get(arc.name_fact(each)) for each in arc.active.arc.facts
        ]
        return tuple(
            str(mention.state)
            for fact in found
            if fact is not None
            for mention in fact.states
            if mention.day == event.day and mention.session == event.session
        )

    def _ask_order(self, arc: ArcProgress) -> Drafts:
        events = [
            (mention, arc.directives[name].when)
            for name, mention in arc.events.items()
            if mention.session not in self._isolated
        ]
        given = self._give(arc)
        dates = self._maker.dates
        phrased = [
            (mention, self._fill(when.phrase, given), self._fill(when.phrase, _shorten(given)))
            for mention, when in events
            if when is not None and when.phrase
        ]
        for one, other in zip(phrased, phrased[2:], strict=False):
            if one[0].day == other[0].day:
                continue
            for mention, phrase, _ in (one, other):
                self._play.lives.book.facts[mention.state.key].about = phrase
            shown = self._maker.chance.shuffle([one, other])
            told = " ".join(
                (
                    f"{one[1]} ({dates.format_day(one[0].day)}), then",
                    f"{other[1]} ({dates.format_day(other[0].day)}).",
                )
            )
            plan = QuestionOutline(
                kind="order",
                category=TEMPORAL,
                derive=f"order {shown[0][0].state} {shown[1][0].state}",
                answer=f"{told[:1].upper()}{told[1:]}",
                first=other[0].day,
                atoms=(one[1], other[1]),
            )
            draft = self._maker.word(plan, _ORDERINGS, {"a": shown[0][1], "b": shown[1][2]})
            if draft is not None and draft.template == _SIDES:
                side = "Before" if shown[0] is one else "After"
                draft = self._maker.make(
                    msgspec.structs.replace(plan, answer=f"{side}: {told}"),
                    draft.template,
                    draft.question.ask,
                )
            if draft is not None:
                yield draft


def _shorten(given: Mapping[str, str]) -> dict[str, str]:
    """The names with a pronoun for the arc, which the same sentence has named before."""
    head = _HEAD.match(given["it"])
    is_plural = head is not None and re.search(r"[^su]s$", head[0]) is not None
    return {**given, "it": "them" if is_plural else "it"}


def _find_links(arc: ArcProgress, mention: StateMention) -> tuple[str, ...]:
    """The sentence of the same event that names the arc."""
    link = arc.links.get((mention.day, mention.session))
    return () if link is None else (str(link),)


def _find_event(arc: ArcProgress, day: int) -> tuple[str, ...]:
    """The event of a day, such as the request to forget."""
    return tuple(str(each.state) for each in arc.events.values() if each.day == day)[:1]


def _prefer_clear(wordings: list[str]) -> list[str]:
    """The wordings without a pronoun for an unnamed person, if there are any."""
    return [each for each in wordings if not _UNCLEAR.search(each)] or wordings


def _say_latest(ask: str) -> str:
    """A question for a value that has changed says that the latest one is meant."""
    return _LATEST.replace("{ask}", ask[:1].lower() + ask[1:])


def _find_kind(name: str, slot: FactSlot) -> str:
    if slot.get_kind() == "person" and slot.category is not None:
        return "said-by"
    if name in ("reason", "objection"):
        return "reason"
    return "single-fact"
