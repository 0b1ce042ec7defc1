"""The entries of a day, each by an author who knows what that session knows by then."""

from dataclasses import dataclass

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.story import Story
from recall_bench.generate.caller import ModelCaller
from recall_bench.generate.days.asking import build_entry_prompt, collect_material
from recall_bench.generate.days.demands import EntryRequirements, collect_requirements
from recall_bench.generate.days.looking_back import PastReader
from recall_bench.generate.days.plan import PlannedDay, SessionPlan, StoryPlan
from recall_bench.generate.days.reading import check_entry
from recall_bench.generate.days.rooms import find_isolated_sessions
from recall_bench.generate.days.secrecy import HiddenValueFinder
from recall_bench.generate.rounds import ask_until_usable
from recall_bench.models.model import Prompt


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """The request for an entry, and what is asked of the reply."""

    prompt: Prompt
    demands: EntryRequirements


class EntryWriter:
    """Asks for entries. A request depends on the story and the days on disk, and nothing else."""

    def __init__(
        self, persona: Persona, story: Story, plan: StoryPlan, hindsight: PastReader
    ) -> None:
        self._persona = persona
        self._story = story
        self._hindsight = hindsight
        self._isolated = find_isolated_sessions(plan.sessions)
        self._secrecy = HiddenValueFinder(persona, story.arcs, self._isolated)

    def build_request(self, planned: PlannedDay, telling: SessionPlan) -> EntryRequest:
        """The request for what one session tells on one day."""
        unsaid = self._secrecy.find_hidden(telling.session, planned.day)
        past = self._hindsight.collect_past(planned, telling)
        blocks = collect_material(
            self._persona, self._story.epoch, planned, telling, unsaid=unsaid, past=past
        )
        demands = collect_requirements(
            planned,
            telling,
            self._story.arcs,
            self._isolated,
            unsaid=unsaid,
            blocks=blocks,
            shown=past.entries,
        )
        return EntryRequest(build_entry_prompt(planned, telling, blocks), demands)

    async def write_entry(
        self, caller: ModelCaller, planned: PlannedDay, telling: SessionPlan
    ) -> str:
        """The entry of one session; Unwritten if the model gives none that can be used."""
        asked = self.build_request(planned, telling)
        return await ask_until_usable(
            caller,
            f"{planned.unit}, {telling.session.id}",
            asked.prompt,
            lambda reply: check_entry(reply, asked.demands),
        )
