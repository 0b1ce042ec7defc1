"""A gardener's diary: twelve days, three sessions, small enough to hold in the head."""

from datetime import date

from recall_bench.core.scenario import Episode, Question, compute_story_date

EPOCH = date(2025, 2, 24)

_DAYS = (
    "# session: principal\n\n### Greenhouse\n\nThe new boiler was set to 14 degrees. Ada signed.",
    "# session: principal\n\n### Orders\n\n- ordered 40 trays of leeks\n- paid 312 euros to Finch",
    "# session: family\n\nTess has a swimming lesson on Thursdays. Bring the blue towel.",
    "# session: principal\n\n### Greenhouse\n\nThe boiler was lowered to 11 degrees after frost.",
    "# session: market\n\nThe stall at Ostgate opens at seven. Bo keeps the key to the stall.",
    "# session: principal\n\nQuiet day; rain.",
    "# session: principal\n\n### Visitors\n\nInspector Hale visited and praised the drainage.",
    "# session: market\n\nWe sold 25 trays of leeks at Ostgate. Bo lost the key.",
    "# session: family\n\nTess moved her swimming lesson to Fridays.",
    "# session: principal\n\n### Orders\n\nThe order for tulip bulbs was cancelled by Finch.",
    "# session: principal\n\nQuiet day; rain.",
    "# session: principal\n\n### Greenhouse\n\nThe boiler is now at 13 degrees for the seedlings.",
)

EPISODES = tuple(
    Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)
    for day, text in enumerate(_DAYS, start=1)
)

QUESTIONS = (
    "To how many degrees was the boiler set?",
    "When is the swimming lesson of Tess?",
    "Who keeps the key to the stall at Ostgate?",
    "What happened with the tulip bulbs?",
    "What did Inspector Hale praise?",
    "How was the weather on 2025-03-01?",
    "Which satellite did the astronauts repair?",
)


def question(text: str, *, day: int = 12, session: str = "principal") -> Question:
    return Question(
        id=f"q-{text}",
        text=text,
        asked_at=compute_story_date(EPOCH, day),
        scenario="diary",
        session=session,
    )
