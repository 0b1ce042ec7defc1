"""What is owed at a checkpoint follows from the items, the plan and nothing else."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.plan import Checkpoint, Plan, SampleMode
from recall_bench.core.scenario import CATEGORIES, Item, Truth
from recall_bench.core.schedule import compute_quotas, plan_checkpoints
from tests.conftest import shared_data


def item(
    name: str, known_from: int, known_until: int | None = None, category: str = "factual-recall"
) -> Item:
    truth = Truth(reference="r", category=category)
    return Item(id=name, text="?", known_from=known_from, known_until=known_until, truth=truth)


def days(*counts: int) -> tuple[Checkpoint, ...]:
    return tuple(Checkpoint(label=f"{n}d", days=n) for n in counts)


def test_a_question_is_owed_from_the_day_it_can_be_known_until_it_is_overtaken(plan: Plan) -> None:
    items = [item("always", 1), item("late", 20), item("retired", 1, known_until=10)]

    owed = plan_checkpoints(items, 30, plan.replace(checkpoints=days(10, 11, 20)))

    assert [{items[i].id for i in sheet.asked} for sheet in owed] == [
        {"always", "retired"},
        {"always"},
        {"always", "late"},
    ]


def test_eligibility_goes_by_the_checkpoint_and_feeding_by_the_history(plan: Plan) -> None:
    [sheet] = plan_checkpoints(
        [item("q", 1, known_until=40)], 30, plan.replace(checkpoints=days(90))
    )

    assert (sheet.cutoff, sheet.asked) == (30, ())


def test_group_questions_are_counted_but_not_asked_unless_enabled(plan: Plan) -> None:
    items = [item("plain", 1), item("group", 1, category="information-boundary")]

    [off] = plan_checkpoints(items, 9, plan.replace(checkpoints=days(9)))
    [on] = plan_checkpoints(items, 9, plan.replace(checkpoints=days(9), groups_enabled=True))

    assert (len(off.asked), len(off.eligible)) == (1, 2)
    assert len(on.asked) == 2


def test_every_new_question_is_asked_and_old_ones_up_to_the_sample(plan: Plan) -> None:
    items = [item(f"old{n}", 1) for n in range(20)] + [item(f"new{n}", 8) for n in range(6)]

    first, second = plan_checkpoints(items, 9, plan.replace(checkpoints=days(5, 9), sample=4))

    assert (first.new, first.older, len(first.asked)) == (20, 0, 20)
    assert (second.new, second.older, len(second.asked)) == (6, 20, 10)


def test_an_unsampled_question_counts_as_older_at_the_next_checkpoint(
    plan: Plan,
) -> None:
    items = [item(f"q{n}", 1) for n in range(10)]

    *_, last = plan_checkpoints(items, 9, plan.replace(checkpoints=days(1, 5, 9), sample=0))

    assert (last.new, last.older, last.asked) == (0, 10, ())


def test_a_dry_run_visits_the_first_checkpoint_only(plan: Plan) -> None:
    owed = plan_checkpoints(
        [item("q", 1)], 9, plan.replace(checkpoints=days(1, 5, 9), dry_run=True)
    )

    assert [sheet.checkpoint.label for sheet in owed] == ["1d"]


def test_imported_questions_are_owed_whatever_the_plan_would_draw(plan: Plan) -> None:
    items = [item("a", 1), item("b", 1), item("c", 4), item("early", 9)]
    put = {"2d": ("b",), "5d": ("early", "a", "c")}

    first, second = plan_checkpoints(items, 9, plan.replace(checkpoints=days(2, 5), sample=0), put)

    assert [[items[i].id for i in sheet.asked] for sheet in (first, second)] == [
        ["b"],
        ["early", "a", "c"],
    ]
    assert [items[i].id for i in second.eligible] == ["a", "b", "c", "early"]
    assert (first.new, first.older) == (1, 0)
    assert (second.new, second.older) == (2, 2)


def test_a_checkpoint_at_which_nothing_was_asked_owes_nothing(plan: Plan) -> None:
    first, second = plan_checkpoints(
        [item("a", 1)], 9, plan.replace(checkpoints=days(2, 5)), {"5d": ("a",)}
    )

    assert (first.asked, first.eligible, second.asked) == ((), (0,), (0,))


@pytest.mark.parametrize(
    ("put", "said"),
    [
        ({"9d": ("a",)}, "'9d', which is not a checkpoint"),
        ({"2d": ("a", "a")}, "asked twice at '2d'"),
        ({"2d": ("z",)}, "'z' is asked at '2d' and is not among the questions"),
    ],
)
def test_an_imported_question_must_belong_to_the_run(
    plan: Plan, put: dict[str, tuple[str, ...]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        plan_checkpoints([item("a", 1)], 9, plan.replace(checkpoints=days(2, 5)), put)


def test_a_group_question_that_was_asked_is_owed(plan: Plan) -> None:
    boundary = item("b", 1, category="information-boundary")

    [sheet] = plan_checkpoints([boundary], 9, plan.replace(checkpoints=days(9)), {"9d": ("b",)})

    assert (sheet.asked, sheet.new) == ((0,), 1)


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=10),
    share=st.floats(0, 1, exclude_max=True),
)
def test_quotas_fill_every_seat_in_proportion(sizes: list[int], share: float) -> None:
    seats = int(sum(sizes) * share)

    given_seats = compute_quotas(sizes, seats)

    assert sum(given_seats) == seats
    for size, got in zip(sizes, given_seats, strict=True):
        assert got <= size
        assert abs(got - size / sum(sizes) * seats) < 1


@pytest.fixture(scope="module")
def published() -> tuple[list[Item], dict[str, object]]:
    yaml = pytest.importorskip("yaml")
    record = json.loads(shared_data("conformance/ea-180d-order.json").read_text(encoding="utf-8"))
    raw = yaml.load(
        shared_data(record["questions"]).read_text(encoding="utf-8"), Loader=yaml.BaseLoader
    )
    items = [
        item(
            q["id"],
            max(int(day) for day in q["relevant_days"]),
            int(q["irrelevant_after"]) if "irrelevant_after" in q else None,
            q["category"],
        )
        for q in raw
    ]
    return items, record


def test_all_thirty_published_orders_are_reproduced(
    published: tuple[list[Item], dict[str, object]], plan: Plan
) -> None:
    items, record = published
    checkpoints = record["checkpoints"]
    assert isinstance(checkpoints, list)

    owed = plan_checkpoints(
        items,
        180,
        plan.replace(
            checkpoints=tuple(Checkpoint(label=c["label"], days=c["days"]) for c in checkpoints),
            sample=record["sample"],
            seed=record["seed"],
        ),
    )

    assert len(owed) == 30
    for sheet, expected in zip(owed, checkpoints, strict=True):
        assert [items[i].id for i in sheet.asked] == expected["asked"], sheet.checkpoint.label


def test_the_published_counts_of_new_and_old_questions(
    published: tuple[list[Item], dict[str, object]], plan: Plan
) -> None:
    items, _ = published
    sweep = days(*range(6, 181, 6))

    owed = plan_checkpoints(items, 180, plan.replace(checkpoints=sweep, sample=50))

    assert [len(sheet.asked) for sheet in owed[:6]] == [6, 12, 24, 37, 48, 60]
    assert all(len(sheet.asked) == sheet.new + 50 for sheet in owed[6:])


SWEEP = days(*range(10, 101, 10))
MIXED = [
    item(
        f"q{number}",
        1 + number // 4,
        known_until=55 if number % 50 == 7 else None,
        category=CATEGORIES[number % 3],
    )
    for number in range(300)
]


def ask_sample(plan: Plan, size: int, sampling: SampleMode) -> list[set[str]]:
    """The older questions that each checkpoint asks."""
    owed = plan_checkpoints(
        MIXED, 100, plan.replace(checkpoints=SWEEP, sample=size, sampling=sampling)
    )
    seen: set[int] = set()
    found = []
    for sheet in owed:
        found.append({MIXED[i].id for i in sheet.asked if i in seen})
        seen |= set(sheet.eligible)
    return found


def test_half_of_a_sample_stays_the_same_from_checkpoint_to_checkpoint(plan: Plan) -> None:
    core = ask_sample(plan, 20, SampleMode.CORE)
    drawn = ask_sample(plan, 20, SampleMode.DRAWN)

    assert [len(each) for each in core] == [len(each) for each in drawn] == [0, *[20] * 9]
    assert len(set.intersection(*core[1:])) >= 9
    assert len(set.intersection(*drawn[1:])) <= 3
    assert len(set.union(*core[1:])) > 40


def test_a_core_question_that_is_overtaken_is_replaced(plan: Plan) -> None:
    retired = {each.id for each in MIXED if each.known_until == 55}
    found = ask_sample(plan, 150, SampleMode.CORE)

    assert retired & found[3]
    assert not retired & found[6]
    assert len(found[6]) == 150


def test_categories_stay_in_proportion_in_a_sample_with_a_core(plan: Plan) -> None:
    category = {each.id: each.truth.category for each in MIXED}
    for asked in ask_sample(plan, 20, SampleMode.CORE)[1:]:
        counts = [[category[name] for name in asked].count(each) for each in CATEGORIES[:3]]
        assert max(counts) - min(counts) <= 1


def test_the_core_goes_by_the_seed(plan: Plan) -> None:
    one, other = (
        set.intersection(*ask_sample(plan.replace(seed=seed), 20, SampleMode.CORE)[1:])
        for seed in (1, 2)
    )

    assert one != other


def test_a_plan_that_does_not_say_draws_its_sample_as_it_used_to(plan: Plan) -> None:
    """Runs on record name no mode; what they owe must not change."""
    told = msgspec.json.decode(msgspec.json.encode(plan.replace(sample=20)), type=Plan)

    assert told.sampling is SampleMode.DRAWN
    assert b"sampling" not in msgspec.json.encode(plan.replace(sample=20))
    assert plan.replace(sample=20, sampling=SampleMode.CORE).digest != told.digest


def test_category_names_are_the_ten_in_their_order() -> None:
    assert len(CATEGORIES) == len(set(CATEGORIES)) == 10
    assert CATEGORIES[0] == "factual-recall"
    assert CATEGORIES[-2:] == ("group-session-attribution", "information-boundary")
