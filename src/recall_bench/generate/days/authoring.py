"""The entries of a day, each by an author who knows what that session knows by then."""

from dataclasses import dataclass

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.story import Story
from recall_bench.generate.caller import Caller
from recall_bench.generate.days.asking import entry_prompt, material
from recall_bench.generate.days.demands import Demands, demands_on
from recall_bench.generate.days.looking_back import Hindsight
from recall_bench.generate.days.plan import Plan, PlannedDay, Telling
from recall_bench.generate.days.reading import read_entry
from recall_bench.generate.days.rooms import isolated_in
from recall_bench.generate.days.secrecy import Secrecy
from recall_bench.generate.rounds import accepted
from recall_bench.models.model import Prompt


@dataclass(frozen=True, slots=True)
class Asked:
    """The request for an entry, and what is asked of the reply."""

    prompt: Prompt
    demands: Demands


class Author:
    """Asks for entries. A request depends on the story and the days on disk, and nothing else."""

    def __init__(self, persona: Persona, story: Story, plan: Plan, hindsight: Hindsight) -> None:
        self._persona = persona
        self._story = story
        self._hindsight = hindsight
        self._isolated = isolated_in(plan.sessions)
        self._secrecy = Secrecy(persona, story.arcs, self._isolated)

    def asking(self, planned: PlannedDay, telling: Telling) -> Asked:
        """The request for what one session tells on one day."""
        unsaid = self._secrecy.unsaid(telling.session, planned.day)
        past = self._hindsight.of(planned, telling)
        blocks = material(
            self._persona, self._story.epoch, planned, telling, unsaid=unsaid, past=past
        )
        demands = demands_on(
            planned,
            telling,
            self._story.arcs,
            self._isolated,
            unsaid=unsaid,
            blocks=blocks,
            shown=past.entries,
        )
        return Asked(entry_prompt(planned, telling, blocks), demands)

    async def entry(self, caller: Caller, planned: PlannedDay, telling: Telling) -> str:
        """The entry of one session; Unwritten if the model gives none that can be used."""
        asked = self.asking(planned, telling)
        return await accepted(
            caller,
            f"{planned.unit}, {telling.session.id}",
            asked.prompt,
            lambda reply: read_entry(reply, asked.demands),
        )
