"""A tiny persona on disk: Fern keeps the log of a plant nursery for six days.

Day 4 is quiet: no arc is active and there is no file.
"""

from pathlib import Path

PERSONA = """\
id: nursery
name: Fern
role: AI aide to a nursery owner
domain: Commercial horticulture
company: Leaf & Loam
team_size: 6
profile: |
  Fern tracks orders and irrigation faults.
communication_style: Short bullets.
epoch: 2026-02-01
principal: {name: Odile Marsh, role: Owner}
cast:
  - {name: Bram, role: Head grower}
  - {name: "@pump-bot", role: Irrigation controller}
sessions:
  - {id: principal, kind: 1to1, participants: [Odile Marsh], firstDay: 1, lastDay: 9}
  - {id: crew, kind: group, participants: [Odile Marsh, Bram], firstDay: 2}
  - {id: lender, kind: group, participants: [Odile Marsh, Bank], isolated: true, lastDay: 9}
sharedKnowledge: [Closed on Mondays]
favourite_colour: green
"""

ARCS = """\
maxConcurrent: 4
sessions:
  - {id: lender, firstDay: 2}
arcs:
  - id: pump
    type: project
    title: Replace the pump
    description: Two bids.
    startDay: 1
    endDay: 3
    primarySession: crew
    directives: [{day: 2, event: Bid B accepted}]
  - id: frost
    type: correction
    title: Last frost
    description: An almanac date.
    startDay: 5
    endDay: 6
    primarySession: principal
    wrongDay: 5
    correctedDay: 6
    wrongBelief: April 2
    correctedBelief: April 19
"""

QUESTIONS = """\
- id: nursery-q1
  question: Which pump bid was accepted?
  answer: Bid B.
  category: decision-tracking
  difficulty: easy
  relevant_days: [2]
  irrelevant_after: 5
- id: nursery-q2
  question: Was the boiler replaced?
  answer: No, only the pump.
  category: negative-recall
  difficulty: medium
  relevant_days:
    - 1
    - 3
  requires_synthesis: true
- id: nursery-q3
  question: What covenant did the bank ask for?
  answer: Decline; that belongs to another thread.
  category: information-boundary
  difficulty: hard
  relevant_days: [5]
  query_session: crew
  forbidden_sessions: [lender]
  expected_disclosure: refuse
"""

TOLD = (1, 2, 3, 5, 6)


def plant(data: Path) -> Path:
    """A sound persona below `data`; its story is `arcs-6d.yaml`."""
    folder = data / "nursery"
    (folder / "memories-6d").mkdir(parents=True)
    (folder / "qa-6d").mkdir()
    (folder / "persona.yaml").write_text(PERSONA, encoding="utf-8")
    (folder / "arcs-6d.yaml").write_text(ARCS, encoding="utf-8")
    (folder / "qa-6d" / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    for day in TOLD:
        write_day(folder, day, f"### Log\n\nThe log of day {day}.\n")
    return folder


def write_day(folder: Path, day: int, text: str) -> None:
    path = folder / "memories-6d" / f"day-{day:04}.md"
    path.write_text(text, encoding="utf-8", newline="")


def edit(path: Path, old: str, new: str) -> None:
    """Change one place of a file, and notice if it is not there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
