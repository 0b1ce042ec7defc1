"""Whether the sources of a life edition hold enough, so that the story repeats itself rarely."""

from collections.abc import Iterator, Sequence

from recall_bench.core.yaml12 import Key
from recall_bench.generate.life.names import count_texts, flatten
from recall_bench.generate.life.sources import (
    COMPARABLE,
    LifeAttribute,
    LifeProcess,
    LifeSources,
    LifeStep,
    LifeValue,
)
from recall_bench.generate.life.untold import find_told_matters
from recall_bench.generate.written.checks import SourceFinding

LEAST_TELLINGS = {"set": 6, "announced": 6, "passing": 6}
OTHER_TELLINGS = 3
LEAST_ASKINGS = {"now": 4, "then": 3, "history": 2, "first": 1, "times": 1}
LEAST_REASONS = 12
LEAST_PHRASES = 8
LEAST_FINDINGS = 10
"""Phrases of a thread's fact."""
LEAST_SENTENCES = 12
LEAST_VARIANTS = 4
LEAST_HEADINGS = 3
LEAST_WORDS = 12
LEAST_TOPICS = {"datelines": 25, "talk": 60, "quiet": 15}

Findings = Iterator[SourceFinding]


def find_shortages(sources: LifeSources) -> list[SourceFinding]:
    """Every place with fewer wordings, names or topics than the format asks for."""
    finder = _ShortageFinder(sources)
    return [
        *finder.find_in_entities(),
        *finder.find_in_threads(),
        *finder.find_in_talk(),
        *find_told_matters(sources),
    ]


class _ShortageFinder:
    def __init__(self, sources: LifeSources) -> None:
        self._sources = sources

    def _count(
        self, file: str, what: str, found: int, least: int, place: Sequence[Key]
    ) -> Findings:
        if found < least:
            message = f"{found} {what}; the format asks for {least} or more"
            yield SourceFinding(self._sources.locate(file, *place), message)

    def find_in_entities(self) -> Findings:
        kinds = self._sources.entities.kinds
        file = "entities.yaml"
        yield from self._count(file, "kinds", len(kinds), 6, ["kinds"])
        total = sum(kind.count for kind in kinds.values())
        yield from self._count(file, "entities", total, 35, ["kinds"])
        for name, kind in kinds.items():
            place: tuple[Key, ...] = ("kinds", name)
            yield from self._count(file, "attributes", len(kind.attributes), 3, place)
            if kind.people is None:
                needed = kind.count + kind.count // 2
                yield from self._count(file, "names", len(kind.names), needed, (*place, "names"))
            for label, attribute in kind.attributes.items():
                yield from self._find_in_attribute(attribute, (*place, "attributes", label))
            for index, join in enumerate(kind.joins):
                where = (*place, "joins", index)
                yield from self._count(file, "wordings of a path", len(join.ask), 3, where)

    def _find_in_attribute(self, attribute: LifeAttribute, place: tuple[Key, ...]) -> Findings:
        file = "entities.yaml"
        for manner, wordings in attribute.tell.list_manners():
            where = (*place, "tell", manner)
            least = LEAST_TELLINGS.get(manner, OTHER_TELLINGS if wordings else 0)
            if attribute.revisions[1] or manner == "set":
                yield from self._count(file, f"wordings of {manner}", len(wordings), least, where)
            for index, wording in enumerate(wordings):
                if count_texts(wording) < 2:
                    message = "the wording has no [a|b] inside"
                    yield SourceFinding(self._sources.locate(file, *where, index), message)
        least_askings = dict(LEAST_ASKINGS) if attribute.revisions[1] else {"now": 4}
        if attribute.why:
            least_askings["why"] = 2
            where = (*place, "why")
            yield from self._count(file, "reasons", len(attribute.why), LEAST_REASONS, where)
        if attribute.who:
            least_askings["who"] = 2
        if attribute.value.kind in COMPARABLE:
            least_askings["compare"] = 1
        if attribute.secret:
            least_askings["secret"] = 3
        for name, least in least_askings.items():
            wordings = getattr(attribute.ask, name)
            where = (*place, "ask", name)
            yield from self._count(file, f"wordings of {name}", len(wordings), least, where)
        yield from self._find_in_value(attribute.value, file, (*place, "value"), LEAST_PHRASES)

    def _find_in_value(
        self, value: LifeValue, file: str, place: Sequence[Key], least: int
    ) -> Findings:
        if value.choice is not None:
            where = [*place, "choice"]
            yield from self._count(file, "phrases", len(value.choice), least, where)

    def find_in_threads(self) -> Findings:
        processes = self._sources.processes
        yield from self._count("threads", "processes", len(processes), 18, [])
        for process in processes:
            file, index = self._sources.places[process.id]
            yield from self._count(file, "clauses of opens", len(process.opens), 1, (index,))
            for name, value in process.facts.items():
                where: tuple[Key, ...] = (index, "facts", name)
                yield from self._find_in_value(value, file, where, LEAST_FINDINGS)
            for number, asking in enumerate(process.ask):
                where = (index, "ask", number)
                yield from self._count(file, "wordings of a question", len(asking.ask), 2, where)
            yield from self._find_in_steps(process, file, index)
        settings = sum(any(step.sets for step in each.steps) for each in processes)
        yield from self._count("threads", "processes that set attributes", settings, 6, [])
        bringing = sum(any(step.brings for step in each.steps) for each in processes)
        yield from self._count("threads", "processes that bring others", bringing, 5, [])
        doing = sum(any(each.did for each in process.ask) for process in processes)
        yield from self._count("threads", "processes with a did", doing, 4, [])

    def _find_in_steps(self, process: LifeProcess, file: str, index: int) -> Findings:
        where: tuple[Key, ...] = (index, "steps")
        yield from self._count(file, "steps", len(process.steps), 3, where)
        for number, step in enumerate(process.steps):
            yield from self._find_in_step(step, file, (*where, number))

    def _find_in_step(self, step: LifeStep, file: str, place: tuple[Key, ...]) -> Findings:
        headings = sum(count_texts(each) for each in flatten(step.heading))
        yield from self._count(file, "headings", headings, LEAST_HEADINGS, (*place, "heading"))
        for number, part in enumerate(step.text):
            variants = [each for each in flatten(part) if each]
            where = (*place, "text", number)
            yield from self._count(file, "variants of a part", len(variants), LEAST_VARIANTS, where)
            texts = sum(count_texts(each) for each in variants)
            yield from self._count(file, "sentences of a part", texts, LEAST_SENTENCES, where)

    def find_in_talk(self) -> Findings:
        talk = self._sources.talk
        for section, least in LEAST_TOPICS.items():
            found = len(getattr(talk, section))
            yield from self._count("talk.yaml", f"topics of {section}", found, least, [section])
        for name, entries in talk.words.items():
            where = ["words", name]
            yield from self._count(
                "talk.yaml", f"words of {name}", len(entries), LEAST_WORDS, where
            )
