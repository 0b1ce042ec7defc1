"""A fixed set of answers, and the marks that each version of a judge gives them.

The histories, questions and answers lie in `golden/`, apart from the personas that ship, which may
be written anew. `python -m tests.judging.golden_answers` writes down the marks of a new version; it
refuses while the version of a judge is the one on record and its marks are not.
"""

import gzip
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import anyio
import msgspec

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.judging.offline.offline_judge import VERSION as OFFLINE_VERSION
from recall_bench.judging.offline.offline_judge import StudiedScenario, UncertainAnswer
from recall_bench.judging.rubric.passages import RubricOptions
from recall_bench.judging.rubric.rubric_judge import VERSION as RUBRIC_VERSION
from recall_bench.judging.rubric.rubric_judge import make_rubric_judge
from tests.judging.rubric.scripted import ScriptedModel, verdict_json

FOLDER = Path(__file__).parent / "golden"


class GoldenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to one question on one day."""

    scenario: str
    item: Item
    answer: str
    days: int


@cache
def load_scenarios() -> dict[str, Scenario]:
    """Two histories: thirty days in free text, sixty days with exact values."""
    packed = gzip.decompress((FOLDER / "scenarios.json.gz").read_bytes())
    return {each.id: each for each in msgspec.json.decode(packed, type=list[Scenario])}


@cache
def load_answers() -> tuple[GoldenAnswer, ...]:
    """About five hundred answers of every class, and of built-in systems."""
    packed = gzip.decompress((FOLDER / "answers.json.gz").read_bytes())
    return tuple(msgspec.json.decode(packed, type=list[GoldenAnswer]))


def make_exhibit(golden: GoldenAnswer, window: int = 0) -> Exhibit:
    """What a judge is shown of the answer."""
    scenario = load_scenarios()[golden.scenario]
    shown = {
        day
        for cited in golden.item.truth.evidence
        for day in range(cited.day - window, cited.day + window + 1)
    }
    return Exhibit(
        scenario=golden.scenario,
        item=golden.item,
        answer=Answer(text=golden.answer),
        asked_at=scenario.compute_date(golden.days),
        days=golden.days,
        excerpts=tuple(
            episode
            for episode in scenario.episodes
            if window and episode.day in shown and episode.day <= golden.days
        ),
    )


def format_verdict(verdict: Verdict) -> str:
    """Marks and findings, without the probabilities, whose last digits may differ by machine."""
    return "".join(map(str, verdict.marks.values())) + "".join(f" {f}" for f in verdict.findings)


def judge_offline() -> Iterator[str]:
    """One line an answer: its verdict, and whether it was read; of those that are, every fifth."""
    scenarios = {name: StudiedScenario(each) for name, each in load_scenarios().items()}
    read = 0
    for golden in load_answers():
        studied, exhibit = scenarios[golden.scenario], make_exhibit(golden)
        if not isinstance(studied.decide(exhibit), UncertainAnswer):
            yield format_verdict(studied.judge(exhibit))
            continue
        read += 1
        yield f"read {format_verdict(studied.judge(exhibit))}" if read % 5 == 0 else "read"


def judge_rubric() -> Iterator[str]:
    """One line an answer: the digest of the prompt, if there is one, and what a reply becomes."""
    model = ScriptedModel(lambda _: verdict_json(2, 1, 1))
    judge = make_rubric_judge(model, RubricOptions())
    for scenario in load_scenarios().values():
        judge.study(scenario)
    for golden in load_answers():
        model.prompts.clear()
        verdict = anyio.run(judge.judge, make_exhibit(golden, 1))
        prompts = "\0".join(f"{each.system}\0{each.user}" for each in model.prompts)
        yield f"{sha256(prompts.encode()).hexdigest()[:8]} {format_verdict(verdict)}"


JUDGES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "offline": (OFFLINE_VERSION, judge_offline),
    "rubric": (RUBRIC_VERSION, judge_rubric),
}


def read_marks(judge: str) -> tuple[str, list[str]]:
    """The version on record, and the marks it gave."""
    version, *lines = (FOLDER / f"{judge}.txt").read_text(encoding="utf-8").splitlines()
    return version.removeprefix("version "), lines


def main() -> None:
    for name, (version, judge) in JUDGES.items():
        path = FOLDER / f"{name}.txt"
        lines = list(judge())
        if path.exists() and read_marks(name)[0] == version and read_marks(name)[1] != lines:
            sys.exit(f"the marks of {name} {version} moved: raise its VERSION first")
        path.write_text("\n".join([f"version {version}", *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
