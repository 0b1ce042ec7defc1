"""A folder of small runs: two that compare, one of another persona, one of hostile text."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.memory import Passage, SystemCard
from recall_bench.core.scenario import Item
from tests.reporting.pages.sample_pages import ada, ada_run, hostile_run
from tests.written_runs import INVENTED, PERFECT, POOR, Story, plan_of, trial


def write_runs(root: Path) -> Path:
    """Two runs of Ada, one of Bob, and one that holds nothing but hostile text."""
    first = ada_run(root / "a")
    first.end()
    first.save()
    write_second(root / "nested" / "b")
    write_other(root / "c")
    hostile = hostile_run(root / "hostile")
    hostile.end()
    hostile.save()
    return root


def write_second(folder: Path) -> None:
    """Ada's questions again: the cat is known at both checkpoints, the dog answered at both."""
    scenarios: dict[str, Sequence[Item]] = {"ada": ada()}
    system = SystemCard(name="second", version="2", config={"k": 5})
    story = Story(folder, scenarios, plan_of(scenarios, system=system))
    found = Passage(text="The cat is called Fig.", day=1, score=0.5)
    story.answer(trial("cat"), "Fig, of course.", found)
    story.judge(trial("cat"), PERFECT)
    story.answer(trial("cat", "4d"), "Fig again.", found)
    story.judge(trial("cat", "4d"), PERFECT)
    story.both(trial("dog"), POOR, "It moved in some day.")
    story.both(trial("dog", "4d"), INVENTED, "The dog flew in from Rome.")
    for label in ("2d", "4d"):
        story.both(trial("fox", label), PERFECT, "There is no fox.")
    story.end()
    story.save()


def write_other(folder: Path) -> None:
    """The same questions about another persona, so that nothing pairs."""
    scenarios: dict[str, Sequence[Item]] = {"bob": ada()}
    story = Story(folder, scenarios, plan_of(scenarios))
    for item in ("cat", "dog", "fox"):
        for label in ("2d", "4d"):
            story.both(trial(item, label, scenario="bob"), PERFECT)
    story.end()
    story.save()
