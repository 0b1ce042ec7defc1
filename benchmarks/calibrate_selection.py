"""At which threshold and ratio the built-in selectors should stop picking memories.

    python benchmarks/calibrate_selection.py locomo10.json

There are two kinds of folders. In one a memory is what the simulated log of a shipped persona (its
simulated edition, 1,000 days) says about one thread, sixty threads a folder, and the questions about them
are the prompts. In the other a memory is a session of a LoCoMo chat. A prompt is one, two or three of
the questions and expects the memories of all of them; half of the prompts have a sentence before or
after that asks nothing. Prompts that expect no memory are questions about other threads or chats, and
small talk.

Threshold and ratio are those with the best mean F1 over every other folder, where both kinds of
folders have equal weight and prompts that expect nothing a fifth of it, as in a usual suite. The
other folders confirm them. Shipped personas are built first if the cache does not hold them.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selection_scores import (
    SelectionComparison,
    SelectionOutcome,
    compare_selection,
)
from recall_bench.features.selection.selectors.retrieval_selector import (
    CUT_OFF,
    CutOff,
    HybridSelectorOptions,
    MemoryIndex,
    RetrievalSettings,
    pick_best,
)
from recall_bench.stories.persona_files import DEFAULT_ARCS
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.builtin.word_index import Bm25

NOTES, CHATS = "notes", "chats"
FOLDER_SIZE = 60
ASKED_TOGETHER = (1, 1, 2, 3)
NO_RECALL_SHARE = 0.2
THRESHOLDS = [step / 50 for step in range(4, 21)]
RATIOS = [step / 20 for step in range(14, 21)]
K = 10

ASIDES = (
    "I have been putting this off all week, so bear with me.",
    "Quick one before I head into a meeting.",
    "I want to get this right the first time.",
    "Somebody asked me about it this morning and I had no answer.",
    "Let me know what you think.",
    "I would like to close this today if we can.",
    "No rush, but it keeps nagging at me.",
    "I am going through my papers and something does not add up.",
    "Keep it short, please.",
    "It feels like we have been here before.",
)

SMALL_TALK = (
    "Thanks, that works.",
    "Good morning! How are you today?",
    "What is 17 times 23?",
    "Tell me a joke about penguins.",
    "Can you rephrase that so it sounds friendlier?",
    "Okay, go ahead.",
    "What does the word serendipity mean?",
    "Write a haiku about autumn rain.",
    "Hmm, never mind. I changed my mind about it.",
    "How do I reverse a list in Python?",
    "What is the capital of Mongolia?",
    "I am a bit tired today.",
    "Translate 'see you tomorrow' into Spanish.",
    "Who painted the Mona Lisa?",
    "Nice, that looks great. I will take it from here.",
    "What time is it in Tokyo when it is noon in Lisbon?",
    "Explain how rainbows form, for a child.",
    "Let us take a short break.",
    "Count to ten in French.",
    "What is the difference between a crocodile and an alligator?",
)

ExpectedRecall = tuple[str, frozenset[str]]
"""A question or prompt, and the memories that it should recall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFolder:
    """Memories, the questions on them, and questions that should recall none of them."""

    kind: str
    memories: tuple[MemoryFile, ...]
    questions: tuple[ExpectedRecall, ...]
    foreign: tuple[str, ...]

    def build_prompts(self, number: int) -> list[ExpectedRecall]:
        """Its prompts, drawn with this number as the seed."""
        chance = random.Random(number)
        left = list(self.questions)
        chance.shuffle(left)
        prompts: list[ExpectedRecall] = []
        while left:
            count = chance.choice(ASKED_TOGETHER)
            together, left = left[:count], left[count:]
            sentences = [question for question, _ in together]
            if chance.random() < 0.5:
                sentences.insert(chance.choice((0, len(sentences))), chance.choice(ASIDES))
            expected = frozenset[str]().union(*(names for _, names in together))
            prompts.append((" ".join(sentences), expected))
        asides = [" ".join(chance.sample(ASIDES, 2)) for _ in range(8)]
        return prompts + [(text, frozenset()) for text in (*self.foreign, *SMALL_TALK, *asides)]


def build_note_folders() -> Iterator[MemoryFolder]:
    """Folders of each shipped persona's log, a memory for each thread."""
    for persona in load_trades():
        memories, questions = _read_threads(unpack_story(persona, DEFAULT_ARCS, edition=2))
        names = sorted(memories)
        random.Random(1).shuffle(names)
        for start in range(0, len(names) - FOLDER_SIZE + 1, FOLDER_SIZE):
            here = frozenset(names[start : start + FOLDER_SIZE])
            elsewhere = [text for text, expected in questions if not expected & here]
            yield MemoryFolder(
                kind=NOTES,
                memories=tuple(_build_memory(name, memories[name]) for name in sorted(here)),
                questions=tuple(each for each in questions if each[1] <= here),
                foreign=tuple(elsewhere[::37]),
            )


def _read_threads(folder: Path) -> tuple[dict[str, str], list[ExpectedRecall]]:
    """The log's text of each thread, and the questions with the threads that they need."""
    (questions,) = folder.glob("qa-*/questions.yaml")
    (days,) = folder.glob("memories-*")
    text = (folder / "persona.yaml").read_text("utf-8")
    epoch = date.fromisoformat(yaml.load(text, yaml.CSafeLoader)["epoch"])
    entries: dict[str, dict[str, None]] = {}
    found: list[ExpectedRecall] = []
    for item in yaml.load(questions.read_text("utf-8"), yaml.CSafeLoader):
        derived = item["derive"]
        if "thread" in derived:
            expected = [f"memory/{derived['thread']}.md"]
            for cited in item["evidence"]:
                day = (days / f"day-{cited['day']:04}.md").read_text("utf-8")
                on = epoch + timedelta(days=cited["day"] - 1)
                entries.setdefault(expected[0], {})[f"{on}\n{_find_entry(day, cited['start'])}"] = (
                    None
                )
        else:
            pairs = derived.get("events") or derived.get("of") or ()
            expected = [f"memory/{thread}.md" for thread, *_ in pairs]
        found.append((item["question"], frozenset(expected)))
    memories = {name: "\n\n".join(sorted(texts)) for name, texts in entries.items()}
    return memories, [each for each in found if each[1] and each[1] <= memories.keys()]


def _find_entry(day: str, place: int) -> str:
    """The section of a day, with its heading, that holds the character at this place."""
    start = max(0, day.rfind("### ", 0, place + 1))
    end = day.find("\n#", place)
    return day[start : None if end < 0 else end].strip()


def build_chat_folders(path: Path) -> Iterator[MemoryFolder]:
    """A folder for each chat, a memory for each session; foreign questions from another chat."""
    chats = [_read_chat(raw) for raw in json.loads(path.read_text("utf-8"))]
    for number, (memories, questions) in enumerate(chats):
        _, others = chats[(number + 3) % len(chats)]
        yield MemoryFolder(
            kind=CHATS,
            memories=tuple(_build_memory(name, memories[name]) for name in sorted(memories)),
            questions=tuple(questions),
            foreign=tuple(question for question, _ in others[::8]),
        )


def _read_chat(raw: dict[str, Any]) -> tuple[dict[str, str], list[ExpectedRecall]]:
    """The text of each session, and the questions with the sessions that they cite."""
    memories = {
        f"memory/session-{key[8:]}.md": "\n".join(
            f"{turn['speaker']}: {turn['text']} {turn.get('blip_caption', '')}" for turn in turns
        )
        for key, turns in raw["conversation"].items()
        if re.fullmatch(r"session_\d+", key)
    }
    questions = [
        (
            item["question"],
            frozenset(
                f"memory/session-{number}.md"
                for cited in item["evidence"]
                for number in re.findall(r"D(\d+):", cited)
            ),
        )
        for item in raw["qa"]
        if item["category"] != 5
    ]
    return memories, [each for each in questions if each[1] and each[1] <= memories.keys()]


def _build_memory(name: str, text: str) -> MemoryFile:
    return MemoryFile(name=name, text=text, body=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptScores:
    """A prompt of a folder, and how well each memory fits it."""

    kind: str
    names: tuple[str, ...]
    expected: frozenset[str]
    fits: NDArray[np.float32]

    def compare(self, cut_off: CutOff) -> SelectionComparison:
        """Compare what the cut-off picks with what is expected."""
        chosen = [self.names[place] for place in pick_best(self.fits, cut_off, K)]
        return compare_selection(self.expected, chosen)


def score_prompts(folders: Sequence[MemoryFolder], weight: float) -> list[list[PromptScores]]:
    """The scores of every prompt, by folder."""
    settings = RetrievalSettings(
        formula=Bm25() if weight else None, weight=weight, k=K, cut_off=CutOff(0, 0)
    )
    found = []
    for number, folder in enumerate(folders):
        index = MemoryIndex(folder.memories, settings)
        found.append(
            [
                PromptScores(
                    kind=folder.kind,
                    names=index.names,
                    expected=expected,
                    fits=index.score_prompt(prompt),
                )
                for prompt, expected in folder.build_prompts(number)
            ]
        )
    return found


def compute_f1(prompts: Sequence[PromptScores], cut_off: CutOff) -> float:
    """Mean F1; equal weight for both kinds of folders, a fifth of it for empty expectations."""
    means = []
    for kind in (NOTES, CHATS):
        for is_recall, share in ((True, 1 - NO_RECALL_SHARE), (False, NO_RECALL_SHARE)):
            these = [
                each for each in prompts if each.kind == kind and bool(each.expected) == is_recall
            ]
            means.append(share * float(np.mean([each.compare(cut_off).f1 for each in these])))
    return sum(means) / 2


def describe_outcomes(prompts: Sequence[PromptScores], cut_off: CutOff) -> Iterator[str]:
    """A line for each kind of folder with the figures that a suite reports."""
    for kind in (NOTES, CHATS):
        classed = [(each, each.compare(cut_off)) for each in prompts if each.kind == kind]
        recall = [found for each, found in classed if each.expected]
        empty = [found for each, found in classed if not each.expected]
        shares = ", ".join(
            f"{outcome.lower()} {np.mean([found.outcome is outcome for found in recall]):.3f}"
            for outcome in (
                SelectionOutcome.PERFECT,
                SelectionOutcome.OVERRECALL,
                SelectionOutcome.UNDERRECALL,
            )
        )
        wrongly = np.mean([bool(found.extra) for found in empty])
        f1 = np.mean([found.f1 for found in recall])
        yield f"    {kind}: F1 {f1:.3f}, {shares}; recalled where nothing is expected {wrongly:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("chats", type=Path)
    given = parser.parse_args()

    folders = [*build_note_folders(), *build_chat_folders(given.chats)]
    weights = {"bm25": 1.0, "vector": 0.0, "hybrid": HybridSelectorOptions().weight}
    for selector, weight in weights.items():
        prompts = score_prompts(folders, weight)
        fitted = [each for folder in prompts[::2] for each in folder]
        held_out = [each for folder in prompts[1::2] for each in folder]
        print(f"{selector}: {len(fitted)} prompts to fit, {len(held_out)} held out", flush=True)
        grid = [CutOff(threshold, ratio) for threshold in THRESHOLDS for ratio in RATIOS]
        chosen = max(grid, key=lambda cut_off: compute_f1(fitted, cut_off))
        in_use = CUT_OFF[selector]
        for name, cut_off in (
            ("chosen", chosen),
            ("in use", in_use),
            ("always the best one", CutOff(0, 1)),
        ):
            print(
                f"  {name}: threshold {cut_off.threshold:.2f}, ratio {cut_off.ratio:.2f}: "
                f"{compute_f1(fitted, cut_off):.3f}, held out {compute_f1(held_out, cut_off):.3f}"
            )
            print("\n".join(describe_outcomes(held_out, cut_off)), flush=True)


if __name__ == "__main__":
    main()
