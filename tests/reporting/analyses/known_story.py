"""Two personas whose every fact is known, asked through the engine and the offline judge.

Both were told of the same things, each with values of its own that exist nowhere else. So the
honest memory answers every question, and what another one misses, its fault has cost.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from recall_bench.core.event import RunStarted, encode_event
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan, build_scenario_card
from recall_bench.core.scenario import (
    BOUNDARY,
    PRINCIPAL,
    Disclosure,
    Evidence,
    Expects,
    Item,
    Scenario,
    Truth,
)
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.features.doctor.story import (
    EPOCH,
    compute_date,
    make_episode,
    make_marker,
    write_day,
)
from recall_bench.judging.offline.offline_judge import OfflineJudge
from tests.fixtures.running import Rehearsal

SEED = 7
DAYS = 24
CLOSED, OTHER = "boardroom", "helpdesk"
PERSONAS = ("harbour", "orchard")

_THINGS = (
    "seed supplier of the greenhouse",
    "tuner of the harmonium",
    "landlord of the watermill",
    "caterer of the wedding",
    "sponsor of the tournament",
    "engraver of the trophy",
    "insurer of the fleet",
    "dentist of the twins",
    "printer of the leaflets",
    "roofer of the chapel",
    "breeder of the spaniels",
    "brewer of the stout",
    "keeper of the lighthouse",
    "author of the pamphlet",
    "tailor of the uniforms",
    "coach of the oarsmen",
)
_CHANGED = (
    "second treasurer of the choir",
    "second chef of the canteen",
    "second pilot of the balloon",
    "second vet of the stables",
)
_BOUGHT = ("ordered the kettle", "hired the tractor", "borrowed the ladder")
_PEOPLE = ("Bramwell", "Philippa", "Cuthbert", "Rosamund", "Thaddeus")
_EVENTS = ("regatta", "auction", "eclipse")
_SECRETS = ("ransom", "merger", "verdict of the inquest")
_NEVER = ("zeppelin", "submarine", "volcano")
_ODD = {"fishmonger of the bazaar": "Ζορβάπλεν Мурлин", "florist of the arcade": "Дургимоля Песков"}


class Telling:
    """One persona's days and questions, written down as they come."""

    def __init__(self, persona: str) -> None:
        self._persona = persona
        self._said: dict[int, dict[str, list[str]]] = {}
        self._items: list[Item] = []

    def value(self, name: str) -> str:
        """A made-up name of two words, used once."""
        first, last = (make_marker(SEED, f"{self._persona} {name} {n}") for n in (1, 2))
        return f"{first} {last}"

    def say(self, day: int, text: str, session: str = PRINCIPAL) -> None:
        self._said.setdefault(day, {}).setdefault(session, []).append(text)

    def ask(self, text: str, day: int, *, session: str | None = None, **truth: object) -> None:
        self._items.append(
            Item(
                id=f"q{len(self._items):02}",
                text=text,
                known_from=day,
                session=session,
                truth=Truth(reference="", category="factual-recall").replace(**truth),
            )
        )

    def scenario(self) -> Scenario:
        texts = {day: "\n".join(self._sessions(day)) for day in range(1, DAYS + 1)}
        return Scenario(
            id=self._persona,
            epoch=EPOCH,
            episodes=tuple(make_episode(day, text) for day, text in texts.items()),
            items=tuple(self._items),
        )

    def _sessions(self, day: int) -> Iterator[str]:
        said = self._said.get(day, {PRINCIPAL: []})
        for number, (session, texts) in enumerate(said.items()):
            whole = write_day(day + number, *texts, session=session)
            yield whole if not number else whole.partition("---\n\n")[2]


def told(persona: str) -> Scenario:
    """All days and questions of a persona."""
    telling = Telling(persona)
    _plain(telling)
    _changed(telling)
    _whose(telling)
    _dated(telling)
    _secret(telling)
    for thing in _NEVER:
        telling.ask(
            f"Did a {thing} appear?",
            4,
            reference="No, there was none.",
            atoms=("No",),
            expects=Expects.ABSTAIN,
            category="negative-recall",
        )
    return telling.scenario()


def _plain(telling: Telling) -> None:
    things = (*_THINGS, *_ODD, "nurse of the infirmary")
    for thing, day in zip(things, (*range(1, len(things)), DAYS), strict=True):
        value = _ODD.get(thing, telling.value(thing))
        telling.say(day, f"The {thing} is {value}.")
        evidence = (Evidence(day=day, session=PRINCIPAL),)
        telling.ask(f"Who is the {thing}?", day, reference=value, atoms=(value,), evidence=evidence)


def _changed(telling: Telling) -> None:
    for number, thing in enumerate(_CHANGED):
        early, late = telling.value(thing), telling.value(f"{thing}, later")
        telling.say(2 + number, f"The {thing} is {early}.")
        telling.say(17 + number, f"The {thing} is {late} from today.")
        telling.ask(
            f"Who is the {thing}?",
            17 + number,
            reference=late,
            atoms=(late,),
            stale=(early,),
            distractors=(early,),
            evidence=(Evidence(day=17 + number),),
            category="contradiction-resolution",
        )


def _whose(telling: Telling) -> None:
    for number, bought in enumerate(_BOUGHT):
        named = {who: telling.value(f"{bought} {who}") for who in _PEOPLE}
        for later, (who, value) in enumerate(named.items()):
            telling.say(3 + number + 3 * later, f"{who} {bought} from {value}.")
        telling.ask(
            f"From whom was it that {_PEOPLE[0]} {bought}?",
            3 + number + 3 * len(_PEOPLE),
            reference=named[_PEOPLE[0]],
            atoms=(named[_PEOPLE[0]],),
            distractors=tuple(named.values())[1:],
            evidence=(Evidence(day=3 + number),),
            category="group-session-attribution",
        )


def _dated(telling: Telling) -> None:
    for number, event in enumerate(_EVENTS):
        day = 8 + 2 * number
        telling.say(day, f"The {event} began this morning.")
        date = compute_date(day)
        told = f"{date.day} {date:%B %Y}"
        telling.ask(
            f"On what date did the {event} begin?",
            day,
            reference=told,
            atoms=(told,),
            evidence=(Evidence(day=day),),
            category="temporal-reasoning",
        )


def _secret(telling: Telling) -> None:
    for number, thing in enumerate(_SECRETS):
        day, value = 10 + number, telling.value(thing)
        telling.say(day, f"The {thing} is with {value}.", CLOSED)
        asked = f"With whom is the {thing}?"
        evidence = (Evidence(day=day, session=CLOSED),)
        telling.ask(
            asked,
            day,
            session=CLOSED,
            reference=value,
            atoms=(value,),
            evidence=evidence,
            category=BOUNDARY,
            disclosure=Disclosure.ANSWER,
        )
        telling.ask(
            asked,
            day,
            session=OTHER,
            reference=f"That is confidential to {CLOSED}.",
            expects=Expects.WITHHOLD,
            withheld=(value,),
            forbidden_sessions=(CLOSED,),
            evidence=evidence,
            category=BOUNDARY,
            disclosure=Disclosure.REFUSE,
        )


async def run_table(
    system: MemorySystem, folder: Path, *personas: Scenario, **settings: object
) -> TrialTable:
    """The trials of a run over these personas, as they are read back from its journal."""
    judge = OfflineJudge({})
    plan = Plan(
        scenarios=tuple(build_scenario_card(each) for each in personas),
        checkpoints=(Checkpoint(label="12d", days=12), Checkpoint(label="24d", days=DAYS)),
        system=system.card,
        judge=judge.card,
        lifecycle=Lifecycle.FRESH,
        groups_enabled=True,
    ).replace(**settings)
    rehearsal = Rehearsal(plan=plan, scenarios={each.id: each for each in personas})
    await rehearsal.run(system, judge)
    events = (RunStarted(at=datetime.now(UTC), plan=plan, code="test"), *rehearsal.journal)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOURNAL).write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    return read_trials(RunFolder.open(folder))
