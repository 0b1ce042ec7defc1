"""Bad input gets one sentence that names it, the right exit code, and nothing is written over."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Invoke
from tests.gardener import question, write_persona

Break = Callable[[Path], object]


def questions(text: str) -> Break:
    return lambda persona: _write(persona / "qa-10d" / "questions.yaml", text)


def with_question(**fields: str) -> Break:
    """The gardener's questions with one more whose fields are changed."""

    def change(persona: Path) -> None:
        row = {
            "id": "extra",
            "question": "Which bed took the leeks?",
            "answer": "Bed 7.",
            "category": "factual-recall",
            "difficulty": "easy",
            "relevant_days": "[1]",
        } | fields
        lines = [f"  {key}: {value}" for key, value in row.items() if value]
        text = "".join(question("gardener", day) for day in range(1, 11))
        _write(persona / "qa-10d" / "questions.yaml", text + "- " + "\n".join(lines)[2:] + "\n")

    return change


def without_days(*days: int) -> Break:
    def change(persona: Path) -> None:
        for day in days:
            (persona / "memories-10d" / f"day-{day:04}.md").unlink()

    return change


def renamed(before: str, after: str) -> Break:
    return lambda persona: (persona / before).rename(persona / after)


def arcs(text: str) -> Break:
    return lambda persona: _write(persona / "arcs-10d.yaml", text)


def day(content: bytes) -> Break:
    return lambda persona: (persona / "memories-10d" / "day-0004.md").write_bytes(content)


def _write(path: Path, text: str) -> None:
    path.write_text(text)


FAULTS = {
    "YAML syntax": (questions("- id: [unclosed\n"), 3, "questions.yaml"),
    "empty file": (questions(""), 3, "questions.yaml"),
    "a mapping instead of a list": (questions("id: q\n"), 3, "questions.yaml"),
    "an item that is null": (questions("- null\n"), 3, "questions.yaml, line 1"),
    "an item that is a string": (questions("- hello\n"), 3, "questions.yaml, line 1"),
    "no relevant_days": (with_question(relevant_days=""), 3, "relevant_days"),
    "relevant_days a scalar": (with_question(relevant_days="5"), 3, "relevant_days"),
    "relevant_days empty": (with_question(relevant_days="[]"), 3, "relevant_days"),
    "relevant_days in words": (with_question(relevant_days="[five]"), 3, "relevant_days"),
    "relevant day outside the corpus": (with_question(relevant_days="[9999]"), 3, "9999"),
    "unknown category": (with_question(category="factual-recal"), 3, "factual-recall"),
    "unknown difficulty": (with_question(difficulty="heavy"), 3, "difficulty"),
    "question missing": (with_question(question=""), 3, "question"),
    "answer missing": (with_question(answer=""), 3, "answer"),
    "answer a number": (with_question(answer="7"), 3, "answer"),
    "duplicate id": (with_question(id="gardener-q001"), 3, "gardener-q001"),
    "misspelt key": (with_question(irelevant_after="5"), 3, "irrelevant_after"),
    "a day missing that a question needs": (without_days(4), 3, "day-0004.md"),
    "the end of the story missing": (without_days(6, 7, 8, 9, 10), 3, "questions.yaml"),
    "a question after the last day": (with_question(answerable_from="99"), 3, "after the last day"),
    "no day at all": (without_days(*range(1, 11)), 3, "memories-10d"),
    "a day with too few digits": (
        renamed("memories-10d/day-0004.md", "memories-10d/day-4.md"),
        3,
        "day-4.md",
    ),
    "an empty day": (day(b" \n"), 3, "day-0004.md"),
    "a binary day": (day(b"\xff\xfe\0"), 3, "day-0004.md"),
    "no memories folder": (renamed("memories-10d", "memories"), 2, "memories-10d"),
    "no questions": (renamed("qa-10d/questions.yaml", "qa-10d/other.yaml"), 2, "questions.yaml"),
    "no persona.yaml": (renamed("persona.yaml", "other.yaml"), 2, "persona"),
    "broken arcs": (arcs("arcs: [\n"), 3, "arcs-10d.yaml"),
    "arcs without arcs": (arcs("epoch: '2025-04-01'\n"), 3, "arcs-10d.yaml"),
    "a bad epoch": (arcs("epoch: soon\narcs: []\n"), 3, "epoch"),
}


@pytest.mark.parametrize(("fault", "code", "named"), FAULTS.values(), ids=FAULTS.keys())
def test_bad_data_is_refused_before_anything_is_asked(
    invoke: Invoke, data: Path, fault: Break, code: int, named: str
) -> None:
    fault(data / "gardener")

    shown = invoke("run", "--data", data, "--ranges", "5d", "--adapter", "none", "--into", "r")

    assert shown.code == code, shown.err
    assert named in shown.err
    assert all(line.startswith("error: ") for line in shown.err.splitlines())
    assert not Path("r", "journal.jsonl").exists()


def test_an_empty_epoch_is_said(invoke: Invoke, data: Path) -> None:
    arcs = data / "gardener" / "arcs-10d.yaml"
    arcs.write_text(re.sub("epoch:.*", "epoch: null", arcs.read_text()))
    said = [
        invoke("lint", "--data", data).out,
        invoke("run", "--data", data, "--adapter", "none", "--ranges", "5d", "--into", "r").err,
    ]

    assert all("the epoch is empty, so day 1 is 2024-01-01" in " ".join(s.split()) for s in said)


def test_every_problem_of_every_persona_is_listed_at_once(invoke: Invoke, data: Path) -> None:
    second = write_persona(data, "warden")
    without_days(4)(data / "gardener")
    with_question(relevant_days="[9999]", category="nonsense")(second)

    shown = invoke("run", "--data", data, "--adapter", "nobody", "--ranges", "abc")

    for named in ("day-0004.md", "9999", "nonsense", "nobody", "'abc'"):
        assert named in shown.err


OPTIONS = {
    "unknown persona": (("--personas", "nobody"), "it has gardener"),
    "second persona unknown": (("--personas", "gardener", "nobody"), "nobody"),
    "no data folder": (("--data", "nowhere"), "nowhere is not a folder"),
    "unknown arcs": (("--arcs", "arcs-99d.yaml"), "arcs-99d.yaml"),
    "ranges in words": (("--ranges", "abc"), "'abc' is not a range"),
    "ranges of nothing": (("--ranges", "0d"), "'0d' is not a range"),
    "parallelism 0": (("--parallelism", "0"), "--parallelism"),
    "parallelism -1": (("--parallelism", "-1"), "--parallelism"),
    "parallelism in words": (("--parallelism", "abc"), "--parallelism"),
    "timeout in words": (("--timeout", "abc"), "--timeout"),
    "timeout 0": (("--timeout", "0"), "--timeout"),
    "sample in words": (("--sample", "abc"), "--sample"),
    "seed in words": (("--seed", "abc"), "--seed"),
    "repeats 0": (("--repeats", "0"), "--repeats"),
    "a misspelt option": (("--sed", "3"), "--seed"),
    "an unknown lifecycle": (("--lifecycle", "eternal"), "fresh"),
    "an unknown adapter": (("--adapter", "hybird"), "Installed: bm25"),
    "an adapter file that is not there": (("--adapter", "none.py"), "none.py"),
    "an unknown judge": (("--judge", "nobody"), "a built-in judge (offline, stub)"),
    "a judge file that is not there": (("--judge", "none.py"), "none.py"),
    "a misspelt provider": (("--judge", "opneai:gpt-5"), "--judge: there is no model provider"),
    "a misspelt agent": (("--judge", "cluade:opus"), "did you mean claude?"),
    "a misspelt second": (("--appellate-judge", "anthropc:x"), "did you mean anthropic?"),
    "a provider without a model": (("--judge", "openai"), "--judge: openai: names no model"),
    "a server for no model": (("--judge-base-url", "http://h"), "offline is not a language model"),
    "a server for no judge": (("--appellate-base-url", "http://h"), "--appellate-judge"),
    "an address that is none": (
        ("--judge", "openai:x", "--judge-base-url", "h:1"),
        "--judge-base-url: is not an address",
    ),
    "an unknown review": (("--review", "all"), "balanced"),
    "an unknown showing": (("--judge-shows", "some"), "passages"),
    "no room for passages": (("--judge-budget", "0"), "--judge-budget"),
    "less than no money": (("--max-cost", "-1"), "--max-cost"),
    "money that is no number": (("--max-cost", "nan"), "max-cost"),
    "less than no tokens": (("--max-tokens", "-1"), "--max-tokens"),
    "no calls at all": (("--max-calls", "0"), "--max-calls"),
    "an unwritable result": (("--json-out", "data/gardener/persona.yaml/x.json"), "--json-out"),
    "a folder for a result": (("--json-out", "data"), "--json-out"),
    "a profile that is not there": (("--profile", "none.yaml"), "none.yaml"),
    "a profile that is a folder": (("--profile", "data"), "data is a folder; name a file"),
    "resuming nothing": (("--resume", "nowhere"), "--resume"),
    "catch-up skipped where it cannot be": (("--skip-catchup-ingest",), "--lifecycle growing"),
    "copies of no copy": (
        ("--copies", "2", "--lifecycle", "growing"),
        "--copies: with --lifecycle growing no memory is copied",
    ),
    "no copies at all": (("--copies", "0"), "--copies"),
    "a wrong address": (("--adapter", "ftp://h"), "no system is reached by ftp://"),
    "a list of nothing": (("--personas", "--seed", "3"), "--personas"),
    "ranges of no word": (("--ranges",), "--ranges"),
    "too many repeats": (("--repeats", "10000000000"), "--repeats"),
    "no folder": (("--into", ""), "--into"),
    "personas by commas": (("--personas", "a,b"), "has no persona 'a' or 'b'"),
    "two kinds of JSON": (("--json", "--heatmap"), "--json and --heatmap both print JSON"),
    "two files in one": (("--json-out", "a", "--question-log", "a"), "--question-log: a is taken"),
    "a log over the journal": (("--into", "q", "--progress-jsonl", "q/journal.jsonl"), "journal"),
    "a result over the picture": (("--into", "q", "--json-out", "q/heatmap.png"), "heatmap.png"),
    "a device": (("--json-out", "/dev/null"), "/dev/null is not a file"),
    "an appellate provider": (("--appellate-judge", "openai"), "--appellate-judge: openai"),
}


@pytest.mark.parametrize(("flags", "named"), OPTIONS.values(), ids=OPTIONS.keys())
def test_a_bad_option_is_one_sentence_and_exit_2(
    invoke: Invoke, data: Path, flags: tuple[str, ...], named: str
) -> None:
    shown = invoke("run", "--data", data, "--ranges", "5d", *flags)

    assert shown.code == 2, shown.err
    assert named in shown.err
    assert len(shown.err.splitlines()) == 1
    assert {path.name for path in Path().iterdir()} == {"data"}


@pytest.mark.parametrize("flag", ["--data", "--into", "--adapter", "--profile"])
def test_a_name_that_no_file_can_have_is_one_sentence(
    invoke: Invoke, data: Path, flag: str
) -> None:
    shown = invoke("run", "--data", data, "--adapter", "bm25", flag, "x" * 300)

    assert shown.code == 2
    assert "too long for the name of a file" in shown.err


PROFILES = {
    "unknown section": ("runs: {}\n", "did you mean 'run'?"),
    "unknown key": ("run: {paralelism: 3}\n", "did you mean 'parallelism'?"),
    "wrong type": ("run: {seed: many}\n", "run.seed"),
    "not a mapping": ("- 1\n", "a profile must be a mapping"),
    "broken YAML": ("run: {\n", "profile.yaml, line"),
    "a bad lifecycle": (
        "run: {lifecycle: eternal}\n",
        "run.lifecycle: 'eternal' is not valid; choose one of fresh, forked, growing",
    ),
    "a bad value": ("run: {parallelism: 0}\n", "parallelism"),
    "less than no money": ("run: {maxCost: -0.5}\n", "max-cost: -0.5 is too small"),
    "an unknown review": ("run: {review: all}\n", "run.review: 'all' is not valid; choose one of "),
    "an unknown showing": ("run: {judgeShows: some}\n", "run.judgeShows"),
    "a misspelt address": ("models: {judgeBaseURL: x}\n", "did you mean 'judgeBaseUrl'?"),
    "bad steps": ("run: {ranges: {start: 1}}\n", "ranges"),
    "no ranges": ("run: {ranges: []}\n", "has no checkpoint"),
    "steps that never start": ("run: {ranges: {start: 5, end: 1, step: 1}}\n", "no checkpoint"),
    "no personas": ("run: {personas: []}\n", "profile.yaml: run.personas: is empty; name a"),
    "no list": (
        "run: {personas: harbour-office}\n",
        "profile.yaml: run.personas: expected a list, got a text; write for example [a, b]",
    ),
    "no time": ("run: {timeout: -5}\n", "profile.yaml: timeout: -5 is too small"),
    "steps of no days": ("run: {ranges: {start: 1, end: 9, step: 0}}\n", "profile.yaml: run.ra"),
    "no env file": ("env: {file: none.env}\n", "none.env"),
}


@pytest.mark.parametrize(("text", "named"), PROFILES.values(), ids=PROFILES.keys())
def test_a_bad_profile_names_the_key_and_the_nearest_right_one(
    invoke: Invoke, text: str, named: str
) -> None:
    Path("profile.yaml").write_text(text)

    shown = invoke("run", "--profile", "profile.yaml")

    assert shown.code in (2, 3)
    assert named in shown.err


def test_a_run_that_would_ask_nothing_is_refused(invoke: Invoke, data: Path) -> None:
    persona = data / "gardener"
    questions("".join(question("gardener", n) for n in range(6, 11)))(persona)

    nothing = invoke("run", "--data", data, "--ranges", "5d", "--adapter", "none")
    something = invoke(
        "run", "--data", data, "--ranges", "5d,10d", "--adapter", "none", "--no-heatmap-png"
    )

    assert nothing.code == 2
    assert "no question can be answered" in nothing.err
    first = re.search(r"asked on day (\d+), so give --ranges (\d+)d or later", nothing.err)
    assert first is not None
    words = ("--adapter", "none", "--no-heatmap-png")
    assert invoke("run", "--data", data, "--ranges", f"{int(first[1]) - 1}d", *words).code == 2
    assert invoke("run", "--data", data, "--ranges", f"{first[2]}d", *words).code == 0
    assert something.code == 0
    assert "nothing is asked at 5d" in something.err


def test_a_day_with_two_names_is_asked_once_with_a_word(invoke: Invoke, data: Path) -> None:
    words = ("--data", data, "--adapter", "none", "--no-heatmap-png", "--into", "run")

    shown = invoke("run", "--ranges", "1w,7d,10d", *words)

    assert shown.code == 0
    assert "7d is the same day as 1w" in shown.err
    result = json.loads(Path("run", "result.json").read_text(encoding="utf-8"))
    assert [each["label"] for each in result["ranges"]] == ["1w", "10d"]


def test_a_range_after_the_end_of_the_story_is_said_to_be_its_end(
    invoke: Invoke, data: Path
) -> None:
    words = ("--data", data, "--adapter", "none", "--no-heatmap-png")

    after = invoke("run", "--ranges", "7d,400d", *words, "--into", "after")
    full = invoke("run", "--ranges", "7d,full", *words, "--into", "full")

    end = re.search(r"note: --ranges: the story ends on day (\d+), so 400d is that day", after.err)
    assert end is not None
    assert "the story ends" not in full.err
    exact = invoke("run", "--ranges", f"7d,{end[1]}d", *words, "--into", "exact")
    assert "the story ends" not in exact.err


def test_a_refused_command_leaves_no_folder_behind(invoke: Invoke, data: Path) -> None:
    invoke("run", "--data", data, "--personas", "nobody", "--into", "a/b", "--json-out", "c/x.json")

    assert {path.name for path in Path().iterdir()} == {"data"}


def test_list_says_how_many_problems_a_story_has(invoke: Invoke, data: Path) -> None:
    with_question(relevant_days="[9999]")(data / "gardener")

    shown = invoke("list", "--data", data)

    assert "1 problem; `recall-bench run` names it" in shown.out


def test_list_counts_one_day_and_one_question_as_one(invoke: Invoke, data: Path) -> None:
    persona = data / "gardener"
    without_days(*range(2, 11))(persona)
    questions(question("gardener", 1))(persona)

    assert "1 day, 1 question\n" in invoke("list", "--data", data).out


def test_a_gap_may_be_meant(invoke: Invoke, data: Path) -> None:
    """Day 4 goes missing, and the question about it with it."""
    persona = data / "gardener"
    without_days(4)(persona)
    questions("".join(question("gardener", n) for n in range(1, 11) if n != 4))(persona)
    command = ("run", "--data", data, "--ranges", "10d", "--adapter", "none", "--no-heatmap-png")

    assert invoke(*command).code == 3
    assert invoke(*command, "--allow-gaps").code == 0


@pytest.mark.parametrize("source", ["nowhere", "empty", "empty/result.json"])
def test_a_heatmap_of_nothing_is_an_error(invoke: Invoke, source: str) -> None:
    Path("empty").mkdir()

    shown = invoke("heatmap", source, "--output", "x.png")

    assert shown.code in (2, 3)
    assert len(shown.err.splitlines()) == 1
    assert not Path("x.png").exists()
