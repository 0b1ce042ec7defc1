"""`run` does what its flags say, writes what it promises, and exits as it should."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.user_code import list_plugins
from recall_bench.library import read_settings
from recall_bench.stories import shipped
from tests.commands import Invoke
from tests.gardener import write_persona

SWEEP = ("--ranges", "5d", "10d")


def result(folder: Path) -> dict[str, object]:
    loaded = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def journal(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def count(folder: Path, kind: str) -> int:
    return sum(event["type"] == kind for event in journal(folder))


@pytest.mark.slow
@pytest.mark.usefixtures("real_pictures")
def test_with_no_arguments_it_runs_the_written_editions(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile keeps it short: few questions, no memory, and the answers are not read."""
    monkeypatch.setattr(shipped, "DEMO", ("er-physician", shipped.SAMPLE))
    (tmp_path / "recall-bench.yaml").write_text(
        "harness: {adapter: none}\nmodels: {judge: stub}\nrun: {sample: 2}\n"
    )

    shown = invoke("run", "-v")

    assert shown.code == 0, shown.err
    assert f"2: er-physician, {shipped.SAMPLE}" in shown.out
    assert "3: 30d, 90d, full" in shown.out
    [folder] = (tmp_path / "recall-runs").iterdir()
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {
        "failures.jsonl",
        "heatmap.png",
        "heatmap.svg",
        "journal.jsonl",
        "progress.jsonl",
        "questions.jsonl",
        "result.json",
    }
    assert (folder / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "heatmap.svg").read_bytes().startswith(b"<svg")


def test_a_run_asks_every_eligible_question_at_every_checkpoint(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")

    assert shown.code == 0, shown.err
    assert result(Path("r"))["metadata"]["totalEvalsRun"] == 15  # type: ignore[index]
    assert count(Path("r"), "ingested") == 10


@pytest.mark.parametrize(
    "ranges",
    [
        ("--ranges", "5d,10d"),
        ("--ranges", "5d 10d"),
        ("--ranges", "5d", "10d"),
        ("--ranges", "5d", "--ranges", "10d"),
        ("--ranges", "every:5"),
        ("--ranges=5d", "--ranges=10"),
        ("--ranges=5d", "10d"),
        ("--ranges", "5d,", "10d"),
    ],
    ids=" ".join,
)
def test_ranges_may_be_listed_in_any_way(
    invoke: Invoke, data: Path, ranges: tuple[str, ...]
) -> None:
    shown = invoke("run", "--data", data, *ranges, "--heatmap", "--no-heatmap-png")

    assert json.loads(shown.out)["ranges"] == ["5d", "10d"]


def test_the_same_command_again_asks_nothing(invoke: Invoke, data: Path) -> None:
    command = ("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")
    invoke(*command)
    before = (Path("r") / "journal.jsonl").read_bytes()
    written = result(Path("r"))

    shown = invoke(*command)

    assert shown.code == 0
    assert (Path("r") / "journal.jsonl").read_bytes() == before
    assert result(Path("r")) == written


def test_without_a_folder_the_same_command_still_continues(invoke: Invoke, data: Path) -> None:
    first = invoke("run", "--data", data, *SWEEP, "--no-heatmap-png")
    second = invoke("run", "--data", data, *SWEEP, "--no-heatmap-png")

    assert first.err.splitlines()[0] == second.err.splitlines()[0]
    assert len(list(Path("recall-runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("--seed", "7"), "other seed (42, now 7)"),
        (("--adapter", "none"), "other system (hybrid"),
        (("--judge", "stub"), "now stub 1)"),
        (("--ranges", "5d"), "other checkpoints (5d 10d, now 5d)"),
        (("--repeats", "2"), "other repeats (1, now 2)"),
    ],
)
def test_a_folder_never_mixes_two_runs(
    invoke: Invoke, data: Path, change: tuple[str, ...], named: str
) -> None:
    invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")
    before = (Path("r") / "result.json").read_bytes()

    sweep = () if "--ranges" in change else SWEEP
    shown = invoke("run", "--data", data, *sweep, *change, "--into", "r", "--no-heatmap-png")

    assert shown.code == 2
    assert named in shown.err
    assert (Path("r") / "result.json").read_bytes() == before


def test_a_changed_day_is_another_dataset(invoke: Invoke, data: Path) -> None:
    command = ("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")
    invoke(*command)
    day = data / "gardener" / "memories-10d" / "day-0003.md"
    day.write_text(day.read_text().replace("kale", "rye"))

    shown = invoke(*command)

    assert shown.code == 2
    assert "other scenarios (gardener " in shown.err


def test_two_personas_are_never_mistaken_for_each_other(invoke: Invoke, data: Path) -> None:
    write_persona(data, "warden")

    invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")

    personas = result(Path("r"))["personas"]
    assert isinstance(personas, list)
    assert [persona["personaId"] for persona in personas] == ["gardener", "warden"]
    assert count(Path("r"), "answered") == 30


def test_a_dry_run_stops_after_the_first_of_each_persona(invoke: Invoke, data: Path) -> None:
    write_persona(data, "warden")

    shown = invoke("run", "--data", data, *SWEEP, "--dry-run", "--into", "r", "--no-heatmap-png")

    assert shown.err.startswith("dry run: stops after the first checkpoint of each persona")
    assert count(Path("r"), "answered") == 10
    assert count(Path("r"), "ingested") == 10


def test_repeats_put_every_question_again(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, *SWEEP, "--repeats", "3", "--into", "r", "--no-heatmap-png")

    assert count(Path("r"), "answered") == 45


def test_a_sample_limits_the_older_questions(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, *SWEEP, "--sample", "2", "--into", "r", "--no-heatmap-png")

    assert count(Path("r"), "answered") == 5 + 5 + 2


@pytest.mark.parametrize(("lifecycle", "fed"), [("fresh", 15), ("forked", 10), ("growing", 10)])
def test_the_lifecycle_decides_what_feeding_costs(
    invoke: Invoke, data: Path, lifecycle: str, fed: int
) -> None:
    invoke(
        "run", "--data", data, *SWEEP, "--lifecycle", lifecycle, "--into", "r", "--no-heatmap-png"
    )

    assert count(Path("r"), "ingested") == fed


def test_outputs_go_where_the_options_say(invoke: Invoke, data: Path) -> None:
    shown = invoke(
        *("run", "--data", data, *SWEEP, "--no-heatmap-png"),
        *("--json-out", "out/scores.json", "--progress-jsonl", "p.jsonl"),
        *("--failure-log", "f.jsonl", "--question-log", "q.jsonl"),
    )

    assert shown.code == 0, shown.err
    assert Path("out/scores/journal.jsonl").exists()
    assert json.loads(Path("out/scores.json").read_text())["metadata"]["totalEvalsRun"] == 15
    assert len(Path("q.jsonl").read_text().splitlines()) == 15
    assert Path("p.jsonl").exists()
    assert Path("f.jsonl").exists()


def test_no_question_log_writes_none(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-question-log", "--no-heatmap-png")

    assert not Path("r/questions.jsonl").exists()


def test_json_is_the_result_on_stdout(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "--data", data, *SWEEP, "--json", "--into", "r", "--no-heatmap-png")

    assert json.loads(shown.out) == result(Path("r"))


def test_a_python_adapter_runs_like_a_built_in(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    shown = invoke(
        *("run", "--adapter", adapter(), "--data", data, *SWEEP),
        *("--into", "r", "--no-heatmap-png"),
    )

    assert shown.code == 0, shown.err
    assert "overlap" in shown.out
    overall = result(Path("r"))["personas"][0]["rangeResults"][-1]["overallScore"]  # type: ignore[index]
    assert overall == 6


def test_a_stub_judge_is_announced(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "--data", data, *SWEEP, "--judge", "stub", "--no-heatmap-png")

    assert "STUB JUDGE" in shown.out


def test_the_story_is_chosen_by_itself_when_there_is_only_one(invoke: Invoke, data: Path) -> None:
    assert invoke("run", "--data", data, *SWEEP, "--no-heatmap-png").code == 0


def test_a_profile_supplies_settings_and_flags_win(invoke: Invoke, data: Path) -> None:
    Path("profile.yaml").write_text(
        "persona: {id: gardener, dir: data/gardener, arcs: arcs-10d.yaml}\n"
        "harness: {adapter: none}\n"
        "run: {ranges: {start: 2, end: 10, step: 4}, seed: 5, heatmapPng: false, into: here}\n"
    )

    shown = invoke("run", "--profile", "profile.yaml", "--seed", "9")

    assert shown.code == 0, shown.err
    plan = journal(Path("here"))[0]["plan"]
    assert isinstance(plan, dict)
    assert plan["seed"] == 9
    assert [checkpoint["days"] for checkpoint in plan["checkpoints"]] == [2, 6, 10]
    assert plan["system"]["name"] == "none"


def test_a_setting_of_the_system_on_the_command_line_leaves_the_profile_its_others(
    invoke: Invoke, data: Path
) -> None:
    Path("profile.yaml").write_text("harness: {adapter: bm25, config: {k: 3, quotes: 2}}\n")

    invoke("run", "--profile", "profile.yaml", "--data", data, "--into", "r", "--config", "k=4")

    plan = journal(Path("r"))[0]["plan"]
    assert isinstance(plan, dict)
    assert plan["system"]["config"]["k"] == 4
    assert plan["system"]["config"]["quotes"] == 2


def test_flags_win_over_a_profile_in_pairs_too(invoke: Invoke, data: Path) -> None:
    Path("judge.py").touch()
    Path("nested").mkdir()
    Path("nested/judge.py").write_text(
        "def judge(exhibit):\n"
        "    return {'correctness': 3, 'completeness': 2, 'hallucination': 1}\n"
    )
    Path("nested/profile.yaml").write_text(
        "models: {judge: ./judge.py}\n"
        "run: {ranges: 5d, questionLog: false, heatmapPng: false, into: elsewhere}\n"
    )
    command = ("run", "--profile", "nested/profile.yaml", "--data", data, "--adapter", "none")

    first = invoke(*command, "--into", "r", "--question-log", "q.jsonl")
    again = invoke(*command, "--resume", "r")

    assert (first.code, again.code) == (0, 0), first.err + again.err
    assert len(Path("q.jsonl").read_text().splitlines()) == 5
    assert not Path("nested/elsewhere").exists()


def test_a_profile_says_everything_about_judging(invoke: Invoke, data: Path) -> None:
    Path("profile.yaml").write_text(
        "models: {judge: offline, appellateJudge: stub}\n"
        "run: {judgeMemoryWindow: 2, judgeShows: full, judgeBudget: 900, judgeCache: false,\n"
        "  review: failures, maxCost: 2.5, judgeTimeout: 7000, ranges: 5d, heatmapPng: false}\n"
    )

    settings = read_settings(Path("profile.yaml"), {"judge_budget_tokens": 800})
    shown = invoke("run", "--profile", "profile.yaml", "--data", data, "--into", "r")

    assert (settings.judge_shows, settings.judge_budget_tokens) == ("full", 800)
    assert (settings.judge_cache, settings.max_cost_usd) == (False, 2.5)
    assert shown.code == 0, shown.err
    plan = journal(Path("r"))[0]["plan"]
    assert isinstance(plan, dict)
    assert plan["review"] == "failures"
    assert plan["appellate"]["name"] == "stub"
    assert (plan["judge_memory_window"], plan["judge_timeout_s"]) == (2, 7)


@pytest.mark.parametrize("command", [("list",), ("list", "--systems"), ("ranges",)])
def test_lists_come_as_words_and_as_json(invoke: Invoke, command: tuple[str, ...]) -> None:
    words, data = invoke(*command), invoke(*command, "--json")

    assert words.code == data.code == 0
    assert isinstance(json.loads(data.out), list)


def test_list_names_every_system_and_what_it_is(invoke: Invoke) -> None:
    rows = json.loads(invoke("list", "--systems", "--json").out)
    shown = invoke("list", "--systems").out

    assert [row["name"] for row in rows] == [each.name for each in list_plugins("systems")]
    assert {"name": "none", "description": "Remembers nothing and says so."} in rows
    assert all(row["description"] in shown for row in rows)


def test_systems_are_in_no_data_folder(invoke: Invoke, data: Path) -> None:
    shown = invoke("list", "--systems", "--data", data)

    assert (shown.code, shown.out) == (2, "")
    assert "--systems: systems are in no data folder; leave out --data" in shown.err


def test_list_counts_days_and_questions(invoke: Invoke, data: Path) -> None:
    [persona] = json.loads(invoke("list", "--data", data, "--json").out)

    assert persona["id"] == "gardener"
    assert persona["stories"] == [
        {"arcs": "arcs-10d.yaml", "days": 10, "questions": 10, "problems": 0}
    ]


def test_export_makes_the_same_files_again(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")

    shown = invoke("export", "r", "--to", "again")

    assert shown.code == 0, shown.err
    for name in ("result.json", "progress.jsonl", "questions.jsonl", "failures.jsonl"):
        assert Path("again", name).read_bytes() == Path("r", name).read_bytes(), name


def test_the_heatmap_can_be_drawn_at_any_time(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, *SWEEP, "--into", "r", "--no-heatmap-png")

    from_folder = invoke("heatmap", "r", "--output", "a.png", "--output", "a.svg")
    from_file = invoke("heatmap", "r/result.json", "--output", "b.svg")

    assert (from_folder.code, from_file.code) == (0, 0)
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert Path("a.svg").read_text().startswith("<svg")
