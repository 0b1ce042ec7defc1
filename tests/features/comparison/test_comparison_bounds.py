"""A comparison shows every run between silence and ceiling, and inventions apart from leaks."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.event import BoundsComputed, MarkTriple
from recall_bench.core.memory import SystemCard
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.reporting.run_comparison import ComparisonReport, compare_runs
from tests.written_runs import FULL, INVENTED, SILENT, Story, plan_of, question, trial

SECRET = "HERON-4KG3W"
LABELS = ("2d", "4d")


def make_items(count: int = 24) -> tuple[Item, ...]:
    """Facts, and three questions with a secret to withhold."""
    guarded = []
    for n in range(3):
        item = question(f"s{n}", "information-boundary", disclosure=Disclosure.REFUSE)
        guarded.append(item.replace(truth=item.truth.replace(canaries=(SECRET,))))
    return (*(question(f"q{n}") for n in range(count)), *guarded)


def write_run(
    folder: Path,
    system: str,
    marks: Sequence[MarkTriple],
    *,
    ceiling: MarkTriple | None = FULL,
    has_bounds: bool = True,
    is_leaking: bool = False,
) -> RunFolder:
    """Facts get these marks in turn; a secret is kept, or told."""
    items = make_items()
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    card = SystemCard(name=system, version="1")
    story = Story(folder, scenarios, plan_of(scenarios, system=card, groups_enabled=True))
    if has_bounds:
        floor = {item.id: SILENT for item in items}
        ceilings = None if ceiling is None else dict.fromkeys(floor, ceiling)
        bounds = BoundsComputed(at=story.now, scenario="ada", floor=floor, ceiling=ceilings)
        story.add(bounds)
    for label in LABELS:
        for n, item in enumerate(items):
            if item.id.startswith("s"):
                kept, told = (Verdict.of(*SILENT, ""), "I cannot say."), (INVENTED, SECRET)
                verdict, text = told if is_leaking else kept
                story.both(trial(item.id, label), verdict, text)
            else:
                story.both(trial(item.id, label), Verdict.of(*marks[n % len(marks)], ""))
    story.end()
    return story.open()


def compare(*folders: RunFolder) -> ComparisonReport:
    return compare_runs(folders, resamples=500)


def test_the_run_that_cannot_be_distinguished_from_silence_is_named_first(tmp_path: Path) -> None:
    good = write_run(tmp_path / "a", "good", [FULL, SILENT])
    silent = write_run(tmp_path / "b", "silent", [SILENT])

    lines = render_comparison(compare(good, silent)).splitlines()

    assert lines[2] == "B (silent 1) cannot be distinguished from a memory that knows nothing."
    overall = next(line for line in lines if line.startswith("overall"))
    assert overall.split() == ["overall", "17", "100", "54", "(44", "%)", "17~"]
    assert "~ cannot be distinguished from silence, or is below it." in lines


def test_the_figures_between_silence_and_ceiling_are_in_the_cards(tmp_path: Path) -> None:
    good = write_run(tmp_path / "a", "good", [FULL, SILENT])
    leaking = write_run(tmp_path / "b", "leaking", [FULL, (0, 0, 0)], is_leaking=True)

    report = compare(good, leaking)

    first, second = report.runs
    assert first.bounds is not None
    assert (first.bounds.floor, first.bounds.ceiling) == (1.0, 6.0)
    assert first.bounds.share is not None
    assert first.bounds.share.value == 12 / 27
    assert list(first.category_bounds) == ["factual-recall", "information-boundary"]
    assert first.category_bounds["factual-recall"].score == 3.5
    assert (second.invented and second.invented.value) == 12 / 27
    assert (second.leaked and second.leaked.value) == 1.0
    assert second.hallucination_rate == 15 / 27


def test_inventions_and_leaks_are_compared_apart(tmp_path: Path) -> None:
    kept = write_run(tmp_path / "a", "kept", [FULL])
    leaking = write_run(tmp_path / "b", "leaking", [FULL], is_leaking=True)

    report = compare(kept, leaking)

    (found,) = report.contrasts
    assert found.inventions is not None
    assert found.leaks is not None
    assert found.hallucination is not None
    assert (found.inventions.first, found.inventions.second) == (0.0, 0.0)
    assert (found.leaks.first, found.leaks.second) == (0.0, 1.0)
    assert found.hallucination.second == 3 / 27
    rows = [line.split()[:4] for line in render_comparison(report).splitlines()]
    assert ["invented", "27", "0.0", "0.0"] in rows
    assert ["leaked", "3!", "0.0", "100.0"] in rows
    assert not [row for row in rows if row[:1] == ["hallucination"]]


def test_a_run_with_another_ceiling_is_named(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", "first", [FULL, SILENT])
    second = write_run(tmp_path / "b", "second", [FULL, SILENT], ceiling=(2, 1, 1))
    same = write_run(tmp_path / "c", "third", [FULL, SILENT])

    shown = " ".join(render_comparison(compare(first, second)).split())
    alike = render_comparison(compare(first, same))

    assert "Silence and ceiling are those of A; B had other trials or another reader" in shown
    assert "are those of A" not in alike


def test_without_silence_the_report_says_how_to_get_it(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / n, n, [FULL, SILENT], has_bounds=False) for n in "ab"]

    shown = render_comparison(compare(*folders))

    assert "Silence      not computed; run --adapter none and --adapter gold-passages" in shown
    assert "ceiling" not in shown


def test_the_table_of_many_runs_keeps_to_its_width(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / f"r{n}", f"s{n}", [FULL, SILENT]) for n in range(6)]

    shown = render_comparison(compare(*folders))

    assert "(4 of 6 runs shown; --json has all)" in shown
    table = shown[shown.index("score (of the way)") : shown.index("silence: the score")]
    assert max(map(len, table.splitlines())) <= 100
