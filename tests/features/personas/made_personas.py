"""Replies of a model that makes personas, sound ones to start from, and a model that gives them."""

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from recall_bench.core.errors import ModelFault
from recall_bench.core.usage import Usage
from recall_bench.features.personas.creation.story_rules import count_fewest_arcs
from recall_bench.systems.models.model import Finish, Prompt, Reply

Raw = dict[str, Any]

PERSONA: Raw = {
    "name": "Tallow",
    "role": "AI aide to the owner of a boatyard",
    "domain": "Repair of wooden boats",
    "company": "Slipway & Daughters",
    "institution": None,
    "team_size": 6,
    "profile": "Tallow keeps the berths, the faults of the crane and what chandlers promise. " * 4,
    "communication_style": "Short sentences: who said what, and how much.",
    "principal": {"name": "Hanne Brix", "role": "Owner", "profile": "Distrusts epoxy."},
    "cast": [
        {"name": "Joost Amundsen", "role": "Shipwright", "kind": "human"},
        {"name": "Pia Delacroix", "role": "Chandlery", "kind": "human"},
        {"name": "Milan Tesar", "role": "Banker", "kind": "human"},
        {"name": "@tide-bot", "role": "Posts the tides", "kind": "agent"},
    ],
    "sessions": [
        {"id": "principal", "kind": "1to1", "participants": ["Hanne Brix"]},
        {
            "id": "yard",
            "kind": "group",
            "participants": ["Hanne Brix", "Joost Amundsen", "Pia Delacroix"],
            "isolated": False,
            "shared": True,
            "sensitive_topics": [],
        },
        {
            "id": "bank-room",
            "kind": "group",
            "participants": ["Hanne Brix", "Milan Tesar"],
            "isolated": True,
            "shared": False,
            "sensitive_topics": ["the covenant of the loan", "what the land is worth"],
        },
    ],
    "projects": [{"id": "second-slip", "name": "Second slip", "description": "A second one"}],
    "sharedKnowledge": ["The yard closes on Mondays"],
}


def persona() -> Raw:
    """A sound persona, to be spoiled."""
    return deepcopy(PERSONA)


def story(days: int) -> Raw:
    """A sound story of so many days, to be spoiled."""
    spans = _spans(days)
    backbone = [arc("project", f"backbone-{n}", span) for n, span in enumerate(spans)]
    wanted = [kind for kind, count in count_fewest_arcs(days).items() for _ in range(count)]
    for _ in backbone:
        if "project" in wanted:
            wanted.remove("project")
    lanes = [wanted[0::3], wanted[1::3], wanted[2::3]]
    arcs = [arc for number, lane in enumerate(lanes) for arc in _lane(number, lane, spans)]
    return {"sessions": [], "arcs": [*backbone, *_with_a_secret(arcs)]}


def _spans(days: int) -> list[tuple[int, int]]:
    if days < 120:
        return [(1, days)]
    middle = days // 2
    return [(1, middle), (middle + 13, days)]


def _lane(number: int, kinds: list[str], spans: list[tuple[int, int]]) -> Iterable[Raw]:
    half = -(-len(kinds) // len(spans))
    for part, (first, last) in enumerate(spans):
        here = kinds[part * half : (part + 1) * half]
        for place, kind in enumerate(here):
            length = (last - first + 1) // len(here)
            start = first + place * length
            yield arc(kind, f"{kind}-{number}-{part}-{place}", (start, start + length - 1))


def arc(kind: str, name: str, span: tuple[int, int]) -> Raw:
    first, last = span
    arc: Raw = {
        "id": name,
        "type": kind,
        "title": f"About {name}",
        "description": f"What it is with {name}: nobody knows yet.",
        "startDay": first,
        "endDay": last,
        "primarySession": "yard",
        "referencedSessions": ["principal"],
        "participants": ["Joost Amundsen"],
        "directives": [{"day": first, "event": f"Joost says that {name} is under way"}],
        "wrongDay": None,
        "correctedDay": None,
        "wrongBelief": None,
        "correctedBelief": None,
    }
    if kind == "correction":
        arc |= {
            "wrongDay": first,
            "correctedDay": last,
            "wrongBelief": f"The crane of {name} comes at 5:40",
            "correctedBelief": f"The crane of {name} comes at 7:25",
        }
    return arc


def _with_a_secret(arcs: list[Raw]) -> list[Raw]:
    for arc in arcs[:1]:
        arc |= {"primarySession": "bank-room", "referencedSessions": [], "participants": []}
    return arcs


class Scripted:
    """A model that gives one reply after the other, and keeps what it was asked."""

    name = "scripted"
    is_priced = True

    def __init__(self, *replies: str | Raw | Reply | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[Prompt] = []
        self.on_call: Callable[[int], None] = lambda _: None

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        self.on_call(len(self.asked))
        if not self._replies:
            raise ModelFault("scripted: has nothing more to say")
        match self._replies.pop(0):
            case Reply() as reply:
                return reply
            case Exception() as error:
                raise error
            case str(text):
                return said(text)
            case raw:
                return said(json.dumps(raw))

    async def close(self) -> None:
        return


def said(text: str, finish: Finish = Finish.STOP) -> Reply:
    """A reply at a price."""
    usage = Usage(calls=1, input_tokens=10, output_tokens=20, cost_usd=0.01)
    return Reply(text=text, usage=usage, finish=finish)
