"""Small runs with everything a page has to show, and the page written from them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from recall_bench.core.memory import Passage, SystemCard
from recall_bench.core.scenario import Evidence, Item, Truth
from recall_bench.core.verdict import Finding, Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.pages.page import write_page
from recall_bench.reporting.run_report import RunReport, build_report
from tests.written_runs import INVENTED, PERFECT, POOR, Story, plan_of, trial

DAY = "🦉 An owl came by at dusk.\n" + "Rain.\n" * 60 + "The cat is called Fig. It rained."
SENTENCE = "The cat is called Fig."
STORIES: Mapping[str, Mapping[int, str]] = {"ada": {1: DAY, 2: "The dog moved in."}}

WRONG = Verdict(
    marks={"correctness": 0, "completeness": 0, "grounded": 1},
    reason="gives Plum, not Fig",
    findings=(Finding.CONTRADICTION,),
)


def cited(name: str, category: str, *evidence: Evidence, reference: str) -> Item:
    """A question that is asked at both checkpoints."""
    return Item(
        id=name,
        text=f"What is told of the {name}?",
        known_from=1,
        truth=Truth(
            reference=reference, category=category, difficulty="easy", evidence=tuple(evidence)
        ),
    )


def ada() -> tuple[Item, ...]:
    """Three questions; the first knows its sentence, the second its day, the third neither."""
    start = DAY.index(SENTENCE)
    told = Evidence(day=1, start=start, end=start + len(SENTENCE))
    return (
        cited("cat", "factual-recall", told, reference="Fig"),
        cited("dog", "temporal-reasoning", Evidence(day=2), reference="on the second day"),
        cited("fox", "negative-recall", reference="There was no fox."),
    )


def ada_run(folder: Path, *, error_budget: float | None = None) -> Story:
    """Six trials: right, wrong, made up, not answered, not judged, and reviewed.

    By the usual error budget, two failures of six make it invalid.
    """
    scenarios: dict[str, Sequence[Item]] = {"ada": ada()}
    plan = plan_of(scenarios)
    if error_budget is not None:
        plan = plan.replace(error_budget=error_budget)
    story = Story(folder, scenarios, plan)
    found = Passage(text=SENTENCE, day=1, score=0.91234, source="notes/1")
    other = Passage(text="The dog moved in.", day=2, score=0.4)
    story.answer(trial("cat"), "The cat is Fig.", found, other)
    story.judge(trial("cat"), PERFECT)
    story.answer(trial("cat", "4d"), "The cat is Plum.", other)
    story.judge(trial("cat", "4d"), WRONG)
    story.not_answered(trial("dog"), message="no reply within 30 s")
    story.both(trial("dog", "4d"), INVENTED, "The dog flew in from Rome.")
    story.answer(trial("fox"), "There is no fox.")
    story.judge(trial("fox"), PERFECT, primary=POOR)
    story.answer(trial("fox", "4d"), "There is no fox.")
    story.not_judged(trial("fox", "4d"))
    return story


def page_of(
    folder: RunFolder,
    output: Path,
    stories: Mapping[str, Mapping[int, str]] = STORIES,
    *,
    report: RunReport | None = None,
) -> Path:
    """The page of a run, written; with the figures of another report if one is given."""
    table = read_trials(folder)
    write_page(
        output,
        report or build_report(folder, table),
        folder=folder,
        table=table,
        leaves=find_leaves(table),
        stories=stories,
    )
    return output


HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<!-- ${window.hacked = 3} \u2028 \" onmouseover='window.hacked = 4'"
)
"""What a system may say to break out of wherever its words are put."""


def hostile_run(folder: Path) -> Story:
    """A run in which every name and text is hostile."""
    item = Item(
        id=f"q {HOSTILE}",
        text=f"text {HOSTILE}",
        known_from=1,
        truth=Truth(
            reference=f"reference {HOSTILE}",
            category="factual-recall",
            evidence=(Evidence(day=1, session=f"session {HOSTILE}"),),
            aliases=(f"alias {HOSTILE}",),
        ),
        session=f"asker {HOSTILE}",
    )
    persona = f"persona {HOSTILE}"
    scenarios: dict[str, Sequence[Item]] = {persona: (item,)}
    system = SystemCard(name=f"system {HOSTILE}", version="1")
    story = Story(folder, scenarios, plan_of(scenarios, system=system))
    passage = Passage(text=f"passage {HOSTILE}", day=1, source=f"source {HOSTILE}")
    for label in ("2d", "4d"):
        each = trial(item.id, label, scenario=persona)
        story.answer(each, f"answer {HOSTILE}", passage)
        story.judge(each, Verdict.of(0, 0, 0, f"reason {HOSTILE}"))
    return story
