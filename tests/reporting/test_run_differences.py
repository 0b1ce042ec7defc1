"""All differences besides the system are named; those that only narrow the trials are marked."""

from collections.abc import Sequence

from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import (
    Calendar,
    Checkpoint,
    Ingest,
    Lifecycle,
    Plan,
    ReviewMode,
    parse_range,
)
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import JudgeCard
from recall_bench.reporting.run_pairs import find_differences, list_settings
from tests.loops import loop_over_rows
from tests.written_runs import ADA, plan_of

SCENARIOS: dict[str, Sequence[Item]] = {"ada": ADA}
PLAN = plan_of(SCENARIOS)
JUDGE = JudgeCard(name="other", version="1")
READER = ReaderCard(name="extractive", version="1")
MANY = tuple(Checkpoint(label=f"{days}d", days=days) for days in range(1, 21))


def differences(first: Plan, second: Plan) -> list[str]:
    return [each.what for each in find_differences(first, second)]


@loop_over_rows(
    ("what", "changes", "is_condition"),
    [
        ("checkpoints", {"checkpoints": PLAN.checkpoints[:1]}, False),
        ("checkpoints", {"dry_run": True}, False),
        ("group questions", {"groups_enabled": True}, False),
        ("repeats", {"repeats": 2}, False),
        ("older questions", {"sample": 5}, False),
        ("ingest", {"ingest": Ingest.CONVERSATIONS}, True),
        ("calendar", {"calendar": Calendar.TEXT}, True),
        ("judge", {"judge": PLAN.judge.replace(version="2")}, True),
        ("judge", {"judge": PLAN.judge.replace(rules_digest="another")}, True),
        ("appellate judge", {"appellate": JUDGE}, True),
        ("days shown to the judge", {"judge_memory_window": 2}, True),
        ("passages looked at", {"top_k": 3}, True),
        ("passages looked at", {"max_context_tokens": 900}, True),
    ],
)
def test_each_is_named(what: str, changes: dict[str, object], is_condition: bool) -> None:
    (found,) = find_differences(PLAN, PLAN.replace(**changes))

    assert (found.what, found.is_condition) == (what, is_condition)


def test_a_checkpoint_shows_its_days_only_where_its_name_does_not_say_them() -> None:
    """`full` was shown with the days that it stands for in files: 9007199254740991."""
    named = tuple(parse_range(word) for word in ("30d", "6mo", "2w", "full"))
    odd = Checkpoint(label="end", days=19)
    plan = PLAN.replace(checkpoints=(*named, odd, Checkpoint(label="1y", days=366)))

    assert list_settings(plan)["checkpoints"] == "30d, 6mo, 2w, full, end = 19d, 1y = 366d"


@loop_over_rows(
    "changes",
    [
        {"system": SystemCard(name="another", version="2")},
        {"lifecycle": Lifecycle.GROWING},
        {"answer_timeout_s": 60.0},
        {"seed": 7},
        {"reader": READER},
        {"review": ReviewMode.FAILURES},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_these_may_differ(changes: dict[str, object]) -> None:
    """The seed without a sample orders questions; a review without a second judge is none."""
    assert find_differences(PLAN, PLAN.replace(**changes)) == ()


def test_a_seed_matters_to_a_sample() -> None:
    sampled = PLAN.replace(sample=3)

    assert differences(sampled, sampled.replace(seed=7)) == ["older questions"]


def test_two_readers_must_be_one() -> None:
    read = PLAN.replace(reader=READER)

    assert differences(read, read.replace(reader=READER.replace(version="2"))) == ["reader"]


def test_personas_and_what_was_reported_and_asked_of_them() -> None:
    (card,) = PLAN.scenarios

    assert differences(PLAN, PLAN.replace(scenarios=(card, card.replace(id="bob")))) == ["personas"]
    repaired = PLAN.replace(scenarios=(card.replace(questions_digest="new"),))
    assert differences(PLAN, repaired) == ["questions of ada"]
    retold = PLAN.replace(scenarios=(card.replace(history_digest="new"),))
    (days,) = find_differences(PLAN, retold)
    assert (days.what, days.is_condition) == ("days of ada", True)
    fed = retold.replace(ingest=Ingest.TOOL_CALLS)
    assert differences(PLAN, fed) == ["ingest"], "other days are what that means"


def test_of_long_lists_every_entry_counts_and_what_differs_is_shown() -> None:
    moved = (*MANY[:9], Checkpoint(label="mid", days=10), *MANY[10:])

    (found,) = find_differences(PLAN.replace(checkpoints=MANY), PLAN.replace(checkpoints=moved))

    assert str(found) == "checkpoints (20, among them 10d against 20, among them mid = 10d)"
