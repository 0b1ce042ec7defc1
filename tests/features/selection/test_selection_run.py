"""Who picks makes no difference to the score, and whoever fails costs their own prompts alone."""

import shlex
from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.event import Answered, FeedFailed, NotAnswered
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.scenario import Episode, Item, Scenario, Truth, compute_story_date
from recall_bench.core.settings import Settings
from recall_bench.core.verdict import JudgeCard
from recall_bench.features.selection.selection_scores import (
    SelectionComparison,
    SelectionOutcome,
    compare_selection,
)
from recall_bench.features.selection.selectors.selector import SelectorSystem
from recall_bench.features.selection.selectors.selector_registry import resolve_selector
from tests.conftest import card_of
from tests.features.selection.memories import MEMORIES, written
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio

EPOCH = date(2000, 1, 1)

TESTS = {
    "perfect": ("Which hotel was it?", ("memory/travel.md",)),
    "over": ("The rent is late, and I need a flight.", ("memory/landlord.md",)),
    "under": ("Espresso?", ("memory/coffee.md", "memory/travel.md")),
    "both": ("Is the rollout done?", ("memory/garden.md",)),
    "nothing": ("Good morning!", ()),
}
"""By name: a prompt and what it should recall."""


def scenario() -> Scenario:
    return Scenario(
        id="selection",
        epoch=EPOCH,
        episodes=tuple(
            Episode(id=each.name, day=day, at=compute_story_date(EPOCH, day), text=each.text)
            for day, each in enumerate(MEMORIES, start=1)
        ),
        items=tuple(
            Item(
                id=name,
                text=prompt,
                truth=Truth(reference="", category="recall", cited=expected),
                known_from=0,
            )
            for name, (prompt, expected) in TESTS.items()
        ),
    )


async def put(target: str, folder: Path, *, answer_timeout_s: float = 20.0) -> Rehearsal:
    """Every test put to the selector by the engine, three at a time."""
    timeout_ms = round(1000 * answer_timeout_s)
    selector = resolve_selector(target, Settings(timeout_ms=timeout_ms), folder=folder)
    told = scenario()
    plan = Plan(
        scenarios=(card_of(told),),
        checkpoints=(Checkpoint(label="end", days=told.last_day),),
        system=SystemCard(name="selector", version="1"),
        judge=JudgeCard(name="nobody", version="1"),
        lifecycle=Lifecycle.GROWING,
        top_k=100,
        unjudged=True,
        answer_timeout_s=answer_timeout_s,
    )
    rehearsal = Rehearsal(plan=plan, scenarios={told.id: told})
    await rehearsal.run(SelectorSystem(selector), parallelism=3)
    assert not rehearsal.of(FeedFailed)
    return rehearsal


def scores(rehearsal: Rehearsal) -> dict[str, SelectionComparison]:
    """By test, how what was recorded compares."""
    return {
        event.trial.item: compare_selection(
            TESTS[event.trial.item][1],
            [passage.id for passage in event.answer.passages if passage.id],
        )
        for event in rehearsal.journal
        if isinstance(event, Answered)
    }


def faults(rehearsal: Rehearsal) -> dict[str, tuple[str, str]]:
    """By test, the kind of its fault and the sentence."""
    return {
        event.trial.item: (event.fault, event.message)
        for event in rehearsal.journal
        if isinstance(event, NotAnswered)
    }


SHELL = """
prompt=$(tr 'A-Z' 'a-z')
for file in memory/*.md; do
  for word in $(sed -n 's,<fuzzy-match>\\(.*\\)</fuzzy-match>,\\1,p' "$file" | tr -d ','); do
    case "$prompt" in *"$word"*) echo "$file";; esac
  done
done
"""

PYTHON = """
def select(prompt, memories):
    for memory in memories:
        if any(word in prompt.lower() for word in memory.keywords):
            yield memory.name
"""


async def test_the_same_selections_have_the_same_scores_with_any_selector(tmp_path: Path) -> None:
    folder = written(tmp_path / "agent")
    (tmp_path / "pick.sh").write_text(SHELL, encoding="utf-8")
    (tmp_path / "pick.py").write_text(PYTHON, encoding="utf-8")

    by_shell = scores(await put(f"command:sh {shlex.quote(str(tmp_path / 'pick.sh'))}", folder))
    by_python = scores(await put(f"{tmp_path / 'pick.py'}:select", folder))
    built_in = scores(await put("keyword", folder))

    assert by_shell == by_python == built_in
    assert {name: found.outcome for name, found in built_in.items()} == {
        "perfect": SelectionOutcome.PERFECT,
        "over": SelectionOutcome.OVERRECALL,
        "under": SelectionOutcome.UNDERRECALL,
        "both": SelectionOutcome.UNDERRECALL,
        "nothing": SelectionOutcome.PERFECT,
    }


BY_SHELL = """
prompt=$(cat)
case "$prompt" in
  Which*) echo memory/travel.md;;
  The*) echo no index >&2; exit 1;;
  Espresso*) exec sleep 600;;
  Is*) echo "Here they are:";;
  *) echo memory/yacht.md;;
esac
"""

BY_PYTHON = """
import time

def select(prompt, memories):
    match prompt.split()[0]:
        case "Which": return ["memory/travel.md"]
        case "The": raise OSError("no index")
        case "Espresso?":
            while True: time.sleep(0.01)
        case "Is": return "Here they are:"
        case _: return ["memory/yacht.md"]
"""


@pytest.mark.parametrize("text", [BY_SHELL, BY_PYTHON], ids=["a program", "Python"])
async def test_a_crash_a_hang_and_junk_are_distinguished_and_the_run_goes_on(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / ("pick.sh" if text is BY_SHELL else "pick.py")
    path.write_text(text, encoding="utf-8")
    target = f"command:sh {shlex.quote(str(path))}" if text is BY_SHELL else str(path)

    rehearsal = await put(target, written(tmp_path), answer_timeout_s=4.0)

    told = faults(rehearsal)
    assert {name: kind for name, (kind, _) in told.items()} == {
        "over": "SystemFault",
        "under": "SystemTimeout",
        "both": "NotAnAnswer",
    }
    assert "no index" in told["over"][1]
    assert "Here they are:" in told["both"][1]
    assert scores(rehearsal)["perfect"].outcome is SelectionOutcome.PERFECT
    # A name that is not on disk is an answer, and a wrong one.
    assert scores(rehearsal)["nothing"].extra == ("memory/yacht.md",)


async def test_a_thread_that_cannot_be_stopped_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "pick.py"
    path.write_text(
        "import time\n"
        "def select(prompt, memories):\n"
        "    if prompt.startswith('Which'): time.sleep(30)\n"
        "    return []\n",
        encoding="utf-8",
    )

    rehearsal = await put(str(path), tmp_path, answer_timeout_s=2.0)

    assert {name: kind for name, (kind, _) in faults(rehearsal).items()} == {
        "perfect": "SystemTimeout"
    }
    assert len(scores(rehearsal)) == len(TESTS) - 1
