"""A small story, and a model that writes its days as it is told to, or fails as it is told to."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import anyio

from recall_bench.core.errors import ModelFault
from recall_bench.core.usage import Usage
from recall_bench.features.personas.days.day_plan import StoryPlan, plan_story
from recall_bench.stories.persona_story import read_persona, read_story
from recall_bench.systems.models.model import Finish, Prompt, Reply

ARCS = "arcs-66d.yaml"

PERSONA = """\
id: nursery
name: Fern
role: AI operations aide for a nursery owner
domain: Commercial horticulture
company: Leaf & Loam
team_size: 6
profile: |
  Fern tracks orders, irrigation faults and supplier promises.
communication_style: |
  Short sentences, exact quantities.
principal: {name: Odile Marsh, role: Owner}
cast:
  - {name: Bram Oduya, role: Head grower}
  - {name: Tess Calloway, role: Buyer}
sessions:
  - {id: crew, kind: group, participants: [Odile Marsh, Bram Oduya]}
  - {id: principal, kind: 1to1, participants: [Odile Marsh]}
  - id: lender
    kind: group
    participants: [Odile Marsh, the bank]
    isolated: true
    sensitive_topics: ["the covenant level"]
sharedKnowledge: ["The nursery closes on Mondays", "The pump house is cleaned for $120 a month"]
"""

STORY = """\
epoch: "2026-02-02"
gaps: true
sessions: [{id: lender, firstDay: 10, lastDay: 40}]
arcs:
  - id: north-pump
    type: project
    title: "Replace the north pump"
    description: |
      The north pump loses pressure. Two bids are asked for. In the end the Halvorsen bid is
      accepted at $4,200. Installation is on April 2.
    startDay: 1
    endDay: 38
    primarySession: crew
    referencedSessions: [principal, lender]
    participants: [Bram Oduya, Ines Halvorsen]
    directives:
      - {day: 1, event: "Pressure falls to 1.8 bar on the north line"}
      - {day: 12, event: "The Halvorsen bid is accepted at $4,200"}
      - {day: 20, event: "Installation is fixed for April 2"}
      - {day: 38, event: 'Bram Oduya says "it hums like a cat" at 16:30'}
  - id: frost
    type: correction
    title: "Last frost is April 19, not April 2"
    description: The almanac is a reprint of another valley's. The right last frost is April 19.
    startDay: 4
    endDay: 30
    primarySession: principal
    wrongDay: 5
    correctedDay: 22
    wrongBelief: "The last frost in our valley is expected on March 28"
    correctedBelief: "The last frost in our valley is expected on April 19"
  - id: covenant
    type: decision
    title: "Covenant level with Brightwater Bank"
    description: Brightwater Bank asks for a covenant of 1.35.
    startDay: 8
    endDay: 45
    primarySession: lender
    referencedSessions: [principal]
    directives:
      - {day: 9, event: "A letter of the bank announces a call"}
      - {day: 14, event: "Brightwater Bank asks for a covenant of $88,000"}
  - id: seeds
    type: project
    title: "Heirloom seed order"
    description: An order of seeds for the next season.
    startDay: 60
    endDay: 66
    primarySession: crew
    directives:
      - {day: 60, event: "Order HX-2291 goes out for 340 packets"}
"""


def nursery(folder: Path, story: str = STORY, persona: str = PERSONA) -> Path:
    """The folder of the story, without a day."""
    place = folder / "nursery"
    place.mkdir(parents=True)
    (place / "persona.yaml").write_text(persona, encoding="utf-8")
    (place / ARCS).write_text(story, encoding="utf-8")
    return place


_FACT = re.compile(
    r"^(?:- (?P<event>.+)"
    r"|From today everybody takes this for a fact, and nobody doubts it: (?P<belief>.+)"
    r"|Today it turns out, and holds from now on: (?P<right>.+))$"
)
_THREAD = re.compile(r"<<thread \d+ \w+>>\n(.*?)\n<<end of thread", re.DOTALL)


def entry_for(prompt: Prompt) -> str:
    """An entry that tells what the prompt says happens today, and nothing of the past."""
    facts = []
    for block in _THREAD.findall(prompt.user):
        _, _, today = block.partition("\nToday:\n")
        events = [line for line in (today or block).split("\n") if today and line[:2] == "- "]
        if block.startswith("Today:\n"):
            events = [line for line in block.split("\n") if line[:2] == "- "]
        facts += [line.removeprefix("- ") for line in events]
        facts += [
            found["belief"] or found["right"]
            for line in block.split("\n")
            if (found := _FACT.match(line)) and not found["event"]
        ]
    mark = sha256(prompt.user.split("\n\nAn earlier reply was rejected")[0].encode()).hexdigest()
    words = [_WORDS[int(mark[place : place + 2], 16) % len(_WORDS)] for place in range(0, 64, 2)]
    filler = [
        f"The {words[n]} was moved beside the {words[n + 1]} and the {words[n + 2]} was left "
        f"alone near the {words[n + 3]}."
        for n in range(0, 28, 4)
    ]
    return "\n".join(
        [f"### About the {words[0]} and the {words[1]}", *(f"{fact}." for fact in facts), *filler]
    )


_WORDS = (
    "ladder trowel bench hose crate label ledger kettle shed gate barrow tray rake glove lamp "
    "sieve twine fence gutter boiler awning clock stool drain shelf basket mirror bucket bellows "
    "spade shovel mallet"
).split()

Fault = Callable[[Prompt, int], str | None]
"""What a call, the so many-th, does instead of answering: a word for one of the faults below."""


class Scripted:
    """Answers at once, the same to the same; counts what it is asked."""

    name = "scripted"
    is_priced = False

    def __init__(self, fault: Fault = lambda prompt, number: None, delay_s: float = 0.0) -> None:
        self._fault = fault
        self._delay_s = delay_s
        self.asked: list[Prompt] = []
        self.under_way = 0
        self.most_under_way = 0

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        number = len(self.asked)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await anyio.sleep(self._delay_s)
        finally:
            self.under_way -= 1
        text = entry_for(prompt)
        finish = Finish.STOP
        match self._fault(prompt, number):
            case None:
                pass
            case "fails":
                raise ModelFault("scripted: no reply")
            case "cut":
                text, finish = text[: len(text) // 2], Finish.LENGTH
            case "prose":
                text = "I am sorry, but there is nothing to write about today."
            case "other session":
                text = f"# session: elsewhere\n\n{text}"
            case said:
                text = f"{text}\n{said}"
        return Reply(
            text=text, usage=Usage(calls=1, input_tokens=10, output_tokens=5), finish=finish
        )

    async def close(self) -> None:
        pass


def planned_nursery(folder: Path) -> StoryPlan:
    """The days of the small story."""
    place = nursery(folder)
    return plan_story(read_persona(place), read_story(place, ARCS))
