"""What the judge's encoder is trained on, as pieces of text and rows of markers and pieces.

    python tools/judge_model/prepare.py OUT --data ../shared/data/judge-training

Hand-written answers are read from `answers/`, and answers made from the questions of shipped
stories are added. Stories and questions of the test part are left out of everything but the test.
"""

import argparse
import csv
import gzip
import io
import json
import lzma
import random
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import recall_bench
from recall_bench.core.scenario import Episode, Expects, Item, Scenario
from recall_bench.judging.encoder.history_sentences import HistorySentences
from recall_bench.judging.encoder.judge_input import (
    JudgeInput,
    TruthText,
    compose_input,
    find_nearest,
    split_claims,
)
from recall_bench.text.encoder.encoder import Marker
from recall_bench.text.text import normalise
from recall_bench.text.values import find_values, locate_values

ROOT = Path(__file__).resolve().parents[2]
STORIES = {
    "written-180": "arcs-180d.yaml",
    "1000": "arcs-1000d.yaml",
    "sample": "arcs-30d.yaml",
    "60": "arcs-60d.yaml",
}
HELD_OUT_STORIES = {("litigation-attorney", "written-180"), ("financial-advisor", "1000")}
PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
LABELS = ("c1", "c2", "c3", "m1", "m2", "grounded", "reads")
"""Correctness of at least 1, 2, 3; completeness of at least 1, 2; grounded; answers the question."""


class Row(NamedTuple):
    """One input with its labels; -1 for a label that is not known."""

    source: str
    key: str
    input: JudgeInput
    labels: tuple[int, ...]


class Story(NamedTuple):
    """A scenario with its sentences."""

    scenario: Scenario
    history: HistorySentences
    items: dict[str, Item]


_stories: dict[tuple[str, str], Story] = {}


def load(persona: str, edition: str) -> Story:
    """A shipped story, indexed."""
    if (persona, edition) not in _stories:
        # The stories as they were when the answers were marked.
        shipped = 1 if edition == "sample" else 2
        scenario = recall_bench.load_story(persona, arcs=STORIES[edition], edition=shipped)
        _stories[persona, edition] = Story(
            scenario,
            HistorySentences(scenario.episodes),
            {item.id: item for item in scenario.items},
        )
    return _stories[persona, edition]


def read_answers(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of answers."""
    with lzma.open(ROOT / "answers" / f"{name}.jsonl.xz", "rt") as file:
        yield from map(json.loads, file)


def label_marks(gold: dict[str, int]) -> tuple[int, ...]:
    """The labels of an answer with marks."""
    c, m = gold["correctness"], gold["completeness"]
    return (*(int(c >= k) for k in (1, 2, 3)), *(int(m >= k) for k in (1, 2)), gold["grounded"], -1)


def make_truth(row: dict[str, Any]) -> TruthText:
    """The truth of a marked answer."""
    return TruthText(
        row["question"],
        (row["reference"],),
        Expects(row.get("expects", "answer")),
        tuple(row.get("stale", ())),
        tuple(row.get("withheld", ())),
        tuple(row.get("evidence", ())),
    )


def compose_marked(name: str) -> Iterator[Row]:
    """Marked answers, each with its own context, and with the history of its story as in a run."""
    for number, row in enumerate(read_answers(name)):
        split = row["split"] if row["split"] != "left out" else "unused"
        if name == "locomo" and split != "test":
            split = "locomo"  # Its licence keeps it out of the training of what others may sell.
        key = f"{name}:{number}"
        truth, labels = make_truth(row), label_marks(row["gold"])
        context = [normalise(text) for text in row.get("context", ())]
        if row.get("context"):
            alone = HistorySentences(
                [
                    Episode(id=str(n), day=n, at=_NO_TIME, text=text)
                    for n, text in enumerate((*row["context"], *row["evidence"]), 1)
                ]
            )
            yield Row(
                f"{split}/row", key, compose_input(truth, row["answer"], context, alone, 99), labels
            )
        else:
            yield Row(f"{split}/row", key, compose_input(truth, row["answer"], context), labels)
        if split == "train" and number % 3 == 0:
            bare = truth._replace(evidence=(), stale=(), withheld=())
            yield Row("train/bare", key, compose_input(bare, row["answer"], []), labels)
        if row["edition"] in STORIES:
            story = load(row["persona"], row["edition"])
            until = row.get("days") or max(e.day for e in story.scenario.episodes)
            evidence = [normalise(text) for text in row["evidence"]]
            near = find_nearest(
                split_claims(normalise(row["answer"])), story.history, until, evidence
            )
            composed = compose_input(truth, row["answer"], near, story.history, until)
            yield Row(f"{split}/run", key, composed, labels)


_NO_TIME = __import__("datetime").datetime(1900, 1, 1)


def list_test_questions() -> set[tuple[str, str, str]]:
    """Questions of the test part: nothing is made from them."""
    return {
        (row["persona"], row["edition"], row["question_id"])
        for name in ("test", "tune")
        for row in read_answers(name)
    }


def get_evidence_texts(item: Item, scenario: Scenario) -> list[str]:
    """The sentences that an item cites."""
    texts = {episode.day: episode.text for episode in scenario.episodes}
    return [
        texts[cited.day][cited.start : cited.end].strip()
        for cited in item.truth.evidence
        if cited.start is not None
    ]


REFUSALS = (
    "I have no record of that.",
    "There is nothing about this in the log.",
    "I don't know.",
    "Nothing I have says.",
    "I can't find anything on that.",
    "Not recorded, as far as I can see.",
    "The notes do not say.",
    "I am not able to answer that.",
)
FRAMES = (
    "{}",
    "{}",
    "{}",
    "It was {}.",
    "That would be {}.",
    "According to my notes: {}",
    "{} as far as the log says.",
    "Short answer: {}",
    "**{}**",
    "- {}",
)


def change_value(text: str, rng: random.Random) -> str | None:
    """The text with one number changed; None if it has none."""
    places = list(re.finditer(r"\d+", text))
    if not places:
        return None
    place = rng.choice(places)
    number = int(place[0])
    new = max(0, number + rng.choice((-3, -2, -1, 1, 2, 3, 5, 10, max(1, number // 10))))
    if new == number or (place[0].startswith("0") and len(place[0]) > 1 and new > 59):
        return None
    return f"{text[: place.start()]}{str(new).zfill(len(place[0]))}{text[place.end() :]}"


def make_answers(rng: random.Random, held: set[tuple[str, str, str]]) -> Iterator[Row]:
    """Answers whose marks follow from the ledger of a story."""
    for persona in PERSONAS:
        for edition in ("written-180", "1000"):
            if (persona, edition) in HELD_OUT_STORIES:
                continue
            story = load(persona, edition)
            last = max(e.day for e in story.scenario.episodes)
            others = [i for i in story.items.values() if i.truth.is_answerable]
            elsewhere = load(
                rng.choice(
                    [p for p in PERSONAS if p != persona and (p, "1000") not in HELD_OUT_STORIES]
                ),
                "1000",
            )
            strangers = [
                s.text for s in elsewhere.history.sentences if 6 < len(s.text.split()) < 22
            ]
            own = [s for s in story.history.sentences if 5 < len(s.text.split()) < 22]
            for item in story.items.values():
                if (persona, edition, item.id) in held:
                    continue
                truth = item.truth
                evidence = get_evidence_texts(item, story.scenario)
                until = int(min(item.known_until or last, last))
                text = TruthText(
                    item.text,
                    (truth.reference, *truth.aliases[:1]),
                    truth.expects,
                    truth.stale,
                    truth.withheld,
                    tuple(evidence),
                )
                answers: list[tuple[str, tuple[int, int, int]]] = []
                right = truth.reference
                if truth.atoms and rng.random() < 0.5:
                    right = ", ".join(truth.atoms)
                framed = rng.choice(FRAMES).format(right)
                answers.append((framed, (3, 2, 1)))
                answers.append((f"{truth.reference} {rng.choice(strangers)}", (3, 2, 0)))
                near = [own[rng.randrange(len(own))].text]
                answers.append((f"{truth.reference} {near[0]}", (3, 2, 1)))
                changed = change_value(truth.reference, rng)
                if changed and truth.is_answerable:
                    value = [
                        a
                        for a in find_values(normalise(changed))
                        if not any(a.matches(b) for b in find_values(normalise(truth.reference)))
                    ]
                    if value:
                        real = all(story.history.holds_value(v, until) for v in value)
                        answers.append(
                            (rng.choice(FRAMES).format(changed), (0, 0, -1 if real else 0))
                        )
                for wrong in (
                    *truth.stale[:1],
                    *rng.sample(truth.distractors, min(1, len(truth.distractors))),
                ):
                    if truth.atoms and len(truth.atoms) == 1 and truth.atoms[0] in truth.reference:
                        said = truth.reference.replace(truth.atoms[0], wrong)
                        known = wrong in truth.stale
                        answers.append((said, (0, 0, 1 if known else -1)))
                if truth.is_answerable:
                    answers.append((rng.choice(REFUSALS), (0, 0, 1)))
                    other = rng.choice(others)
                    if (
                        other.truth.category == truth.category
                        and other.truth.reference != truth.reference
                    ):
                        answers.append((other.truth.reference, (0, 0, -1)))
                elif truth.expects is Expects.ABSTAIN and re.match(
                    r"(?i)(?!no\b|yes\b)", truth.reference
                ):
                    answers.append((rng.choice(REFUSALS), (3, 2, 1)))
                for number, (said, (c, m, g)) in enumerate(answers):
                    if rng.random() < 0.35:
                        continue
                    near = find_nearest(
                        split_claims(normalise(said)),
                        story.history,
                        until,
                        map(normalise, evidence),
                    )
                    composed = compose_input(text, said, near, story.history, until)
                    labels = (
                        *(int(c >= k) for k in (1, 2, 3)),
                        *(int(m >= k) for k in (1, 2)),
                        g,
                        -1,
                    )
                    yield Row("made", f"{persona}:{edition}:{item.id}:{number}", composed, labels)


OPPOSITES = dict(
    pair
    for one, other in (
        ("before", "after"),
        ("more", "less"),
        ("first", "last"),
        ("earlier", "later"),
        ("up", "down"),
        ("raised", "lowered"),
        ("accepted", "refused"),
        ("rose", "fell"),
        ("opened", "closed"),
        ("with", "without"),
        ("above", "below"),
        ("won", "lost"),
        ("agreed", "refused"),
        ("least", "most"),
        ("morning", "afternoon"),
        ("old", "new"),
        ("longer", "shorter"),
        ("higher", "lower"),
        ("always", "never"),
        ("bought", "sold"),
        ("from", "to"),
        ("early", "late"),
        ("keeps", "drops"),
        ("started", "stopped"),
        ("for", "against"),
        ("all", "none"),
        ("yes", "no"),
        ("only", "also"),
    )
    for pair in ((one, other), (other, one))
)
_NAME = re.compile(r"(?<![.!?\w]\s)(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")
_NEGATION = re.compile(
    r"\b(is|was|are|were|will|has|had|can|does|did|should|would)( not)?\b(?!n't)"
)
_JOINED = re.compile(r"\W*(?:and|or|,|with)?\W*")


def falsify(sentence: str, shown: str, rng: random.Random) -> str | None:
    """The sentence with one relation in it turned; None if nothing in it can be turned."""
    ways = [_swap_names, _swap_values, _replace_name, _replace_value, _turn_negation, _turn_word]
    rng.shuffle(ways)
    for way in ways:
        changed = way(sentence, shown, rng)
        if changed is not None and changed != sentence:
            return changed
    return None


def _swap(text: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    (a, b), (c, d) = sorted((one, other))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _swap_names(text: str, shown: str, rng: random.Random) -> str | None:
    spans = [m.span() for m in _NAME.finditer(text)]
    pairs = [
        (one, other)
        for one, other in zip(spans, spans[1:], strict=False)
        if text[slice(*one)] != text[slice(*other)]
        and not _JOINED.fullmatch(text[one[1] : other[0]])
    ]
    return _swap(text, *rng.choice(pairs)) if pairs else None


def _swap_values(text: str, shown: str, rng: random.Random) -> str | None:
    values = [(a, s, e) for a, s, e in locate_values(text)]
    pairs = [
        ((s, e), (t, f))
        for (a, s, e), (b, t, f) in zip(values, values[1:], strict=False)
        if a.kind == b.kind and not a.matches(b) and not _JOINED.fullmatch(text[e:t])
    ]
    return _swap(text, *rng.choice(pairs)) if pairs else None


def _replace_name(text: str, shown: str, rng: random.Random) -> str | None:
    spans = [m.span() for m in _NAME.finditer(text)]
    others = sorted({m[0] for m in _NAME.finditer(shown)} - {text[a:b] for a, b in spans})
    if not spans or not others:
        return None
    a, b = rng.choice(spans)
    other = rng.choice(others)
    if set(other.split()) & set(text[a:b].split()):
        return None
    return text[:a] + other + text[b:]


def _replace_value(text: str, shown: str, rng: random.Random) -> str | None:
    values = list(locate_values(text))
    if not values:
        return None
    atom, start, end = rng.choice(values)
    rivals = [shown[s:e] for a, s, e in locate_values(shown) if a.is_rival_of(atom)]
    return text[:start] + rng.choice(rivals) + text[end:] if rivals else None


def _turn_negation(text: str, shown: str, rng: random.Random) -> str | None:
    places = list(_NEGATION.finditer(text))
    if not places or rng.random() < 0.5:
        return None
    place = rng.choice(places)
    said = place[1] if place[2] else f"{place[1]} not"
    return text[: place.start()] + said + text[place.end() :]


def _turn_word(text: str, shown: str, rng: random.Random) -> str | None:
    places = [m for m in re.finditer(r"\b[a-z]+\b", text) if m[0] in OPPOSITES]
    if not places:
        return None
    place = rng.choice(places)
    return text[: place.start()] + OPPOSITES[place[0]] + text[place.end() :]


def make_pairs(rng: random.Random, held: set[tuple[str, str, str]]) -> Iterator[Row]:
    """Sentences of the evidence, as they stand and with one relation turned."""
    for persona in PERSONAS:
        for edition in ("written-180", "1000"):
            if (persona, edition) in HELD_OUT_STORIES:
                continue
            story = load(persona, edition)
            last = max(e.day for e in story.scenario.episodes)
            for item in story.items.values():
                if (persona, edition, item.id) in held or not item.truth.is_answerable:
                    continue
                truth = item.truth
                evidence = [normalise(t) for t in get_evidence_texts(item, story.scenario)][:6]
                if not evidence:
                    continue
                until = int(min(item.known_until or last, last))
                text = TruthText(
                    item.text,
                    (truth.reference,),
                    truth.expects,
                    truth.stale,
                    truth.withheld,
                    tuple(evidence),
                )
                sentence = rng.choice(evidence)
                around = [
                    story.history.sentences[n].text
                    for n in story.history.find_nearest(sentence, until, 6)
                ]
                wrong = falsify(sentence, " ".join(evidence + around), rng)
                said: list[tuple[str, tuple[int, int, int]]] = []
                reference = normalise(truth.reference)
                if wrong is not None:
                    said.append(
                        (wrong, (-1, -1, 0))
                        if rng.random() < 0.6
                        else (f"{reference} {wrong}", (3, 2, 0))
                    )
                    said.append(
                        (sentence, (-1, -1, 1))
                        if rng.random() < 0.6
                        else (f"{reference} {sentence}", (3, 2, 1))
                    )
                turned = falsify(reference, " ".join((item.text, reference, *around)), rng)
                if turned is not None and truth.atoms:
                    said.append((turned, (0, 0, -1)))
                for number, (answer, (c, m, g)) in enumerate(said):
                    near = find_nearest(split_claims(answer), story.history, until, evidence)
                    composed = compose_input(text, answer, near, story.history, until)
                    marks = (
                        (-1,) * 5
                        if c < 0
                        else (*(int(c >= k) for k in (1, 2, 3)), *(int(m >= k) for k in (1, 2)))
                    )
                    yield Row(
                        "pairs",
                        f"{persona}:{edition}:{item.id}:{number}",
                        composed,
                        (*marks, g, -1),
                    )


def make_reader_rows(rng: random.Random, held: set[tuple[str, str, str]]) -> Iterator[Row]:
    """Questions with a sentence that is evidence, or is near and is not."""
    for persona in PERSONAS:
        for edition in ("written-180", "1000"):
            if (persona, edition) in HELD_OUT_STORIES:
                continue
            story = load(persona, edition)
            last = max(e.day for e in story.scenario.episodes)
            for item in story.items.values():
                if (persona, edition, item.id) in held:
                    continue
                evidence = [normalise(text) for text in get_evidence_texts(item, story.scenario)]
                until = int(min(item.known_until or last, last))
                near = [
                    story.history.sentences[place].text
                    for place in story.history.find_nearest(normalise(item.text), until, 12)
                ]
                wrong = [text for text in near if not any(text in e or e in text for e in evidence)]
                if not evidence and item.truth.expects is not Expects.ABSTAIN:
                    continue
                pairs = [(text, 1) for text in evidence[:3]] + [(text, 0) for text in wrong[:4]]
                if wrong[4:]:
                    pairs.append((rng.choice(wrong[4:]), 0))
                for number, (text, label) in enumerate(pairs):
                    composed = JudgeInput(
                        (Marker.READER, normalise(item.text)), (Marker.CLAIM, text)
                    )
                    yield Row(
                        "reader",
                        f"{persona}:{edition}:{item.id}:{number}",
                        composed,
                        (-1,) * 6 + (label,),
                    )


def read_evouna(data: Path) -> Iterator[Row]:
    """Answers of five models to open questions, judged by people."""
    for name in ("evouna-nq", "evouna-tq"):
        for number, row in enumerate(json.loads(gzip.open(data / f"{name}.json.gz").read())):
            if row.get("improper"):
                continue
            source = "evouna-test" if number % 10 == 0 else "evouna"
            references = (
                tuple(row["golden_answer"].split("/")[:3])
                if isinstance(row["golden_answer"], str)
                else tuple(row["golden_answer"][:3])
            )
            for system in ("fid", "gpt35", "chatgpt", "gpt4", "newbing"):
                answer, judged = row.get(f"answer_{system}"), row.get(f"judge_{system}")
                if not answer or judged is None:
                    continue
                composed = compose_input(TruthText(row["question"], references), answer[:500], [])
                yield Row(
                    source,
                    f"{name}:{number}:{system}",
                    composed,
                    (-1, int(judged), -1, -1, -1, -1, -1),
                )


NLI_FILES = (
    "mnli-dev",
    "mpe-train",
    "qnli-dev",
    "rte-train",
    "scitail-dev",
    "sick-train",
    "snli-dev",
)


def read_nli(data: Path) -> Iterator[Row]:
    """Pairs of a premise and a claim: grounded if the one entails the other."""

    def yield_pair(source: str, key: str, premise: str, claim: str, label: str) -> Iterator[Row]:
        truth = TruthText("", (), evidence=(premise[:700],))
        yield Row(
            source,
            key,
            compose_input(truth, claim, []),
            (-1,) * 5 + (int(label == "entailment"), -1),
        )

    for name in NLI_FILES:
        with gzip.open(data / f"nli-{name}.csv.gz", "rt", errors="replace") as file:
            for number, row in enumerate(csv.DictReader(file)):
                if row["label"] and not (name == "qnli-dev"):
                    premise = re.sub(r"\d+jpg\d", "", row["premise"])
                    yield from yield_pair(
                        "nli", f"{name}:{number}", premise, row["hypothesis"], row["label"]
                    )
    for name, keys in (
        ("conjnli-train", ("Premise", "Hypothesis", "Label")),
        ("counterfactual-nli-train", ("sentence1", "sentence2", "gold_label")),
    ):
        content = gzip.open(
            data / f"{name}.tsv.gz", "rt", encoding="utf-8-sig", errors="replace"
        ).read()
        for number, row in enumerate(
            csv.DictReader(io.StringIO(content), delimiter="\t", quoting=csv.QUOTE_NONE)
        ):
            premise, claim, label = (row.get(key) for key in keys)
            if premise and claim and label:
                yield from yield_pair("nli", f"{name}:{number}", premise, claim, label)


def read_summedits(data: Path) -> Iterator[Row]:
    """Summaries with a changed fact or without, and the nearest of the document for each claim."""
    for path in sorted(data.glob("summedits-*.json.gz")):
        rows = json.loads(gzip.open(path).read())
        documents: dict[str, HistorySentences] = {}
        order = {text: n for n, text in enumerate(dict.fromkeys(row["doc"] for row in rows))}
        for number, row in enumerate(rows):
            document = row["doc"]
            if document not in documents:
                documents[document] = HistorySentences(
                    [Episode(id="1", day=1, at=_NO_TIME, text=document)]
                )
            near = find_nearest(split_claims(normalise(row["summary"])), documents[document], 1, ())
            source = "summedits-test" if order[document] % 6 == 0 else "summedits"
            composed = compose_input(
                TruthText("", ()), row["summary"], near, documents[document], 1
            )
            yield Row(
                source, f"{path.name}:{number}", composed, (-1,) * 5 + (int(row["label"]), -1)
            )


def read_judged(path: Path) -> Iterator[Row]:
    """Verdicts of published runs, without their history: only to measure on."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        c, m = row["correctness"], row["completeness"]
        labels = (
            *(int(c >= k) for k in (1, 2, 3)),
            *(int(m >= k) for k in (1, 2)),
            int(row["hallucination"]),
            -1,
        )
        source = (
            "dev-test"
            if int(sha256(row["question_id"].encode()).hexdigest(), 16) % 4 == 0
            else "dev"
        )
        yield Row(
            source,
            str(number),
            compose_input(
                TruthText(row["question"], (row["reference"],)), row["answer"][:1500], []
            ),
            labels,
        )


def main() -> None:
    """Write the pieces and the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judged", type=Path)
    options = parser.parse_args()
    rng = random.Random(2026)
    held = list_test_questions()
    rows: list[Row] = []
    for name in ("train", "tune", "test", "start", "locomo"):
        rows += compose_marked(name)
        print(name, len(rows), flush=True)
    for make in (
        lambda: make_answers(rng, held),
        lambda: make_pairs(rng, held),
        lambda: make_reader_rows(rng, held),
        lambda: read_evouna(options.data),
        lambda: read_nli(options.data),
        lambda: read_summedits(options.data),
        lambda: read_judged(options.judged) if options.judged else iter(()),
    ):
        rows += make()
        print(rows[-1].source, len(rows), flush=True)
    write(rows, options.out)


def write(rows: list[Row], out: Path) -> None:
    """Pieces as JSON, rows as flat numbers: pieces from 0, markers below."""
    pieces: dict[str, int] = {}
    flat: list[int] = []
    bounds: list[tuple[int, int]] = []
    for row in rows:
        for part in row.input:
            for piece in part:
                flat.append(
                    -int(piece)
                    if isinstance(piece, Marker)
                    else pieces.setdefault(piece, len(pieces))
                )
            bounds.append((len(flat), 0))
    ends = np.array([end for end, _ in bounds], dtype=np.int32).reshape(-1, 2)
    sources = sorted({row.source for row in rows})
    out.mkdir(parents=True, exist_ok=True)
    with lzma.open(out / "pieces.json.xz", "wt", preset=6) as file:
        json.dump(list(pieces), file, ensure_ascii=False)
    with lzma.open(out / "keys.json.xz", "wt") as file:
        json.dump([row.key for row in rows], file)
    np.savez_compressed(
        out / "rows.npz",
        flat=np.array(flat, dtype=np.int32),
        ends=ends,
        labels=np.array([row.labels for row in rows], dtype=np.int8),
        source=np.array([sources.index(row.source) for row in rows], dtype=np.int16),
        sources=np.array(sources),
    )
    print(len(rows), "rows,", len(pieces), "pieces")


if __name__ == "__main__":
    main()
