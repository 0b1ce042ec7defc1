"""The outcomes of a model's replies to every prompt of the product, asked through `folder:DIR`.

    python benchmarks/prompts.py FOLDER --state STATE [--judged FILE.jsonl --corpus DIR]
        [--only PROMPT ...] [--small N]

Each prompt has a folder in FOLDER, with requests and replies and nothing else, so the writer of
the replies sees no label and no reference that the prompt itself does not show. STATE holds
what the commands write: personas, runs, samples with their labels. Run it, have the replies
written, and run it again until nothing waits: the product's own commands are run, take the replies
and make the next requests. It then prints the tables of docs/results/prompts.md.

With `--small N`, the small language model of the tests replies to N requests of each prompt that
wait, once; requests that depend on these replies are not made.
"""

import argparse
import contextlib
import importlib
import io
import json
import random
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio
import click

from recall_bench.cli.console import format_json
from recall_bench.cli.main import cli
from recall_bench.core.errors import BenchError, ModelFault
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.verdict import PASS, SCALES
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.judges.audit import audit_judge
from recall_bench.features.judges.audit_answers import AuditItem, build_audit_set
from recall_bench.features.judges.audit_report import AuditClass
from recall_bench.features.judges.labelled_verdicts import (
    LabelledVerdict,
    load_labels,
    merge_repeats,
)
from recall_bench.features.models.target import resolve_model
from recall_bench.features.personas.checks.check_result import QuestionVerdict
from recall_bench.features.personas.model_reply import RejectedReply, parse_json_reply
from recall_bench.judging.judge_calls import JudgeLimits
from recall_bench.judging.judges import resolve_judge
from recall_bench.judging.rubric.prompt import find_disclosure
from recall_bench.stories.story_folders import find_story, resolve_personas
from recall_bench.systems.models.conversation import parse_turn
from recall_bench.systems.models.model import Model, Prompt

LOST_AFTER = 3
"""Rejections after which a unit counts as lost: what the passes spend on it in one run."""
SEED = 7
LABELLED = 30
"""Labelled answers of each rubric that has some."""
SHORT = 700
"""Characters of the longest answers in the samples: writers read every request."""
HARBOUR = "harbour-office"
OTHERS = ("bakery-de", "bakery-es")
ENGLISH = (
    *("executive-assistant", "er-physician", "backend-eng-saas"),
    *("financial-advisor", "litigation-attorney", "research-scientist"),
)
DESCRIPTIONS = (
    "The agent works for the owner of a flower shop with four employees and a wholesale round.",
    "The agent works for the head of a secondary school with 800 pupils.",
    "The agent serves the site manager of a tunnel that is being bored under a river.",
    "The agent keeps the books and the calendar of a string quartet that tours.",
    "The agent assists a veterinary surgeon with a practice for farm animals.",
    "The agent works for the curator of a regional museum that prepares an exhibition of clocks.",
    "The agent assists the dispatcher of a regional bus company with two depots.",
    "The agent works for a translator of technical manuals who employs three freelancers.",
    "The agent serves the chair of a housing cooperative with 240 flats that replaces its heating.",
    "The agent works for the head brewer of a small brewery that opens a second site.",
    "The agent assists the editor of a local newspaper that appears twice a week.",
    "The agent works for the warden of a nature reserve with a breeding colony of terns.",
    "The agent assists the head of a blood bank that serves eleven hospitals.",
    "The agent works for the conductor of an amateur choir that rehearses a new oratorio.",
    "The agent serves the manager of a mountain rescue team and its winter duty roster.",
    "The agent works for the owner of a cheese dairy that sells to restaurants and on two markets.",
    "The agent assists the registrar of a small university that moves to another timetable system.",
    "The agent works for the captain of a research vessel between two cruises.",
)
STORY_DAYS = (7, 10, 14, 21)

_REPAIR = re.compile(
    r"\n\nAn earlier reply was rejected\.|\n\nYour last reply to this (?:case )?could not be used"
)
"""Where the prompt of a repair goes on behind the first one."""


def run_command(*words: str | Path) -> tuple[int, str]:
    """The exit code and the output of a command of the product, run in this process."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            code = cli.main([*map(str, words)], prog_name="recall-bench", standalone_mode=False)
    except click.ClickException as error:
        raise SystemExit(f"{words}: {error.format_message()}") from error
    except BenchError as error:
        print(f"{words[0]}: {error}", file=sys.stderr)
        code = error.exit_code
    except SystemExit as end:
        code = end.code
    return code if isinstance(code, int) else 0, output.getvalue()


@dataclass(frozen=True)
class Work:
    """Where the requests are, and where the commands write."""

    requests: Path
    state: Path
    judged: Path | None
    corpus: Path | None

    def name_model(self, prompt: str) -> str:
        """The model whose requests are in the folder of this prompt."""
        return f"folder:{(self.requests / prompt).absolute()}"

    def copy_persona(self, name: str, into: str, *, keeps: Sequence[str] = ()) -> Path:
        """A persona's folder of our own with its persona.yaml and these parts of its story."""
        target = self.state / "personas" / into
        if target.exists():
            return target
        (source,) = resolve_personas(Settings(personas=(name,))).values()
        part = target.with_name(f".{into}")
        part.mkdir(parents=True, exist_ok=True)
        story = find_story(source, None)
        names = ("persona.yaml", story.arcs if "arcs" in keeps else "")
        folders = [f"{kind}-{story.arcs[5:-5]}" for kind in keeps if kind != "arcs"]
        for each in filter(None, names):
            shutil.copy(source / each, part / each)
        for each in folders:
            shutil.copytree(source / each, part / each, dirs_exist_ok=True)
        part.rename(target)
        return target

    def save(self, name: str, text: str) -> None:
        """Keep the output of a command for the tables."""
        path = self.state / "figures" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def load(self, name: str) -> Any:  # noqa: ANN401 - JSON of several commands
        """What was kept under this name; None if nothing was."""
        path = self.state / "figures" / f"{name}.json"
        try:
            return json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            return None


def list_labelled(work: Work) -> Iterator[list[LabelledVerdict]]:
    """Samples of labelled answers, half of them right by label, no question twice."""
    if work.judged is None:
        return
    chooser = random.Random(SEED)
    answers = [each for each in merge_repeats(load_labels(work.judged)) if is_usable(each.answer)]
    chooser.shuffle(answers)
    used: set[str] = set()
    for _ in range(2):
        found: list[LabelledVerdict] = []
        for is_right in (True, False):
            for answer in answers:
                right = answer.labels["correctness"] >= PASS["correctness"]
                if right is is_right and answer.cluster not in used:
                    used.add(answer.cluster)
                    found.append(answer)
                if len(found) == (LABELLED // 2 if is_right else LABELLED):
                    break
        yield found


def is_usable(answer: str) -> bool:
    """Whether an answer is short enough, and not empty."""
    return 0 < len(answer.strip()) <= SHORT


def write_labelled(path: Path, answers: Iterable[LabelledVerdict]) -> None:
    """Write a sample in the form that `judge-lab agreement` reads."""
    keys = ("question", "reference", "answer", "category", "relevant_days", "checkpoint_days")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {**{key: getattr(each, key) for key in keys}, "question_id": each.cluster, **each.labels}
        for each in answers
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def measure_agreement(work: Work, rubric: str, answers: Iterable[LabelledVerdict]) -> None:
    """Judge labelled answers by a rubric, and by the offline judge."""
    path = work.state / "labelled" / f"{rubric}.jsonl"
    write_labelled(path, answers)
    corpus = ("--corpus", work.corpus) if rubric == "grounded" and work.corpus else ()
    for name, judge in (("model", work.name_model(f"rubric-{rubric}")), ("offline", "offline")):
        words = ("--judged", path, "--judge", judge, *corpus, "--json", "-n", "64")
        _, output = run_command("judge-lab", "agreement", *words, "--no-judge-cache", *BUDGET)
        work.save(f"agreement-{rubric}-{name}", output)


BUDGET = ("--judge-budget", "700")
"""Fewer tokens of evidence than by default, because writers read them."""


def list_audited(scenario: Scenario) -> Mapping[str, Sequence[AuditItem]]:
    """Answers of the audit for each rubric, classes in turn."""
    by_class: dict[tuple[bool, AuditClass], list[AuditItem]] = defaultdict(list)
    for item in build_audit_set(scenario, seed=SEED, per_class=150):
        is_boundary = find_disclosure(item.item.truth) is not None
        if is_usable(item.answer) and item.kind is not AuditClass.LEAK:
            by_class[is_boundary, item.kind].append(item)
    found: dict[str, list[AuditItem]] = {"reference": [], "grounded": [], "boundary": []}
    for number in range(16):
        for (is_boundary, _), items in by_class.items():
            rubric = "boundary" if is_boundary else ("reference", "grounded")[number % 2]
            wanted = 64 if is_boundary else 30
            if number < len(items) and len(found[rubric]) < wanted:
                found[rubric].append(items[number])
    return found


def measure_audit(work: Work, rubric: str, scenario: Scenario, items: Sequence[AuditItem]) -> None:
    """Let a rubric and the offline judge judge answers whose marks are known."""
    window = 1 if rubric == "grounded" else 0
    settings = Settings(judge_cache=False, judge_budget_tokens=int(BUDGET[1]))
    for name, target in (("model", work.name_model(f"rubric-{rubric}")), ("offline", "offline")):
        judge = resolve_judge(target, settings)
        ask = partial(audit_judge, memory_window=window, limits=JudgeLimits(parallelism=64))
        report = anyio.run(ask, judge, [scenario], items)
        work.save(f"audit-{rubric}-{name}", format_json(report))


def ask_rubrics(work: Work) -> None:
    """Labelled answers and answers of the audit, mixed in the folder of each rubric."""
    for rubric, answers in zip(("reference", "grounded"), list_labelled(work), strict=False):
        measure_agreement(work, rubric, answers)
    settings = Settings(personas=("executive-assistant",))
    (folder,) = resolve_personas(settings).values()
    scenario = find_story(folder, None).load(settings)
    for rubric, items in list_audited(scenario).items():
        measure_audit(work, rubric, scenario, items)


def ask_reader(work: Work) -> None:
    """Questions on two personas with the passages that BM25 finds."""
    for name, days in ((HARBOUR, "15d"), ("executive-assistant", "28d")):
        for reader, target in (("model", work.name_model("reader")), ("extractive", "extractive")):
            words = ("--adapter", "bm25", "--personas", name, "--ranges", days, "--top-k", "5")
            into = work.state / "runs" / f"reader-{name}-{reader}"
            _, output = run_command(
                *("run", *words, "--reader", target, "--into", into, "--judge", "offline"),
                *("-n", "64", "--no-heatmap-png", "--no-page", "--json"),
            )
            work.save(f"reader-{name}-{reader}", output)


def ask_recall_agent(work: Work) -> None:
    """The tests of the example, in two passes."""
    model = f"models={work.name_model('recall-agent')}"
    into = work.state / "runs"
    agent = ("agent", "--config", "scheme=double", "--config", model)
    for name, selector in (("model", agent), ("hybrid", ("hybrid",))):
        words = ("--into", into / f"recall-{name}", "-n", "60", "--json")
        _, output = run_command("select", "run", "--selector", *selector, *words)
        work.save(f"recall-{name}", output)


def ask_loop_agent(work: Work) -> None:
    """Short stories cut from a persona: the agent reads them and answers questions on them."""
    data = cut_stories(work)
    for folder in sorted(data.iterdir()):
        into = work.state / "runs" / f"loop-{folder.name}"
        _, output = run_command(
            *("run", "--adapter", "loop:bm25", "--agent-model", work.name_model("loop-agent")),
            *("--data", data, "--personas", folder.name, "--ranges", "full", "--into", into),
            *("--judge", "offline", "-n", "8", "--no-heatmap-png", "--no-page", "--json"),
        )
        work.save(f"loop-{folder.name}", output)


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - a file of a persona
    """The content of a file of a persona."""
    return load_yaml(path)


def write_yaml(path: Path, content: object) -> None:
    """Write JSON, which is YAML too."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def cut_stories(work: Work) -> Path:
    """Personas whose whole story is one or two days of a longer one."""
    data = work.state / "cut"
    if data.exists():
        return data
    (source,) = resolve_personas(Settings(personas=(HARBOUR,))).values()
    persona = read_yaml(source / "persona.yaml")
    questions = read_yaml(source / "qa-30d" / "questions.yaml")
    part = data.with_name(".cut")
    for first in range(1, 30):
        length = 2 if first in {4, 15} else 1
        span = range(first, first + length)
        own = [each for each in questions if {*each["relevant_days"]} <= {*span}]
        own = [each for each in own if each["category"] != "conversation-boundary"][: 1 + length]
        if len(own) < 1 + length:
            continue
        folder = part / f"harbour-{first:02}"
        (folder / f"memories-{length}d").mkdir(parents=True)
        (folder / f"qa-{length}d").mkdir()
        epoch = str(date.fromisoformat(persona["epoch"]) + timedelta(days=first - 1))
        write_yaml(folder / "persona.yaml", {**persona, "id": folder.name, "epoch": epoch})
        arc = {"id": "all", "type": "project", "title": "The days", "startDay": 1}
        arc |= {"description": "What the days tell.", "endDay": length}
        write_yaml(folder / f"arcs-{length}d.yaml", {"epoch": epoch, "arcs": [arc]})
        for day in span:
            name = f"memories-{length}d/day-{day - first + 1:04}.md"
            shutil.copy(source / "memories-30d" / f"day-{day:04}.md", folder / name)
        kept = ("id", "question", "answer", "category", "difficulty", "requires_synthesis")
        shifted = [
            {key: each[key] for key in kept if key in each}
            | {"relevant_days": [day - first + 1 for day in each["relevant_days"]]}
            for each in own
        ]
        write_yaml(folder / f"qa-{length}d" / "questions.yaml", shifted)
        if len(list(part.iterdir())) == 12:
            break
    part.rename(data)
    return data


def ask_persona(work: Work) -> None:
    """New personas with stories of two weeks, and other stories for existing personas."""
    model = ("--model", work.name_model("persona"))
    for number, description in enumerate(DESCRIPTIONS, start=1):
        folder = work.state / "personas" / f"new-{number:02}"
        words = ("--persona", folder, "--prompt", description, "--days", "14")
        run_command("create-persona", *words, *model)
    for name in (HARBOUR, *OTHERS, *ENGLISH[:3]):
        folder = work.copy_persona(name, f"{name}-stories")
        for days in STORY_DAYS:
            run_command(
                *("create-persona", "--persona", folder, "--arcs-only", "--days", str(days)),
                *model,
            )


WIDE = ("--parallelism", "64")


def ask_days(work: Work) -> None:
    """Entries of a story from its arcs, and entries from the facts of a simulated one."""
    folder = work.copy_persona(HARBOUR, f"{HARBOUR}-days", keeps=("arcs",))
    late = ("--lag", "30", "--history-window", "1")
    run_command("generate", "--persona", folder, "--model", work.name_model("days"), *late, *WIDE)
    folder = work.state / "personas" / "simulated"
    if not folder.exists():
        trade = ("--trade", "er-physician", "--days", "14", "--seed", "1")
        run_command("create-persona", "--persona", folder, *trade)
    model = ("--model", work.name_model("days-from-ledger"))
    run_command("generate", "--persona", folder, "--from-ledger", "--days", "14", *model, *WIDE)


def ask_day_pass(work: Work, command: str, prompt: str) -> None:
    """Every day of a short story, and the first of two in other languages."""
    for name, days in ((HARBOUR, "30"), *((name, "21") for name in OTHERS)):
        folder = work.copy_persona(name, f"{name}-told", keeps=("arcs", "memories"))
        model = ("--model", work.name_model(prompt), *WIDE)
        run_command(command, "--persona", folder, "--days", days, *model)


def ask_questions(work: Work) -> None:
    """Two questions on each of the first days of nine stories, and some on secrets."""
    model = ("--model", work.name_model("questions"), *WIDE)
    for name in (HARBOUR, *OTHERS, *ENGLISH):
        folder = work.copy_persona(name, f"{name}-asked", keeps=("arcs", "memories"))
        days = "5" if name in ENGLISH else "10"
        words = ("--days", days, "--interval", "1", "--pairs-per-checkpoint", "2")
        run_command("generate-qa", "--persona", folder, *words, *model)
    folder = work.copy_persona(HARBOUR, f"{HARBOUR}-secrets", keeps=("arcs", "memories"))
    words = ("--mode", "boundary", "--interval", "5", "--days", "20")
    run_command("generate-qa", "--persona", folder, *words, *model)


def ask_verification(work: Work) -> None:
    """Questions as they are, and some with the answer to another question."""
    model = ("--model", work.name_model("verification"), *WIDE)
    for name, count in ((HARBOUR, 27), ("bakery-de", 18), ("bakery-es", 18)):
        folder = work.copy_persona(name, f"{name}-checked", keeps=("arcs", "memories", "qa"))
        path = work.state / "checked" / f"{name}.yaml"
        if not path.exists():
            swap_answers(next(folder.glob("qa-*/questions.yaml")), path, count)
        into = work.state / "checked" / name
        words = ("--questions", path, "--into", into, "--json")
        run_command("verify-qa", "--persona", folder, *words, *model)


def swap_answers(source: Path, into: Path, count: int) -> None:
    """Write a sample of questions, a third of them with the answer to the next one."""
    questions = [each for each in read_yaml(source) if len(each["relevant_days"]) <= 2]
    chosen = random.Random(SEED).sample(questions, count)
    answers = [each["answer"] for each in chosen]
    swapped = []
    for number in range(0, count - 1, 3):
        chosen[number]["answer"] = answers[number + 1]
        swapped.append(chosen[number]["id"])
    into.parent.mkdir(parents=True, exist_ok=True)
    into.with_suffix(".swapped.json").write_text(json.dumps(swapped))
    write_yaml(into, chosen)


PROMPTS: Mapping[str, Callable[[Work], None]] = {
    "rubric": ask_rubrics,
    "reader": ask_reader,
    "recall-agent": ask_recall_agent,
    "loop-agent": ask_loop_agent,
    "persona": ask_persona,
    "days": ask_days,
    "dialogues": lambda work: ask_day_pass(work, "generate-conversations", "dialogues"),
    "tool-calls": lambda work: ask_day_pass(work, "generate-tool-calls", "tool-calls"),
    "questions": ask_questions,
    "verification": ask_verification,
}
"""How the requests of each prompt are made and its replies are taken."""


@dataclass
class ReplyCounts:
    """The outcomes of the requests of one prompt."""

    first: int = 0
    """Kept at the first try."""
    repaired: int = 0
    lost: int = 0
    waiting: int = 0

    @property
    def units(self) -> int:
        """Requests without the repairs."""
        return self.first + self.repaired + self.lost + self.waiting


def count_replies(folder: Path) -> ReplyCounts:
    """Count by the first request of each unit: kept at once, after a repair, lost, waiting."""
    units: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for path in (*folder.glob("requests/*.json"), *folder.glob("answered/*.json")):
        request = json.loads(path.read_text())
        first = _REPAIR.split(request["user"], maxsplit=1)[0]
        is_waiting = path.parent.name == "requests"
        is_rejected = (folder / "rejected" / f"{path.stem}.reasons.md").exists()
        units[request["system"], first].append((is_waiting, is_rejected))
    counts = ReplyCounts()
    for tries in units.values():
        is_kept = any(not waiting and not rejected for waiting, rejected in tries)
        rejections = sum(rejected for _, rejected in tries)
        if is_kept and len(tries) == 1:
            counts.first += 1
        elif is_kept:
            counts.repaired += 1
        elif rejections >= LOST_AFTER:
            counts.lost += 1
        else:
            counts.waiting += 1
    return counts


def count_steps(folder: Path) -> ReplyCounts:
    """Count the steps of the loop agent: one that cannot be read gets an error and continues."""
    counts = ReplyCounts(waiting=len(list(folder.glob("requests/*.json"))))
    for path in folder.glob("answered/*.json"):
        (reply,) = folder.glob(f"replies/{path.stem}.*")
        if parse_turn(reply.read_text(encoding="utf-8-sig")).unreadable is None:
            counts.first += 1
        else:
            counts.lost += 1
    return counts


def print_replies(work: Work) -> None:
    """The table of all prompts."""
    print("| prompt | requests | kept at first try | after repair | lost | waiting |")
    print("|---|--:|--:|--:|--:|--:|")
    for folder in sorted(path for path in work.requests.iterdir() if path.is_dir()):
        if (folder / "replies").is_dir():
            count = count_steps if folder.name == "loop-agent" else count_replies
            found = count(folder)
            cells = (found.units, found.first, found.repaired, found.lost, found.waiting)
            print(f"| {folder.name} | {' | '.join(map(str, cells))} |")


def print_rubrics(work: Work) -> None:
    """Agreement with labels and traps passed, for each rubric and the offline judge."""
    print("\n| rubric | judge | labelled | agreement | kappa | traps | traps passed |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for rubric in ("reference", "grounded", "boundary"):
        for judge in ("model", "offline"):
            cells = describe_agreement(work.load(f"agreement-{rubric}-{judge}"))
            cells += describe_traps(work.load(f"audit-{rubric}-{judge}"))
            print(f"| {rubric} | {judge} | {' | '.join(cells)} |")


def describe_agreement(found: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Answers, accuracy of passes and kappa of correctness."""
    if not found or not (mark := found["marks"]["correctness"])["n"]:
        return ["–"] * 3
    return [str(mark["n"]), *(_format(mark[key]) for key in ("accuracy", "kappa"))]


def describe_traps(found: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Answers with a known mark, and how many were marked so, over all marks."""
    if not found:
        return ["–"] * 2
    shares = [
        share
        for mark in SCALES
        for key in ("sensitivity", "specificity")
        if (share := found["marks"][mark][key]) is not None
    ]
    of = sum(share["of"] for share in shares)
    return [str(of), _format(sum(share["count"] for share in shares) / of if of else None)]


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def print_outcomes(work: Work) -> None:
    """What the replies of the other prompts were worth, and the offline way beside them."""
    print("\n| prompt | figure | model | offline |")
    print("|---|---|--:|--:|")
    for name in (HARBOUR, "executive-assistant"):
        cells = [describe_score(work.load(f"reader-{name}-{way}")) for way in WAYS]
        print(f"| reader | score on {name}, of 6 | {' | '.join(cells)} |")
    found = [work.load(f"recall-{way}") for way in ("model", "hybrid")]
    shares = [(each["summary"]["perfect_share"] if each else None) or {} for each in found]
    cells = [_format(share.get("value")) for share in shares]
    print(f"| recall agent | share of exact selections | {' | '.join(cells)} |")
    scores = [work.load(path.stem) for path in work.state.glob("figures/loop-*.json")]
    done = [each for each in scores if each and each["metadata"]["totalEvalsRun"]]
    means = [each["estimates"]["overall"]["mean"] for each in done]
    mean = sum(means) / len(means) if means else None
    print(f"| loop agent | mean score of {len(done)} stories, of 6 | {_format(mean)} | – |")
    kept, rejected = count_questions(work)
    print(f"| questions | kept of those in readable replies | {kept} of {kept + rejected} | – |")
    caught, alarms = count_opinions(work)
    print(f"| verification | swapped answers found | {caught} | – |")
    print(f"| verification | sound questions called defective | {alarms} | – |")


WAYS = ("model", "extractive")


def describe_score(found: Any) -> str:  # noqa: ANN401 - JSON
    """The mean score of a finished run."""
    if not found or not found["metadata"]["totalEvalsRun"]:
        return "–"
    return _format(found["estimates"]["overall"]["mean"])


def count_questions(work: Work) -> tuple[int, int]:
    """Questions that the checks kept, and that they rejected."""
    kept = rejected = 0
    for path in work.state.glob("personas/*/qa-*/questions.yaml"):
        if path.parents[1].name.endswith(("-asked", "-secrets")):
            kept += len(read_yaml(path) or ())
    for path in work.state.glob("personas/*/qa-*/rejected.jsonl"):
        rejected += len(path.read_text(encoding="utf-8").splitlines())
    return kept, rejected


def count_opinions(work: Work) -> tuple[str, str]:
    """Questions with a swapped answer that the model calls defective, and sound ones that it does.

    Of the replies that could be read; `3 of 4`.
    """
    swapped = {
        name
        for path in work.state.glob("checked/*.swapped.json")
        for name in json.loads(path.read_text())
    }
    output: dict[bool, list[bool]] = {True: [], False: []}
    folder = work.requests / "verification"
    for path in folder.glob("answered/*.json"):
        name = json.loads(path.read_text())["about"].removeprefix("question ")
        for reply in folder.glob(f"replies/{path.stem}.*"):
            found = parse_json_reply(reply.read_text(encoding="utf-8-sig"), dict)
            if not isinstance(found, RejectedReply):
                output[name in swapped].append(found.get("verdict") == QuestionVerdict.DEFECTIVE)
    caught, alarms = (f"{sum(output[each])} of {len(output[each])}" for each in (True, False))
    return caught, alarms


SMALL_CONTEXT = 8192
"""The tokens that a request to the small model and its reply may have."""


async def reply_with_small_model(work: Work, prompts: Iterable[str], count: int) -> None:
    """Let the small model reply to the shortest waiting requests, the prompts in turn."""
    waiting = [
        sorted((work.requests / prompt).glob("requests/*.json"), key=_get_size)[:count]
        for prompt in prompts
    ]
    paths = [path for turn in zip_longest(*waiting) for path in turn if path is not None]
    sys.path.append(str(Path(__file__).parents[1]))
    small_model = importlib.import_module("tests.features.models.small_model")
    with small_model.serve_small_model(SMALL_CONTEXT) as url:
        model = resolve_model(f"openai:smollm2;{url};max-tokens=500", "--small", Settings())
        if model is None:
            raise SystemExit("the small model cannot be opened")
        for path in paths:
            if not _is_answered(path):
                text = await complete_request(model, json.loads(path.read_text()))
                part = path.parents[1] / "replies" / f"{path.stem}.part"
                part.write_text(text, encoding="utf-8", errors="replace")
                part.rename(part.with_suffix(".txt"))
        await model.close()


async def complete_request(model: Model, request: Mapping[str, Any]) -> str:
    """The reply to a request of a folder, or why there is none."""
    prompt = Prompt(system=request["system"], user=request["user"], schema=request["schema"])
    try:
        reply = await model.complete(prompt)
    except ModelFault as fault:
        return f"(no reply: {fault})"
    return reply.text or "(nothing)"


def _is_answered(path: Path) -> bool:
    return any(path.parents[1].glob(f"replies/{path.stem}.*"))


def _get_size(path: Path) -> int:
    return path.stat().st_size


def main() -> None:
    """Make requests, take replies, print tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", nargs="*", choices=PROMPTS, default=list(PROMPTS))
    parser.add_argument("--small", type=int, default=0, metavar="N")
    flags = parser.parse_args()
    work = Work(flags.folder, flags.state, flags.judged, flags.corpus)
    for name in flags.only:
        print(f"== {name}", file=sys.stderr, flush=True)
        PROMPTS[name](work)
    if flags.small:
        folders = [path.name for path in sorted(work.requests.iterdir()) if path.is_dir()]
        wanted = tuple(flags.only or PROMPTS)
        asked = [name for name in folders if name.startswith(wanted)]
        anyio.run(reply_with_small_model, work, asked, flags.small)
    print_replies(work)
    print_rubrics(work)
    print_outcomes(work)


if __name__ == "__main__":
    main()
