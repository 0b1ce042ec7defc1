"""Questions about threads: what was found, when, in what order, how often, and what caused it."""

from collections.abc import Iterator, Mapping
from datetime import date

from recall_bench.core.grouping import group_by
from recall_bench.core.scenario import (
    BOUNDARY,
    CROSS_REFERENCE,
    FACTUAL,
    NEGATIVE,
    RECENCY,
    SYNTHESIS,
    TEMPORAL,
)
from recall_bench.generate.life.drafts import DraftMaker, QuestionDraft, QuestionOutline
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.figure_history import is_figure
from recall_bench.generate.life.names import CAUSE, holds, list_placeholders
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import LifeProcess, ThreadQuestionTemplates
from recall_bench.generate.life.thread_names import ThreadNames
from recall_bench.generate.life.threads import LifeThread, StepMention
from recall_bench.generate.world.fact_values import sum_values
from recall_bench.generate.world.templates import capitalise

_LONG_AGO = 120
_MOST_COUNTED = 12
_ORDERED = 3
"""How many threads an order has."""
_QUARTERS = ("first", "second", "third", "fourth")

Drafts = Iterator[QuestionDraft]


class ThreadQuestions:
    """Drafts questions about threads."""

    def __init__(self, maker: DraftMaker, names: ThreadNames) -> None:
        self._maker = maker
        self._play: LifeSimulation = maker.play
        self._names = names
        self._last = maker.play.calendar.days
        self._by_process: dict[str, list[LifeThread]] = {}
        for thread in self._play.threads.threads:
            if thread.steps:
                self._by_process.setdefault(thread.process.id, []).append(thread)

    def draft_all(self) -> Drafts:
        """Every question that the threads give."""
        for process in self._play.sources.processes:
            threads = self._by_process.get(process.id, [])
            for asking in process.ask:
                (form,) = asking.find_forms()
                if form in ("order", "count", "sum", "most", "least"):
                    yield from self._ask_several(form, asking, process, threads)
                    continue
                for thread in threads:
                    yield from self._ask_one(form, asking, thread)

    def _ask_one(self, form: str, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        match form:
            case "fact":
                yield from self._ask_fact(asking, thread)
            case "date":
                yield from self._ask_date(asking, thread)
            case "days":
                yield from self._ask_days(asking, thread)
            case "did":
                yield from self._ask_did(asking, thread)
            case "cause":
                yield from self._ask_cause(asking, thread)

    def _word(
        self,
        plan: QuestionOutline,
        asking: ThreadQuestionTemplates,
        thread: LifeThread,
        name: str,
        without: str | None = None,
    ) -> Drafts:
        wordings = [each for each in asking.ask if without is None or not holds(each, without)]
        draft = self._maker.word(plan, wordings, self._give(thread, {"it": name}))
        if draft is not None:
            yield draft

    def _give(self, thread: LifeThread, more: Mapping[str, str]) -> dict[str, str]:
        """What the words of a question or an answer may name."""
        return {
            **{name: self._maker.show(value) for name, value in thread.facts.items()},
            **thread.people,
            **{role: entity.name for role, entity in thread.entities.items()},
            **more,
        }

    def _find_told(self, thread: LifeThread, name: str, at: str | None) -> StateMention | None:
        """Where something was stated first, or in the step that tells what is asked."""
        mention = thread.mentions.get(name)
        if at is not None:
            step = thread.steps.get(at)
            is_new = step is not None and mention is not None and mention.day == step.day
            return mention if is_new else thread.later_mentions.get((name, at))
        if mention is not None:
            return mention
        if name in thread.entities and thread.steps:
            mark = next(iter(thread.steps.values())).mark
            mention = self._play.lives.book.facts[mark.key].states[mark.number - 1]
            if mention.value.text.casefold() == thread.entities[name].name.casefold():
                return mention
        return None

    def _find_link(self, thread: LifeThread, mention: StateMention) -> tuple[str, ...]:
        """The sentence of the same step that says which thread it is about."""
        marks = [step.mark for step in thread.steps.values() if step.day == mention.day]
        return tuple(str(mark) for mark in marks if mark != mention.state)

    def _find_opening(self, thread: LifeThread, step: StepMention | None = None) -> tuple[str, ...]:
        """The sentence that began the thread: a later step may not say what it is a step of."""
        first = next(iter(thread.steps.values()))
        is_known = first is step or first.session in self._play.sources.isolated
        return () if is_known else (str(first.mark),)

    def _ask_fact(self, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        asked = asking.fact or ""
        mention = self._find_told(thread, asked, asking.at)
        name = self._names.find(thread, mention.day, without=asked) if mention is not None else None
        if mention is None or name is None:
            return
        if is_figure(mention) and self._maker.figures.is_known(mention.value.text, mention.day):
            # An earlier figure of the same size would look like the answer.
            return
        rivals = [
            other.mentions[asked]
            for other in self._by_process[thread.process.id]
            if other is not thread and asked in other.mentions
        ]
        given = self._give(thread, {"it": name, "value": self._maker.show(mention.value)})
        category = asking.category or FACTUAL
        first = mention.day
        if category == FACTUAL and (newer := self._find_rival(thread, mention, asked)):
            category, first = RECENCY, newer
        isolated = self._play.sources.isolated
        if mention.session in isolated:
            category = BOUNDARY
        plan = QuestionOutline(
            kind=asking.kind or ("said-by" if mention.value.kind == "person" else "single-fact"),
            category=category,
            derive=f"value {mention.state}",
            answer=self._maker.answer_with(asking.answer, given),
            first=first,
            needs=self._find_link(thread, mention),
            distractors=self._maker.list_wrong(mention.value, [each.value for each in rivals]),
            session=self._maker.choose_asker(mention.session),
        )
        yield from self._word(plan, asking, thread, name, asked)
        if mention.session in isolated:
            yield from self._ask_outsider(asking, thread, mention, name)

    def _find_rival(self, thread: LifeThread, mention: StateMention, fact: str) -> int | None:
        """The day of a newer value of the same fact about the same entity, months later."""
        mine = set(thread.entities.values())
        days = [
            other.mentions[fact].day
            for other in self._by_process[thread.process.id]
            if fact in other.mentions
            and other.mentions[fact].day >= mention.day + _LONG_AGO
            and other.mentions[fact].value.text != mention.value.text
            and not mine.isdisjoint(other.entities.values())
        ]
        return min(days, default=None)

    def _ask_outsider(
        self, asking: ThreadQuestionTemplates, thread: LifeThread, mention: StateMention, name: str
    ) -> Drafts:
        for asker in self._maker.chance.shuffle(self._maker.list_outsiders(mention.session))[:1]:
            plan = QuestionOutline(
                kind="secret",
                category=BOUNDARY,
                derive=f"secret {mention.state}",
                answer=self._maker.refuse(mention.session),
                first=mention.day,
                session=asker,
                expects="refuse",
            )
            yield from self._word(plan, asking, thread, name, asking.fact)

    def _is_open(self, thread: LifeThread, *steps: StepMention) -> bool:
        return not any(step.session in self._play.sources.isolated for step in steps) and bool(
            thread.steps
        )

    def _ask_date(self, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        step = thread.steps.get(asking.date or "")
        name = self._names.find(thread, step.day) if step is not None else None
        if step is None or name is None or not self._is_open(thread, step):
            return
        others = [each.day for each in thread.steps.values() if each.day != step.day]
        wrong = [self._maker.dates.format_day(day) for day in others]
        shown = self._maker.dates.format_day(step.day)
        if self._maker.figures.is_known(shown, step.day):
            return
        plan = QuestionOutline(
            kind=asking.kind or "date",
            category=asking.category or TEMPORAL,
            derive=f"date {step.mark}",
            answer=f"{shown}.",
            first=step.day,
            needs=self._find_opening(thread, step),
            distractors=tuple(wrong),
        )
        yield from self._word(plan, asking, thread, name)

    def _ask_days(self, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        first, second = (thread.steps.get(each) for each in asking.days or ("", ""))
        if first is None or second is None or first.day == second.day:
            return
        name = self._names.find(thread, max(first.day, second.day))
        if name is None:
            return
        if not self._is_open(thread, first, second):
            return
        days = abs(second.day - first.day)
        shown = f"{days} day{'s' if days > 1 else ''}"
        if self._maker.figures.is_known(shown, first.day):
            return
        plan = QuestionOutline(
            kind=asking.kind or "duration",
            category=asking.category or TEMPORAL,
            derive=f"days {first.mark} {second.mark}",
            answer=f"{shown}.",
            first=max(first.day, second.day),
        )
        yield from self._word(plan, asking, thread, name)

    def _ask_did(self, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        step = thread.steps.get(asking.did or "")
        name = self._names.find(thread, step.day if step is not None else self._last)
        if name is None or not self._is_open(thread, *thread.steps.values()):
            return
        if step is None and not _is_denied(thread, asking.did or ""):
            return
        shown = step or list(thread.steps.values())[-1]
        given = self._give(thread, {"it": name, "value": name})
        is_yes = step is not None
        reply = (asking.yes if is_yes else asking.no) or ("Yes." if is_yes else "No.")
        needs = []
        for fact in (*thread.facts, *thread.people):
            if is_yes and holds(reply, fact):
                if fact not in thread.mentions:
                    reply = "Yes."
                    break
                needs.append(thread.mentions[fact])
        first = step.day if step is not None else thread.ended or self._last
        plan = QuestionOutline(
            kind=("single-fact" if is_yes else asking.kind or "never-happened"),
            category=asking.category or NEGATIVE,
            derive=f"{'yes' if is_yes else 'no'} {shown.mark}",
            answer=self._maker.answer_with(reply, given),
            first=max([first, *(each.day for each in needs)]),
            needs=(*self._find_opening(thread, shown), *(str(each.state) for each in needs)),
            is_yes=is_yes,
        )
        yield from self._word(plan, asking, thread, name)

    def _ask_cause(self, asking: ThreadQuestionTemplates, thread: LifeThread) -> Drafts:
        mention = thread.mentions.get(CAUSE)
        if mention is None or thread.cause is None:
            return
        name = self._names.find(thread, mention.day)
        if name is None:
            return
        if mention.session in self._play.sources.isolated:
            return
        others = [
            other.called[0]
            for other in self._by_process.get(thread.cause.process.id, [])
            if other is not thread.cause and other.called[0] != mention.value.text
        ]
        first = next(iter(thread.cause.steps.values()))
        plan = QuestionOutline(
            kind=asking.kind or "reason",
            category=asking.category or CROSS_REFERENCE,
            derive=f"value {mention.state}",
            answer=self._maker.answer_with(asking.answer, {"value": mention.value.text}),
            first=mention.day,
            needs=(str(first.mark),),
            distractors=tuple(self._maker.chance.shuffle(others)[:3]),
            is_doubtful=self._is_plain_cause(thread, thread.cause),
        )
        yield from self._word(plan, asking, thread, name)

    def _is_plain_cause(self, thread: LifeThread, cause: LifeThread) -> bool:
        """Whether nothing else could have caused it, and its name says nothing of its own.

        A review of a service is always caused by an outage of this service.
        """
        named = {each.name for each in list_placeholders(cause.process.called[0])}
        subjects = {cause.entities.get(name) for name in named}
        sorts = [
            process.id
            for process in self._play.sources.processes
            if any(thread.process.id in step.brings for step in process.steps)
        ]
        return len(sorts) == 1 and subjects <= set(thread.entities.values())

    def _ask_several(
        self,
        form: str,
        asking: ThreadQuestionTemplates,
        process: LifeProcess,
        threads: list[LifeThread],
    ) -> Drafts:
        target = getattr(asking, form)
        if form == "order":
            yield from self._ask_order(asking, target, threads)
            return
        if form == "count":
            found = [
                (thread, step.day, str(step.mark))
                for thread in threads
                if (step := thread.steps.get(target)) is not None and self._is_open(thread, step)
            ]
        else:
            found = [
                (thread, mention.day, str(mention.state))
                for thread in threads
                if (mention := thread.mentions.get(target)) is not None
                and mention.session not in self._play.sources.isolated
            ]
        found.sort(key=lambda each: each[1])
        if asking.per in process.on:
            yield from self._tally_entities(form, asking, found)
        else:
            yield from self._tally_periods(form, asking, found)

    def _ask_order(
        self, asking: ThreadQuestionTemplates, step: str, threads: list[LifeThread]
    ) -> Drafts:
        known = [
            (thread, thread.steps[step], name)
            for thread in threads
            if step in thread.steps
            and self._is_open(thread, thread.steps[step])
            # A month in a name gives the order away.
            and (name := self._names.find(thread, thread.steps[step].day, is_dated=False))
            is not None
        ]
        known.sort(key=lambda each: each[1].day)
        for start in range(0, len(known) - _ORDERED + 1, _ORDERED - 1):
            three = known[start : start + _ORDERED]
            if len({each[1].day for each in three}) < _ORDERED:
                continue
            shown = self._maker.chance.shuffle(three)
            names = [each[2] for each in three]
            plan = QuestionOutline(
                kind="order",
                category=asking.category or TEMPORAL,
                derive=" ".join(["order", *(str(each[1].mark) for each in shown)]),
                answer=capitalise(
                    ", then ".join(self._date(each[2], each[1].day) for each in three)
                )
                + ".",
                first=three[-1][1].day,
                atoms=tuple(names),
            )
            given = {
                "it": names[0],
                **{key: each[2] for key, each in zip("abc", shown, strict=True)},
            }
            draft = self._maker.word(plan, asking.ask, given)
            if draft is not None:
                yield draft

    def _date(self, name: str, day: int) -> str:
        return f"{name} ({self._maker.dates.format_day(day)})"

    def _tally_entities(
        self, form: str, asking: ThreadQuestionTemplates, found: list[tuple[LifeThread, int, str]]
    ) -> Drafts:
        """So far, for each entity: as often as another one is added."""
        role = asking.per or ""
        by_entity = group_by(found, lambda each: each[0].entities[role].name)
        for name, own in by_entity.items():
            for count in range(2, min(len(own), _MOST_COUNTED) + 1):
                part = own[:count]
                until = own[count][1] - 1 if count < len(own) else None
                if until is not None and until - part[-1][1] < 8:
                    continue
                given = {role: name, "it": name, "period": "all"}
                yield from self._tally(form, asking, part, (part[-1][1], until), given)

    def _tally_periods(
        self, form: str, asking: ThreadQuestionTemplates, found: list[tuple[LifeThread, int, str]]
    ) -> Drafts:
        by_period: dict[tuple[int, int], list[tuple[LifeThread, int, str]]] = {}
        for each in found:
            at = self._maker.dates.get_date(each[1])
            quarter = (at.month - 1) // 3 if asking.per == "quarter" else 0
            by_period.setdefault((at.year, quarter), []).append(each)
        for (year, quarter), own in by_period.items():
            last = date(year, 3 * quarter + 3 if asking.per == "quarter" else 12, 28)
            end = (last - self._maker.dates.epoch).days + 5
            if end > self._last or not 2 <= len(own) <= 4 * _MOST_COUNTED:
                continue
            shown = f"the {_QUARTERS[quarter]} quarter of {year}"
            given = {"period": shown if asking.per == "quarter" else str(year), "it": str(year)}
            yield from self._tally(form, asking, own, (end, None), given)

    def _tally(
        self,
        form: str,
        asking: ThreadQuestionTemplates,
        part: list[tuple[LifeThread, int, str]],
        window: tuple[int, int | None],
        given: dict[str, str],
    ) -> Drafts:
        answer, wrong, winner = self._answer_tally(form, getattr(asking, form), part)
        if answer is None:
            return
        links = [
            link
            for thread, _, _ in part
            if form != "count"
            for link in self._find_link(thread, thread.mentions[getattr(asking, form)])
        ]
        if winner is not None:
            links.append(str(next(iter(winner.steps.values())).mark))
        plan = QuestionOutline(
            kind=asking.kind or {"count": "count", "sum": "sum"}.get(form, "comparison"),
            category=asking.category or SYNTHESIS,
            derive=" ".join([form, *(key for _, _, key in part)]),
            answer=answer,
            first=window[0],
            until=window[1],
            needs=tuple(dict.fromkeys(links)),
            distractors=tuple(wrong),
        )
        draft = self._maker.word(plan, asking.ask, given)
        if draft is not None:
            yield draft

    def _answer_tally(
        self, form: str, target: str, part: list[tuple[LifeThread, int, str]]
    ) -> tuple[str | None, list[str], LifeThread | None]:
        """The answer, wrong ones, and the thread that the answer names; None if there is none."""
        if form == "count":
            return f"{len(part)}.", [], None
        values = [thread.mentions[target].value for thread, _, _ in part]
        if form == "sum":
            return f"{sum_values(values).text}.", [], None
        amounts = [float(value.amount or value.day or 0) for value in values]
        best = (max if form == "most" else min)(amounts)
        if amounts.count(best) > 1:
            return None, [], None
        names = [self._names.find(thread, day) for thread, day, _ in part]
        winner = names[amounts.index(best)]
        if winner is None or None in names:
            return None, [], None
        others = [name for name in names if name is not None and name != winner]
        told = self._maker.name_winner(winner, values[amounts.index(best)])
        return (
            f"{told[:1].upper()}{told[1:]}.",
            self._maker.chance.shuffle(others)[:3],
            part[amounts.index(best)][0],
        )


def _is_denied(thread: LifeThread, step: str) -> bool:
    """Whether the text says that a step did not happen: another one stands in its place.

    A step that would have ended the thread is denied by any later one. Silence proves nothing.
    """
    if thread.ended is None:
        return False
    order = [each.id for each in thread.process.steps]
    missed = thread.process.steps[order.index(step)]
    last = list(thread.steps.values())[-1].step
    is_past = missed.ends and order.index(last.id) > order.index(step)
    return is_past or any(step in each.step.unless for each in thread.steps.values())
