"""Questions on a world: queries over its ledger, whose answers are true by construction."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import (
    ATTRIBUTION,
    BOUNDARY,
    CONTRADICTION,
    CROSS_REFERENCE,
    DECISION,
    FACTUAL,
    NEGATIVE,
    RECENCY,
    SYNTHESIS,
    TEMPORAL,
)
from recall_bench.features.personas.simulator.draft import (
    DraftContext,
    DraftQuestion,
    format_sentence,
)
from recall_bench.features.personas.simulator.ledger import LedgerFact, LogSentence, Matter
from recall_bench.features.personas.simulator.secret_questions import ask_secrets
from recall_bench.features.personas.simulator.values import (
    FactValue,
    format_month,
    format_number,
)
from recall_bench.features.personas.simulator.world import World

WINDOW = 30
"""Days over which the kinds of questions are balanced."""
SILENCE = 120
"""Days a matter must be unmentioned before it tests resistance to recency bias."""

_QUOTAS = {
    FACTUAL: 3,
    f"{TEMPORAL}/date": 1,
    f"{TEMPORAL}/gap": 1,
    f"{TEMPORAL}/order2": 1,
    f"{TEMPORAL}/order3": 1,
    DECISION: 2,
    f"{CONTRADICTION}/now": 1,
    f"{CONTRADICTION}/echoed": 1,
    f"{CONTRADICTION}/then": 1,
    f"{CONTRADICTION}/still": 1,
    f"{CONTRADICTION}/no-longer": 1,
    CROSS_REFERENCE: 2,
    RECENCY: 2,
    f"{SYNTHESIS}/count": 1,
    f"{SYNTHESIS}/changes": 1,
    f"{SYNTHESIS}/total": 1,
    f"{SYNTHESIS}/extreme": 1,
    f"{NEGATIVE}/happened": 1,
    f"{NEGATIVE}/not-spared": 1,
    f"{NEGATIVE}/never": 1,
    f"{NEGATIVE}/spared": 1,
    f"{NEGATIVE}/no-date": 1,
    f"{NEGATIVE}/absent": 1,
    ATTRIBUTION: 2,
    BOUNDARY: 2,
}
"""Questions of each kind in a window."""
_BALANCED = frozenset({f"{SYNTHESIS}/count", f"{SYNTHESIS}/changes", f"{TEMPORAL}/gap"})
"""Kinds whose answer is a small number: no constant answer may be right too often."""
_BALANCED_SIDES = (
    ((f"{CONTRADICTION}/now",), (f"{CONTRADICTION}/echoed",)),
    ((f"{CONTRADICTION}/still",), (f"{CONTRADICTION}/no-longer",)),
    (
        (f"{NEGATIVE}/happened", f"{NEGATIVE}/spared"),
        (f"{NEGATIVE}/not-spared", f"{NEGATIVE}/never"),
    ),
)
"""Kinds of which equally many are kept: the last mention is the answer or not, yes and no."""
_MAX_BACKLOG = 3
"""Windows of unfilled quota that may be made up later."""

_NEAREST, _FARTHEST = 4, 220
"""Fewest and most days between two events whose order is asked."""


def write_questions(world: World, times: int = 1) -> list[DraftQuestion]:
    """The selected questions, in the order in which they become answerable.

    `times` as many as usual, as far as the world has them.
    """
    context = DraftContext(world, RandomStream(world.seed, "questions"))
    drafts: list[DraftQuestion] = []
    for matter in world.matters:
        drafts += ask_values(matter, context)
        drafts += ask_changes(matter, context)
        drafts += ask_events(matter, context)
        drafts += ask_secrets(matter, context)
    drafts += ask_absent_values(world.matters, context)
    drafts += ask_shared_values(world.matters, context)
    drafts += ask_orders(world.matters, context)
    drafts += ask_tallies(world.matters, context)
    chance = RandomStream(world.seed, "selection")
    return select_questions(drafts, world.options.days, chance, times)


def select_questions(
    drafts: Iterable[DraftQuestion], days: int, chance: RandomStream, times: int = 1
) -> list[DraftQuestion]:
    """Some drafts of every kind and window; what one window lacks, the next may make up."""
    groups: dict[object, list[DraftQuestion]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        is_spread = not draft.is_synthesis or len({sentence.day for sentence in draft.evidence}) > 1
        is_timely = draft.known_from <= min(days, draft.known_until or days)
        if is_spread and is_timely and not draft.is_spoilt:
            groups[draft.group or number].append(draft)
    waiting: dict[tuple[str, int], list[list[DraftQuestion]]] = defaultdict(list)
    for group in groups.values():
        kind = group[0].kind if group[0].kind in _QUOTAS else group[0].category
        window = (max(draft.known_from for draft in group) - 1) // WINDOW
        waiting[kind, window].append(group)
    chosen: dict[str, list[list[DraftQuestion]]] = {kind: [] for kind in _QUOTAS}
    taken: set[tuple[str, str | None, int | None]] = set()
    answers: Counter[tuple[str, str]] = Counter()
    for kind, quota in _QUOTAS.items():
        owed = 0
        for window in range((days - 1) // WINDOW + 1):
            owed = min(owed + times * quota, times * quota * _MAX_BACKLOG)
            candidates = chance.shuffle(waiting[kind, window])
            if kind in _BALANCED:
                candidates.sort(key=lambda group: answers[kind, group[0].reference])
            for group in candidates[: 4 * owed] if kind in _BALANCED else candidates:
                if owed == 0:
                    break
                keys = {(d.text, d.session, d.known_from if d.group else None) for d in group}
                if keys & taken:
                    continue
                taken |= keys
                owed -= 1
                answers[kind, group[0].reference] += 1
                chosen[kind].append(group)
    _trim_sides(chosen, chance)
    selected = [draft for candidates in chosen.values() for group in candidates for draft in group]
    return sorted(selected, key=lambda draft: (draft.known_from, draft.kind, draft.text))


def find_side(draft: DraftQuestion) -> int:
    """1 for a question that wants a yes, 2 for one that wants a no, 0 for any other."""
    for affirmed, denied in _BALANCED_SIDES[1:]:
        if draft.kind in affirmed or draft.kind in denied:
            return 1 if draft.kind in affirmed else 2
    return 0


def _trim_sides(chosen: Mapping[str, list[list[DraftQuestion]]], chance: RandomStream) -> None:
    """Drop questions until both sides of each balance have equally many."""
    for sides in _BALANCED_SIDES:
        fewest = min(sum(len(chosen[kind]) for kind in side) for side in sides)
        for side in sides:
            while sum(len(chosen[kind]) for kind in side) > fewest:
                longest = max(side, key=lambda kind: len(chosen[kind]))
                chosen[longest].pop(chance.draw_below(len(chosen[longest])))


def ask_values(matter: Matter, context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions for values that never changed, soon and after a long silence."""
    for attribute, facts in matter.facts.items():
        source = matter.attributes[attribute]
        [*before, fact] = facts
        if before or source.secret or not context.is_open(fact):
            continue
        category = source.category or FACTUAL
        yield _draft_value(matter, attribute, fact, context, category)
        if source.category is None and not fact.echoes:
            draft = _draft_value(matter, attribute, fact, context, RECENCY)
            draft.known_from = matter.last_named + SILENCE
            yield draft


def _draft_value(
    matter: Matter, attribute: str, fact: LedgerFact, context: DraftContext, category: str
) -> DraftQuestion:
    value = fact.value
    return DraftQuestion(
        category=category,
        kind=f"{category}/{value.kind}",
        text=context.ask(matter, attribute),
        reference=format_sentence(value.text),
        evidence=[fact.sentence],
        known_from=fact.day,
        query={"op": "value", "thread": matter.key, "slot": attribute},
        atoms=[value.text],
        aliases=context.list_aliases(value, fact.day),
        distractors=context.list_distractors(value),
    )


def ask_changes(matter: Matter, context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions on values that changed: what holds now, held then, still holds; how many times."""
    for attribute, facts in matter.facts.items():
        if not matter.attributes[attribute].revises or not context.is_open(*facts):
            continue
        for number, fact in enumerate(facts):
            if fact.until is not None and fact.until < fact.day:
                continue
            if number:
                yield _draft_current(matter, attribute, number, context)
            yield from _draft_still(matter, attribute, number, context)
        for earlier, later in pairwise(facts):
            if later.day > earlier.day + 1 and not later.is_correction:
                yield _draft_earlier(matter, attribute, (earlier, later), context)
        is_revised = len(facts) > 1 and not any(fact.is_correction for fact in facts)
        if is_revised and matter.closing is not None:
            times = len(facts) - 1
            name = context.name(matter)
            yield DraftQuestion(
                category=SYNTHESIS,
                kind=f"{SYNTHESIS}/changes",
                text=f"How many times did the {matter.label(attribute)} of {name} change?",
                reference=f"{times}.",
                evidence=[fact.sentence for fact in facts],
                known_from=max(matter.closing.day, matter.last_named),
                query={"op": "changes", "thread": matter.key, "slot": attribute},
                atoms=[str(times)],
                distractors=[str(times + off) for off in (-1, 1, 2) if times + off > 0],
                is_synthesis=True,
            )


def _draft_current(
    matter: Matter, attribute: str, number: int, context: DraftContext
) -> DraftQuestion:
    facts = matter.facts[attribute]
    fact = facts[number]
    stale = [old.value.text for old in facts[:number]]
    draft = _draft_value(matter, attribute, fact, context, CONTRADICTION)
    draft.known_until = fact.until
    draft.stale = draft.distractors = stale
    echo = _find_last_echo(facts[: number + 1])
    draft.kind = f"{CONTRADICTION}/{'now' if echo is None else 'echoed'}"
    draft.known_from = fact.day if echo is None else echo
    return draft


def _find_last_echo(facts: Sequence[LedgerFact]) -> int | None:
    """The day on which a value out of date is named after the last one, and so mentioned last."""
    days = [echo.day for old in facts[:-1] for echo in old.echoes if echo.day >= facts[-1].day]
    return max(days, default=None)


def _draft_earlier(
    matter: Matter, attribute: str, facts: tuple[LedgerFact, LedgerFact], context: DraftContext
) -> DraftQuestion:
    earlier, later = facts
    day = context.chance.draw_between(earlier.day, later.day - 1)
    draft = _draft_value(matter, attribute, earlier, context, CONTRADICTION)
    draft.kind = f"{CONTRADICTION}/then"
    draft.text = context.ask(matter, attribute, then=context.world.dates.format_day(day))
    draft.known_from = later.day
    draft.query |= {"as_of": day}
    draft.distractors = [later.value.text]
    return draft


def _draft_still(
    matter: Matter, attribute: str, number: int, context: DraftContext
) -> Iterator[DraftQuestion]:
    """Whether the value still holds, or does one that was named again though out of date."""
    facts = matter.facts[attribute]
    fact, label = facts[number], matter.label(attribute)
    echo = _find_last_echo(facts[: number + 1])
    holds = number == 0
    if not holds and echo is None:
        return
    value = facts[max(0, number - 1)].value.text
    yield DraftQuestion(
        category=CONTRADICTION,
        kind=f"{CONTRADICTION}/{'still' if holds else 'no-longer'}",
        text=f"Is {value} still the {label} of {context.name(matter)}, and if not, what is it?",
        reference="Yes." if holds else f"It is {fact.value.text} now, no longer {value}.",
        evidence=[fact.sentence],
        known_from=fact.day if echo is None else echo,
        known_until=fact.until,
        query={"op": "still", "thread": matter.key, "slot": attribute, "form": "told"},
        # Who has no record of it is not to pass for saying no: the present value is asked for too.
        atoms=["Yes"] if holds else [fact.value.text],
        aliases=[] if holds else context.list_aliases(fact.value, fact.day),
        stale=[] if holds else [value],
        distractors=["No"] if holds else ["Yes"],
    )


def ask_absent_values(matters: Sequence[Matter], context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions for an attribute that is told of a neighbour of the same kind, and not of this."""
    latest: dict[tuple[str, str], LedgerFact] = {}
    for matter in matters:
        for attribute, facts in matter.facts.items():
            if context.is_open(facts[0]) and not matter.attributes[attribute].secret:
                latest[matter.kind.id, attribute] = facts[0]
        if context.world.is_isolated(matter.kind.session) or matter.closing is None:
            continue
        for attribute in matter.attributes:
            neighbour = latest.get((matter.kind.id, attribute))
            if attribute in matter.facts or neighbour is None:
                continue
            label = matter.label(attribute)
            yield DraftQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/absent",
                text=context.ask(matter, attribute),
                reference=f"Nothing in the log tells the {label} of it.",
                evidence=[matter.opening, matter.closing],
                known_from=matter.closing.day,
                query={
                    "op": "value",
                    "thread": matter.key,
                    "slot": attribute,
                    "form": "absent",
                },
                distractors=[neighbour.value.text],
            )


def ask_events(matter: Matter, context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions on what happened to a matter, who reported it and when, and what never did."""
    if context.world.is_isolated(matter.kind.session):
        return
    yield from _ask_closing(matter, context)
    for name in matter.kind.events:
        if name in matter.events:
            yield from _ask_whether(matter, name, context)
            yield from _ask_report(matter, name, context)
        elif matter.closing is not None:
            yield from _ask_whether(matter, name, context)
            yield DraftQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/no-date",
                text=f"On what date was the {name} of {context.name(matter)} reported?",
                reference=f"Nothing in the log tells of {_add_article(name)}.",
                evidence=[matter.opening, matter.closing],
                known_from=matter.closing.day,
                query={"op": "date", "thread": matter.key, "step": name, "form": "absent"},
            )


def _ask_whether(matter: Matter, name: str, context: DraftContext) -> Iterator[DraftQuestion]:
    """Whether an event happened, and the same the other way round: one is yes, the other no."""
    event, closing, date = matter.events.get(name), matter.closing, None
    what = _add_article(name)
    if event is not None:
        date = context.world.dates.format_day(event.sentence.day)
        evidence = [event.sentence]
        answers = {
            "happened": f"Yes, on {date}.",
            "not-spared": f"One was reported on {date}.",
        }
    elif closing is not None:
        evidence = [matter.opening, closing]
        answers = {
            "never": f"No, no {name} of it is on record.",
            "spared": f"Yes, it passed without {what}.",
        }
    for kind, answer in answers.items():
        subject = context.name(matter)
        is_straight = kind in {"happened", "never"}
        yield DraftQuestion(
            category=NEGATIVE,
            kind=f"{NEGATIVE}/{kind}",
            text=f"Was {what} of {subject} ever reported, and if so, when?"
            if is_straight
            else f"Did {subject} pass without {what}, and if not, when was one reported?",
            reference=answer,
            evidence=evidence,
            known_from=evidence[-1].day,
            query={"op": "did", "thread": matter.key, "step": name, "form": "told"},
            atoms=[answer.partition(",")[0]] if date is None else [date],
            distractors=["No"] if kind in {"happened", "spared"} else ["Yes"],
        )


def _add_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _ask_report(matter: Matter, name: str, context: DraftContext) -> Iterator[DraftQuestion]:
    """When an event was reported, and by whom."""
    event = matter.events[name]
    day = event.sentence.day
    fact = matter.find_fact(event.role, day)
    for op, category, text, value in (
        (
            "date",
            TEMPORAL,
            "On what date was the {} of {} reported?",
            FactValue("date", context.world.dates.format_day(day), day=day),
        ),
        (
            "reporter",
            ATTRIBUTION,
            "Who reported the {} of {}?",
            FactValue("person", event.reporter, others=fact.value.others if fact else ()),
        ),
    ):
        yield DraftQuestion(
            category=category,
            kind=f"{category}/{op}",
            text=text.format(name, context.name(matter)),
            reference=format_sentence(f"On {value.text}" if op == "date" else value.text),
            evidence=[event.sentence],
            known_from=day,
            query={"op": op, "thread": matter.key, "step": name},
            atoms=[value.text],
            aliases=context.list_aliases(value, day),
            distractors=context.list_distractors(value),
        )


def _ask_closing(matter: Matter, context: DraftContext) -> Iterator[DraftQuestion]:
    """How many days a matter took."""
    if matter.closing is None:
        return
    days = matter.closing.day - matter.opening.day
    yield DraftQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/gap",
        text=f"How many days after it was first noted was {context.name(matter)} closed?",
        reference=f"{days} day{'s' if days > 1 else ''}.",
        evidence=[matter.opening, matter.closing],
        known_from=matter.closing.day,
        query={"op": "gap", "thread": matter.key, "step": "closing"},
        atoms=[str(days)],
        distractors=[str(days + off) for off in (-2, -1, 1, 2) if days + off > 0],
        is_synthesis=True,
    )


def ask_orders(matters: Sequence[Matter], context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions for the order of two or three events of different kinds of matters."""
    events = sorted(
        (
            (event.sentence, matter, name)
            for matter in matters
            if not context.world.is_isolated(matter.kind.session)
            for name, event in matter.events.items()
        ),
        key=lambda entry: entry[0].day,
    )
    for index, (last, matter, name) in enumerate(events):
        fit = [
            entry
            for entry in events[max(0, index - 80) : index]
            if entry[1].kind.id != matter.kind.id
            and _NEAREST <= last.day - entry[0].day <= _FARTHEST
        ]
        if not fit:
            continue
        other = context.chance.choose(fit)
        apart = [
            entry
            for entry in fit
            if entry[1].kind.id != other[1].kind.id and abs(entry[0].day - other[0].day) >= _NEAREST
        ]
        yield _draft_order([other, (last, matter, name)], context)
        if apart:
            third = context.chance.choose(apart)
            yield _draft_order([other, third, (last, matter, name)], context)


def _draft_order(
    events: Sequence[tuple[LogSentence, Matter, str]], context: DraftContext
) -> DraftQuestion:
    by_date = sorted(events, key=lambda entry: entry[0].day)
    phrases = {entry[0]: f"the {entry[2]} of {entry[1].name}" for entry in events}
    listed = [phrases[entry[0]] for entry in context.chance.shuffle(events)]
    ordered = [phrases[entry[0]] for entry in by_date]
    is_pair = len(events) == 2
    return DraftQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/order{len(events)}",
        text=f"Which was reported first: {listed[0]}, or {listed[1]}?"
        if is_pair
        else f"In what order were these reported: {'; '.join(listed)}?",
        reference=format_sentence(ordered[0] if is_pair else "First " + ", then ".join(ordered)),
        evidence=[entry[0] for entry in by_date],
        known_from=by_date[-1][0].day,
        query={
            "op": "order",
            "events": [[matter.key, name, phrases[sentence]] for sentence, matter, name in events],
        },
        atoms=ordered[:1] if is_pair else ordered,
        distractors=ordered[1:2] if is_pair else [],
        is_synthesis=True,
    )


def ask_shared_values(matters: Sequence[Matter], context: DraftContext) -> Iterator[DraftQuestion]:
    """Questions for the value that two matters of different kinds have in common."""
    latest: dict[tuple[str, str], list[tuple[Matter, str, LedgerFact]]] = defaultdict(list)
    for matter in matters:
        for attribute, facts in matter.facts.items():
            link = matter.attributes[attribute].link
            [*before, fact] = facts
            if link is None or before or not context.is_open(fact):
                continue
            entry = (matter, attribute, fact)
            others = latest[link, fact.value.text]
            fit = [other for other in others[-5:] if other[0].kind.id != matter.kind.id]
            if fit:
                ends = context.chance.shuffle([context.chance.choose(fit), entry])
                a, b = (context.name(end[0]) for end in ends)
                draft = _draft_value(matter, attribute, fact, context, CROSS_REFERENCE)
                draft.kind = f"{CROSS_REFERENCE}/shared"
                draft.text = context.world.sources.matters.links[link].format(a=a, b=b)
                draft.text = draft.text[:1].upper() + draft.text[1:]
                draft.evidence = [end[2].sentence for end in ends]
                draft.known_from = max(end[2].day for end in ends)
                draft.query = {"op": "shared", "of": [[end[0].key, end[1]] for end in ends]}
                draft.is_synthesis = True
                yield draft
            others.append(entry)


def ask_tallies(matters: Sequence[Matter], context: DraftContext) -> Iterator[DraftQuestion]:
    """Counts, sums and extremes over the matters of a kind that began in one month."""
    months: dict[tuple[str, str], list[Matter]] = defaultdict(list)
    dates = context.world.dates
    for matter in matters:
        if matter.kind.plural and not context.world.is_isolated(matter.kind.session):
            months[dates.get_month(matter.opening.day), matter.kind.id].append(matter)
    ends = {dates.get_month(day): day for day in range(1, context.world.options.days + 1)}
    for (month, _), begun in months.items():
        if 2 <= len(begun) <= 12:
            yield _draft_count(month, begun, ends[month])
            for attribute, source in begun[0].attributes.items():
                if source.number is not None or source.money is not None:
                    yield from _ask_amounts(month, begun, attribute, ends[month], context)


def _draft_count(month: str, begun: Sequence[Matter], last: int) -> DraftQuestion:
    number = len(begun)
    return DraftQuestion(
        category=SYNTHESIS,
        kind=f"{SYNTHESIS}/count",
        text=f"How many {begun[0].kind.plural} were first noted in {format_month(month)}?",
        reference=f"{number}.",
        evidence=[matter.opening for matter in begun],
        known_from=last,
        query={"op": "count", "process": begun[0].kind.id, "month": month},
        atoms=[str(number)],
        distractors=[str(number + off) for off in (-2, -1, 1, 2) if number + off > 0],
        is_synthesis=True,
    )


def _ask_amounts(
    month: str, begun: Sequence[Matter], attribute: str, last: int, context: DraftContext
) -> Iterator[DraftQuestion]:
    """The sum and an extreme of an attribute as it was first stated, if all of them have it."""
    facts = [matter.facts.get(attribute, []) for matter in begun]
    firsts = [fact[0] for fact in facts if fact]
    is_mistaken = any(fact.is_correction for several in facts for fact in several)
    if len(firsts) < len(begun) or is_mistaken or not context.is_open(*firsts):
        return
    source, kind, label = begun[0].attributes[attribute], begun[0].kind, begun[0].label(attribute)
    noted = f"the {kind.plural} first noted in {format_month(month)}"
    amounts = {
        matter.key: fact.value.amount or Decimal(0)
        for matter, fact in zip(begun, firsts, strict=True)
    }
    total = format_number(
        source.kind,
        sum(amounts.values(), Decimal(0)),
        unit=source.unit,
        currency=source.currency,
    )
    ready = max(last, *(fact.day for fact in firsts))
    query = {"process": kind.id, "month": month, "slot": attribute}
    yield DraftQuestion(
        category=SYNTHESIS,
        kind=f"{SYNTHESIS}/total",
        text=f"Take the {label} first stated for each of {noted}: what do they add up to?",
        reference=format_sentence(total.text),
        evidence=[fact.sentence for fact in firsts],
        known_from=ready,
        query={"op": "total", **query},
        atoms=[total.text],
        aliases=context.list_aliases(total, ready),
        distractors=context.list_distractors(total),
        is_synthesis=True,
    )
    op = context.chance.choose(("highest", "lowest"))
    ranked = sorted(begun, key=lambda matter: amounts[matter.key], reverse=op == "highest")
    if len(begun) < 3 or amounts[ranked[0].key] == amounts[ranked[1].key]:
        return
    yield DraftQuestion(
        category=SYNTHESIS,
        kind=f"{SYNTHESIS}/extreme",
        text=f"Of {noted}, which had the {op} {label} when it was first stated?",
        reference=format_sentence(ranked[0].name),
        evidence=[fact.sentence for fact in firsts],
        known_from=ready,
        query={"op": op, **query},
        atoms=[ranked[0].name],
        distractors=[matter.name for matter in ranked[1:4]],
        is_synthesis=True,
    )
