"""Plays a life edition: every day's topics are drawn and written, and its facts entered."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.sentences import split_sentences
from recall_bench.generate.life.calendar import LifeCalendar
from recall_bench.generate.life.entities import Entity, EntityLives, EntityScope, StateChange
from recall_bench.generate.life.names import flatten
from recall_bench.generate.life.prose import (
    FreshWriter,
    LifeScope,
    LifeText,
    TopicNames,
    capitalise_heading,
    join_texts,
)
from recall_bench.generate.life.sources import LifeSources, TalkTopic
from recall_bench.generate.life.story_arcs import ArcWriter
from recall_bench.generate.life.threads import ThreadSimulation
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.templates import Placeholder, PlaceholderValue
from recall_bench.generate.written.sources import WrittenDay

_SENTENCES = {"quiet": (3, 6), "normal": (16, 22), "busy": (23, 32)}
_MOST_STEPS = {"normal": 9, "busy": 14}
_MOST_TALK = 4
_PASSING = 0.75
_LEAST_WORDS = 44
"""A day has at least 40 words."""
_TRIES = 5
"""Topics of small talk that are drawn until one is new."""
_RECALLED = 0.3
_LEAST_JOINED, _MOST_JOINED = 2, 6
"""How many topics of one sentence make the notes of a session."""
_NOTED = 0.4
"""Share of small topics that stand among the notes of the day."""


@dataclass(frozen=True, slots=True)
class DayTopic:
    """One topic of a day; without a heading it joins the notes of its session."""

    session: str
    heading: str
    text: LifeText
    is_loose: bool = False
    """Whether it may join the notes if it is short."""


class TalkScope(LifeScope):
    """Small talk names nothing but words of lists."""

    def __init__(self, writer: FreshWriter, names: TopicNames) -> None:
        self._writer = writer
        self.names = names

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """A word of the list."""
        return self._writer.draw_word(placeholder.name.removeprefix("@"))


class LifeSimulation:
    """One story, played day by day."""

    def __init__(self, sources: LifeSources, seed: int) -> None:
        self.sources = sources
        self.seed = seed
        due = {each.day for arc in sources.arcs.arcs for each in arc.directives}
        self.calendar = LifeCalendar(sources.story, due, seed)
        self.writer = FreshWriter(seed, sources.talk.words)
        self.lives = EntityLives(sources, self.calendar, self.writer, seed)
        self.threads = ThreadSimulation(sources, self.calendar, self.lives, seed)
        self.arcs = ArcWriter(sources, self.calendar, seed)
        self._chance = RandomStream(seed, "life", "days")
        self._sessions = [session.id for session in sources.persona.sessions]

    def play(self) -> tuple[WrittenDay, ...]:
        """Every day with a file, as the source of a written edition."""
        active = frozenset(self.calendar.active)
        days = []
        for day in self.calendar.written:
            self.lives.today = day
            if day in active:
                level = "busy" if day in self.calendar.busy else "normal"
                topics = self._write_active_day(day, level)
            else:
                topics = self._write_quiet_day(day)
            text = self._compose(topics)
            days.append(WrittenDay(day, f"day {day}", text))
        return tuple(days)

    def _write_active_day(self, day: int, level: str) -> list[DayTopic]:
        topics = [self._write_talk("datelines", PRINCIPAL)]
        topics += [DayTopic(each.session, each.heading, each.text) for each in self._tell_arcs(day)]
        topics += self._tell_states(day)
        self.threads.start_due(day)
        target = self._chance.draw_between(*_SENTENCES[level])
        written = 0
        for thread in self.threads.list_due(day):
            if written >= _MOST_STEPS[level] or _count_sentences(topics) >= target + 4:
                break
            topic = self.threads.write_step(thread, day)
            if topic is not None:
                topics.append(DayTopic(topic.session, topic.heading, topic.text, is_loose=True))
                written += 1
        topics += self._recall(day)
        for _ in range(_MOST_TALK):
            if _count_sentences(topics) >= target - 1 and _count_words(topics) >= _LEAST_WORDS:
                break
            small = self._write_talk("talk")
            is_note = self._chance.is_hit(_NOTED)
            topics.append(replace(small, heading="" if is_note else small.heading, is_loose=True))
        return topics

    def _write_quiet_day(self, day: int) -> list[DayTopic]:
        """A short log; an authored event may fall on such a day, nothing else does."""
        topics = [DayTopic(each.session, each.heading, each.text) for each in self._tell_arcs(day)]
        target = self._chance.draw_between(*_SENTENCES["quiet"])
        for _ in range(_MOST_TALK):
            if _count_sentences(topics) >= target and _count_words(topics) >= _LEAST_WORDS:
                break
            topics.append(self._write_talk("quiet"))
        return topics

    def _tell_arcs(self, day: int) -> Iterator[DayTopic]:
        for topic in self.arcs.write_due(day, self.lives.book):
            yield DayTopic(topic.session, topic.heading, topic.text)
        if day in self.calendar.active:
            ripple = self.arcs.write_mention(day)
            if ripple is not None and self._is_open(ripple.session, day):
                yield DayTopic(ripple.session, "", ripple.text)

    def _is_open(self, session: str, day: int) -> bool:
        """Whether a session exists already."""
        for each in self.sources.arcs_file.get("sessions") or ():
            if each.get("id") == session:
                return bool(each.get("firstDay", 1) <= day <= each.get("lastDay", day))
        return True

    def _tell_states(self, day: int) -> list[DayTopic]:
        """Introductions in topics of their own, changes as short topics or notes."""
        topics: list[DayTopic] = []
        changes = self.lives.take_due(day)
        for entity in dict.fromkeys(_list_new(changes)):
            own = [each for each in changes if each.entity is entity]
            topics.append(self._introduce(entity, day, own))
            changes = [each for each in changes if each.entity is not entity]
            topics += self._tell_elsewhere(entity, own)
        for change in changes:
            names = TopicNames(self.sources.cast)
            text = self.lives.tell(change, names)
            if text is not None:
                heading = self._head_change(change)
                topics.append(DayTopic(change.definition.session, heading, text, is_loose=True))
        return topics

    def _introduce(self, entity: Entity, day: int, changes: list[StateChange]) -> DayTopic:
        names = TopicNames(self.sources.cast)
        texts = [self.lives.introduce(entity, day, names)]
        for change in changes:
            if change.definition.session == entity.home:
                text = self.lives.tell(change, names)
                texts += [text] if text is not None else []
        heading = capitalise_heading(entity.name)
        return DayTopic(entity.home, heading, join_texts(texts))

    def _tell_elsewhere(self, entity: Entity, changes: list[StateChange]) -> Iterator[DayTopic]:
        for change in changes:
            if change.definition.session != entity.home:
                text = self.lives.tell(change, TopicNames(self.sources.cast))
                if text is not None:
                    yield DayTopic(change.definition.session, "", text)

    def _head_change(self, change: StateChange) -> str:
        """The heading of a change; none for those that stand among the notes of the day."""
        if self._chance.is_hit(_PASSING if change.manner == "passing" else _NOTED):
            return ""
        kind = change.entity.kind
        variants = change.definition.heading or kind.heading or ["{it}"]
        names = TopicNames(self.sources.cast)
        heading = self.writer.fill(
            self._chance.choose(variants), EntityScope(self.lives, change.entity, names)
        )
        return capitalise_heading(heading)

    def _recall(self, day: int) -> Iterator[DayTopic]:
        if not self._chance.is_hit(_RECALLED):
            return
        known = list(self.lives.list_recallable(day))
        if known:
            change = self._chance.choose(known)
            text = self.lives.recall(change, TopicNames(self.sources.cast))
            yield DayTopic(change.definition.session, "", text)

    def _write_talk(self, section: str, session: str | None = None) -> DayTopic:
        topics: list[TalkTopic] = getattr(self.sources.talk, section)
        for tries in range(_TRIES, 0, -1):
            topic = topics[self.writer.pick_index(section, len(topics))]
            scope = TalkScope(self.writer, TopicNames(self.sources.cast))
            first = self.writer.write(flatten(topic.text[0]), scope, may_skip=tries > 1)
            if first.text:
                break
        texts = [
            first,
            *(self.writer.write(flatten(part), scope, may_skip=True) for part in topic.text[1:]),
        ]
        variants = flatten(topic.heading) or ["Today"]
        heading = self.writer.fill(variants[self._chance.draw_below(len(variants))], scope)
        return DayTopic(session or topic.session, heading, join_texts(texts))

    def _compose(self, topics: list[DayTopic]) -> str:
        pieces: list[str] = []
        values = self.lives.book.values
        for session in self._sessions:
            own = [each for each in topics if each.session == session and each.text.text.strip()]
            if not own:
                continue
            pieces.append(f"# session: {session}\n")
            own = _join_short(own)
            notes = [each for each in own if not each.heading]
            pieces += [
                f"### {topic.heading}\n{topic.text.write_source(values)}\n"
                for topic in own
                if topic.heading
            ]
            if notes:
                heading = self._chance.choose(self.sources.talk.notes)
                joint = "\n- " if len(notes) > 1 else ""
                body = joint.join(["", *(each.text.write_source(values) for each in notes)])
                pieces.append(f"### {heading}\n{body.lstrip(chr(10))}\n")
        return "\n".join(pieces)


def _list_new(changes: list[StateChange]) -> Iterator[Entity]:
    """The entities that are mentioned for the first time."""
    return (each.entity for each in changes if each.entity.introduced is None)


def _join_short(topics: list[DayTopic]) -> list[DayTopic]:
    """The topics of a session, of which short ones stand together as notes."""
    short = [
        each
        for each in topics
        if not each.heading or (each.is_loose and _count_sentences([each]) == 1)
    ]
    if len(short) < _LEAST_JOINED:
        return topics
    joined = {id(each) for each in short[:_MOST_JOINED]}
    return [replace(each, heading="") if id(each) in joined else each for each in topics]


def _count_sentences(topics: list[DayTopic]) -> int:
    return sum(_count_in(each.text.text) for each in topics)


@lru_cache(maxsize=1024)
def _count_in(text: str) -> int:
    """The topics of a day are counted again with each that joins them."""
    return len(split_sentences(text))


def _count_words(topics: list[DayTopic]) -> int:
    return sum(each.text.text.count(" ") + 1 for each in topics)
