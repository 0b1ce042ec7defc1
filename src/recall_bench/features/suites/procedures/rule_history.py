"""The history of a persona with its conventions in it: eight weeks of the written edition."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from recall_bench.core.grouping import group_by
from recall_bench.core.scenario import Episode, Scenario
from recall_bench.features.suites.procedures.task_source import HISTORY_DAYS, RuleWording
from recall_bench.stories.persona_story import Persona, read_persona
from recall_bench.stories.shipped import unpack_story
from recall_bench.stories.story_folders import load_story

_SESSION = "# session: "


@dataclass(frozen=True, slots=True)
class PersonaHistory:
    """The first weeks of a persona's log, and the persona."""

    persona: Persona
    scenario: Scenario

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The days with the rules in them."""
        return tuple(item for item in self.scenario.episodes if item.day <= HISTORY_DAYS)


@cache
def load_history(persona: str) -> PersonaHistory:
    """Load the half year of a shipped persona."""
    return PersonaHistory(read_persona(unpack_story(persona)), load_story(persona))


def insert_telling(text: str, telling: RuleWording) -> str:
    r"""The log of a day with a telling at the end of its session; a new session goes to the end.

    >>> telling = RuleWording(day=1, session="b", by="Ada", heading="Tags", text="Begin with v.")
    >>> insert_telling("# session: b\nQuiet.\n\n# session: c\nRain.", telling)
    '# session: b\nQuiet.\n\n### Tags\nBegin with v.\n\n# session: c\nRain.'
    """
    heading = "" if telling.heading is None else f"### {telling.heading}\n"
    added = heading + telling.text.strip()
    lines = text.rstrip().split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(_SESSION)]
    mine = [n for n in starts if lines[n].removeprefix(_SESSION).strip() == telling.session]
    if not mine:
        return "\n".join(lines) + f"\n\n{_SESSION}{telling.session}\n{added}"
    end = next((number for number in starts if number > mine[-1]), len(lines))
    before, after = "\n".join(lines[:end]).rstrip(), "\n".join(lines[end:])
    return f"{before}\n\n{added}" + (f"\n\n{after}" if after else "")


def tell_rules(episodes: Iterable[Episode], tellings: Iterable[RuleWording]) -> tuple[Episode, ...]:
    """The days with all tellings in them."""
    by_day = group_by(tellings, lambda telling: telling.day)
    rules = []
    for episode in episodes:
        text = episode.text
        for telling in by_day.get(episode.day, ()):
            text = insert_telling(text, telling)
        rules.append(episode if text == episode.text else episode.replace(text=text))
    return tuple(rules)
