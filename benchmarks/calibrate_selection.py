"""Where the built-in selectors should stop picking.

    python benchmarks/calibrate_selection.py locomo10.json

Two kinds of folders. In one a memory is what a shipped persona's log says of one matter, sixty
matters a folder, and the questions about them are the prompts; in the other a memory is a session
of a LoCoMo chat. A prompt is one, two or three of the questions, every other time with a sentence
before or after them that asks nothing, and expects the memories of all of them. Prompts that
should recall nothing are questions about other matters or chats, and small talk.

Threshold and ratio are those with the best mean F1 over every other folder, where both kinds of
folders count the same and prompts that recall nothing count a fifth, as in a usual suite. The
other folders confirm them. Shipped personas are played first if the cache does not hold them.
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

from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.generate.shipped_personas import load_catalogue, materialise
from recall_bench.generate.worlds import list_shipped_personas
from recall_bench.metrics.selection import SelectionComparison, SelectionOutcome, compare_selection
from recall_bench.systems.builtin.word_index import Bm25
from recall_bench.systems.selectors.retrieval_selector import (
    CUT_OFF,
    CutOff,
    HybridSelectorOptions,
    MemoryIndex,
    RetrievalSettings,
    pick_best,
)

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

Asked = tuple[str, frozenset[str]]
"""A question, and the memories that tell its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Memories, what is asked of them, and what they should say nothing to."""

    kind: str
    memories: tuple[MemoryFile, ...]
    asked: tuple[Asked, ...]
    foreign: tuple[str, ...]

    def tests(self, number: int) -> list[Asked]:
        """Its prompts, the same for the same number."""
        chance = random.Random(number)
        left = list(self.asked)
        chance.shuffle(left)
        tests: list[Asked] = []
        while left:
            count = chance.choice(ASKED_TOGETHER)
            together, left = left[:count], left[count:]
            sentences = [question for question, _ in together]
            if chance.random() < 0.5:
                sentences.insert(chance.choice((0, len(sentences))), chance.choice(ASIDES))
            expected = frozenset[str]().union(*(names for _, names in together))
            tests.append((" ".join(sentences), expected))
        idle = [" ".join(chance.sample(ASIDES, 2)) for _ in range(8)]
        return tests + [(text, frozenset()) for text in (*self.foreign, *SMALL_TALK, *idle)]


def notes() -> Iterator[Folder]:
    """Each shipped persona's log, matter by matter."""
    for persona in list_shipped_personas():
        memories, asked = _matters(materialise(persona, max(load_catalogue()[persona])))
        names = sorted(memories)
        random.Random(1).shuffle(names)
        for start in range(0, len(names) - FOLDER_SIZE + 1, FOLDER_SIZE):
            here = frozenset(names[start : start + FOLDER_SIZE])
            elsewhere = [question for question, told in asked if not told & here]
            yield Folder(
                kind=NOTES,
                memories=tuple(_memory(name, memories[name]) for name in sorted(here)),
                asked=tuple((question, told) for question, told in asked if told <= here),
                foreign=tuple(elsewhere[::37]),
            )


def _matters(folder: Path) -> tuple[dict[str, str], list[Asked]]:
    (questions,) = folder.glob("qa-*/questions.yaml")
    (days,) = folder.glob("memories-*")
    text = (folder / "persona.yaml").read_text("utf-8")
    epoch = date.fromisoformat(yaml.load(text, yaml.CSafeLoader)["epoch"])
    entries: dict[str, dict[str, None]] = {}
    asked: list[Asked] = []
    for item in yaml.load(questions.read_text("utf-8"), yaml.CSafeLoader):
        derived = item["derive"]
        if "thread" in derived:
            told = [f"memory/{derived['thread']}.md"]
            for cited in item["evidence"]:
                day = (days / f"day-{cited['day']:04}.md").read_text("utf-8")
                on = epoch + timedelta(days=cited["day"] - 1)
                entries.setdefault(told[0], {})[f"{on}\n{_entry(day, cited['start'])}"] = None
        else:
            pairs = derived.get("events") or derived.get("of") or ()
            told = [f"memory/{thread}.md" for thread, *_ in pairs]
        asked.append((item["question"], frozenset(told)))
    memories = {name: "\n\n".join(sorted(found)) for name, found in entries.items()}
    return memories, [(text, told) for text, told in asked if told and told <= memories.keys()]


def _entry(day: str, place: int) -> str:
    """What stands under the same heading as the character at that place."""
    start = max(0, day.rfind("### ", 0, place + 1))
    end = day.find("\n#", place)
    return day[start : None if end < 0 else end].strip()


def chats(path: Path) -> Iterator[Folder]:
    """Each chat, session by session, and the next one but two to say nothing to."""
    read = [_chat(raw) for raw in json.loads(path.read_text("utf-8"))]
    for number, (memories, asked) in enumerate(read):
        _, others = read[(number + 3) % len(read)]
        yield Folder(
            kind=CHATS,
            memories=tuple(_memory(name, memories[name]) for name in sorted(memories)),
            asked=tuple(asked),
            foreign=tuple(question for question, _ in others[::8]),
        )


def _chat(raw: dict[str, Any]) -> tuple[dict[str, str], list[Asked]]:
    told = {
        f"memory/session-{key[8:]}.md": "\n".join(
            f"{turn['speaker']}: {turn['text']} {turn.get('blip_caption', '')}" for turn in turns
        )
        for key, turns in raw["conversation"].items()
        if re.fullmatch(r"session_\d+", key)
    }
    asked = [
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
    return told, [(text, names) for text, names in asked if names and names <= told.keys()]


def _memory(name: str, text: str) -> MemoryFile:
    return MemoryFile(name=name, text=text, body=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A prompt put to a folder, and how well each memory fits it."""

    kind: str
    names: tuple[str, ...]
    expected: frozenset[str]
    fits: NDArray[np.float32]

    def compared(self, cut_off: CutOff) -> SelectionComparison:
        chosen = [self.names[place] for place in pick_best(self.fits, cut_off, K)]
        return compare_selection(self.expected, chosen)


def put_to(folders: Sequence[Folder], weight: float) -> list[list[Put]]:
    """Every prompt of every folder."""
    means = RetrievalSettings(
        formula=Bm25() if weight else None, weight=weight, k=K, cut_off=CutOff(0, 0)
    )
    found = []
    for number, folder in enumerate(folders):
        index = MemoryIndex(folder.memories, means)
        found.append(
            [
                Put(
                    kind=folder.kind,
                    names=index.names,
                    expected=expected,
                    fits=index.score_prompt(prompt),
                )
                for prompt, expected in folder.tests(number)
            ]
        )
    return found


def worth(put: Sequence[Put], cut_off: CutOff) -> float:
    """Mean F1, both kinds of folders alike, prompts that recall nothing a fifth of each."""
    means = []
    for kind in (NOTES, CHATS):
        for is_recall, share in ((True, 1 - NO_RECALL_SHARE), (False, NO_RECALL_SHARE)):
            these = [each for each in put if each.kind == kind and bool(each.expected) == is_recall]
            means.append(share * float(np.mean([each.compared(cut_off).f1 for each in these])))
    return sum(means) / 2


def told(put: Sequence[Put], cut_off: CutOff) -> Iterator[str]:
    """What suites are judged by, for each kind of folder."""
    for kind in (NOTES, CHATS):
        classed = [(each, each.compared(cut_off)) for each in put if each.kind == kind]
        recall = [found for each, found in classed if each.expected]
        idle = [found for each, found in classed if not each.expected]
        shares = ", ".join(
            f"{outcome.lower()} {np.mean([found.outcome is outcome for found in recall]):.3f}"
            for outcome in (
                SelectionOutcome.PERFECT,
                SelectionOutcome.OVERRECALL,
                SelectionOutcome.UNDERRECALL,
            )
        )
        wrongly = np.mean([bool(found.extra) for found in idle])
        f1 = np.mean([found.f1 for found in recall])
        yield f"    {kind}: F1 {f1:.3f}, {shares}; recalled though nothing should be {wrongly:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("chats", type=Path)
    given = parser.parse_args()

    folders = [*notes(), *chats(given.chats)]
    weights = {"bm25": 1.0, "vector": 0.0, "hybrid": HybridSelectorOptions().weight}
    for selector, weight in weights.items():
        put = put_to(folders, weight)
        seen = [each for folder in put[::2] for each in folder]
        held_out = [each for folder in put[1::2] for each in folder]
        print(f"{selector}: {len(seen)} prompts choose, {len(held_out)} confirm", flush=True)
        grid = [CutOff(threshold, ratio) for threshold in THRESHOLDS for ratio in RATIOS]
        chosen = max(grid, key=lambda cut_off: worth(seen, cut_off))
        in_use = CUT_OFF[selector]
        for name, cut_off in (
            ("chosen", chosen),
            ("in use", in_use),
            ("always the best one", CutOff(0, 1)),
        ):
            print(
                f"  {name}: threshold {cut_off.threshold:.2f}, ratio {cut_off.ratio:.2f}: "
                f"{worth(seen, cut_off):.3f}, held out {worth(held_out, cut_off):.3f}"
            )
            print("\n".join(told(held_out, cut_off)), flush=True)


if __name__ == "__main__":
    main()
