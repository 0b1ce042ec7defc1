"""Train the judge's encoder: a teacher, then the student that ships. Needs one accelerator.

    python tools/judge_model/train.py FOLDER OUT --seconds 420

FOLDER holds what `prepare.py` and `pack.py` wrote. OUT gets the student's weights as 16-bit floats
and the logits of teacher and student on every row that has the right marks.
"""

import argparse
import json
import lzma
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

TASKS = ("c1", "c2", "c3", "m1", "m2", "grounded", "reads")
TASK_WEIGHTS = (0.5, 1.5, 0.5, 0.5, 0.5, 1.0, 1.0)
LENGTH, ANSWER_LENGTH = 256, 110
CLS, SEP = 101, 102
CLAIM = 9
START = time.monotonic()


def say(*words: object) -> None:
    """Print with the seconds since the start."""
    print(f"{time.monotonic() - START:6.1f}", *words, flush=True)


class Rows:
    """The rows as token ids."""

    def __init__(self, folder: Path, tokenizer_file: Path) -> None:
        from tokenizers import Tokenizer

        with lzma.open(folder / "pieces.json.xz", "rt") as file:
            pieces = json.load(file)
        tokenizer = Tokenizer.from_file(str(tokenizer_file))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        ids = [
            encoding.ids
            for encoding in tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
        ]
        packed = np.load(folder / "rows.npz")
        flat, ends = packed["flat"].tolist(), packed["ends"].tolist()
        self.labels = packed["labels"].astype(np.float32)
        self.sources = [str(packed["sources"][n]) for n in packed["source"]]
        self.ids: list[np.ndarray[Any, Any]] = []
        self.cuts: list[int] = []
        start = 0
        for truth_end, answer_end in ends:
            answer = join(flat[truth_end:answer_end], ids)[:ANSWER_LENGTH]
            truth = join(flat[start:truth_end], ids)[: LENGTH - 3 - len(answer)]
            self.ids.append(np.array([CLS, *truth, SEP, *answer, SEP], dtype=np.int32))
            self.cuts.append(len(truth) + 2)
            start = answer_end

    def select(self, *sources: str) -> np.ndarray[Any, Any]:
        """The numbers of the rows of some sources."""
        return np.array([n for n, name in enumerate(self.sources) if name in sources])


def join(elements: Sequence[int], ids: Sequence[list[int]]) -> list[int]:
    """The tokens of markers and pieces; marker k is token [unused k], whose id is k + 1."""
    tokens: list[int] = []
    for element in elements:
        if element < 0:
            tokens.append(1 - element)
        else:
            tokens += ids[element]
    return tokens


class Encoder(nn.Module):
    """An encoder with a head for each mark, and one that reads each claim by itself."""

    def __init__(self, body: nn.Module, width: int, shift: int) -> None:
        super().__init__()
        self.body, self.shift = body, shift
        self.dense = nn.Linear(width, width)
        self.marks = nn.Linear(width, len(TASKS))
        self.claim_dense = nn.Linear(width, width)
        self.claim = nn.Linear(width, 1)
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids, types, mask):  # type: ignore[no-untyped-def]
        """Logits of the marks, the logit of every token as a claim, and where claims are."""
        if self.shift:
            real = torch.where(mask.bool(), ids + self.shift, torch.ones_like(ids))
            real = torch.where(ids == CLS, torch.zeros_like(ids), real)
            real = torch.where(ids == SEP, torch.full_like(ids, 2), real)
            hidden = self.body(input_ids=real, attention_mask=mask).last_hidden_state
        else:
            hidden = self.body(
                input_ids=ids, token_type_ids=types, attention_mask=mask
            ).last_hidden_state
        first = functional.gelu(self.dense(self.dropout(hidden[:, 0])))
        marks = self.marks(self.dropout(first))
        places = (ids == CLAIM + 1) & (types == 1)
        claims = self.claim(functional.gelu(self.claim_dense(self.dropout(hidden)))).squeeze(-1)
        return marks.float(), claims.float(), places


def compute_support(claims, places):  # type: ignore[no-untyped-def]
    """The logarithm of the chance that every claim is supported."""
    return torch.where(places, functional.logsigmoid(claims), torch.zeros_like(claims)).sum(1)


def make_batches(
    rows: Rows, chosen: np.ndarray[Any, Any], tokens: int, rng: np.random.Generator | None
) -> list[np.ndarray[Any, Any]]:
    """Batches of rows of like length, in random order where there is a generator."""
    lengths = np.array([len(rows.ids[n]) for n in chosen])
    noise = rng.uniform(0, 24, len(chosen)) if rng is not None else 0
    order = chosen[np.argsort(lengths + noise, kind="stable")]
    batches = []
    start = 0
    while start < len(order):
        longest = len(rows.ids[order[start]]) + 24
        size = max(8, tokens // longest)
        batches.append(order[start : start + size])
        start += size
    if rng is not None:
        rng.shuffle(batches)  # type: ignore[arg-type]
    return batches


def collate(rows: Rows, batch: np.ndarray[Any, Any], device: str):  # type: ignore[no-untyped-def]
    """Ids, types and mask of a batch."""
    longest = (max(len(rows.ids[n]) for n in batch) + 7) // 8 * 8
    ids = np.zeros((len(batch), longest), dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for place, n in enumerate(batch):
        row = rows.ids[n]
        ids[place, : len(row)] = row
        types[place, rows.cuts[n] : len(row)] = 1
        mask[place, : len(row)] = 1
    return tuple(torch.from_numpy(a).to(device, non_blocking=True) for a in (ids, types, mask))


def compute_loss(marks, support, labels, soft):  # type: ignore[no-untyped-def]
    """Cross entropy over the labels that are known, half of it with the teacher where there is one."""
    known = (labels >= 0).float()
    weights = torch.tensor(TASK_WEIGHTS, device=marks.device)
    hard = labels.clamp(min=0)
    target = (
        hard
        if soft is None
        else torch.where(
            torch.isnan(soft[:, :7]), hard, 0.5 * hard + 0.5 * torch.sigmoid(soft[:, :7])
        )
    )
    loss = (
        functional.binary_cross_entropy_with_logits(marks, target, reduction="none")
        * known
        * weights
    ).sum(1)
    grounded = target[:, 5]
    support = support.clamp(max=-1e-4)
    claim_loss = -(grounded * support + (1 - grounded) * torch.log1p(-support.exp() + 1e-6))
    return (loss + known[:, 5] * claim_loss).mean()


def train(  # type: ignore[no-untyped-def]
    name, model, rows, plan, *, rate, device, soft=None, tokens=None, seconds=math.inf, seed=1
):
    """Train on a list of selections, one after another, with one rise and fall of the rate."""
    rng = np.random.default_rng(seed)
    tokens = tokens or (16384 if device == "cuda" else 1024)
    batches = [batch for chosen in plan for batch in make_batches(rows, chosen, tokens, rng)]
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, fused=device == "cuda")
    begin = time.monotonic()
    model.train()
    total = torch.zeros((), device=device)
    step = 0
    while step < len(batches):
        batch = batches[step]
        # The rate follows the share done, of steps or of the time that there is.
        share = max(step / len(batches), (time.monotonic() - begin) / seconds)
        if share >= 1:
            break
        factor = min(1.0, (step + 1) / 100) * max(0.02, 1 - share)
        for group in optimizer.param_groups:
            group["lr"] = rate * factor
        ids, types, mask = collate(rows, batch, device)
        labels = torch.from_numpy(rows.labels[batch]).to(device)
        target = None if soft is None else torch.from_numpy(soft[batch]).to(device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            marks, claims, places = model(ids, types, mask)
        loss = compute_loss(marks, compute_support(claims, places), labels, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.detach()
        step += 1
        if step % 500 == 0:
            say(name, f"{step}/{len(batches)}", f"loss {float(total) / 500:.4f}")
            total.zero_()
    say(name, "trained", f"{step}/{len(batches)} steps in {time.monotonic() - begin:.0f} s")


@torch.no_grad()
def predict(model, rows, chosen, device):  # type: ignore[no-untyped-def]
    """Seven logits and the log of support for every chosen row; others stay NaN."""
    model.eval()
    result = np.full((len(rows.ids), 8), np.nan, dtype=np.float32)
    for batch in make_batches(rows, chosen, 65536 if device == "cuda" else 4096, None):
        ids, types, mask = collate(rows, batch, device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            marks, claims, places = model(ids, types, mask)
        support = compute_support(claims, places)
        result[batch] = torch.cat([marks, support[:, None]], 1).cpu().numpy()
    return result


def measure_auc(scores, labels):  # type: ignore[no-untyped-def]
    """The chance that a right one scores above a wrong one."""
    keep = labels >= 0
    scores, labels = scores[keep], labels[keep]
    if not 0 < labels.sum() < len(labels):
        return float("nan")
    order = np.argsort(np.argsort(scores, kind="stable")) + 1.0
    for value in np.unique(scores):
        same = scores == value
        if same.sum() > 1:
            order[same] = order[same].mean()
    right = labels > 0
    return float(
        (order[right].sum() - right.sum() * (right.sum() + 1) / 2) / (right.sum() * (~right).sum())
    )


def report(name, rows, logits):  # type: ignore[no-untyped-def]
    """Print the areas under the curve on the parts that are measured."""
    for source in (
        "tune/row",
        "tune/run",
        "test/row",
        "test/run",
        "dev",
        "dev-test",
        "evouna-test",
        "summedits-test",
    ):
        chosen = rows.select(source)
        if len(chosen) and not np.isnan(logits[chosen[0], 0]):
            labels = rows.labels[chosen]
            claim = logits[chosen, 7]
            both = logits[chosen, 5] + np.log(
                np.exp(claim) / np.maximum(1e-4, 1 - np.exp(np.minimum(claim, -1e-4)))
            )
            say(
                name,
                source,
                len(chosen),
                f"correct {measure_auc(logits[chosen, 1], labels[:, 1]):.4f}",
                f"grounded {measure_auc(logits[chosen, 5], labels[:, 5]):.4f}",
                f"by claim {measure_auc(claim, labels[:, 5]):.4f} both {measure_auc(both, labels[:, 5]):.4f}",
            )


def load_packed(folder: Path, name: str) -> dict[str, torch.Tensor]:
    """The weights that `pack.py` wrote: rows of bytes with a scale each."""
    state = {}
    for part in sorted(folder.glob(f"{name}-*.npz")):
        with np.load(part) as packed:
            for key in packed.files:
                if key.endswith("|scale"):
                    continue
                array = packed[key]
                if array.dtype == np.int8:
                    array = (
                        array.astype(np.float32)
                        * packed[f"{key}|scale"].astype(np.float32)[:, None]
                    )
                state[key] = torch.from_numpy(array.astype(np.float32))
    return state


def build(name: str, folder: Path, layers: int | None = None) -> Encoder:
    """An encoder with its pretrained body."""
    state = load_packed(folder, name)
    vocabulary = int(state["embeddings.word_embeddings.weight"].shape[0])
    if name == "teacher":
        config = MPNetConfig(
            vocab_size=vocabulary, max_position_embeddings=514, layer_norm_eps=1e-5
        )
        body: nn.Module = MPNetModel(config, add_pooling_layer=False)
    else:
        config = BertConfig(
            vocab_size=vocabulary,
            hidden_size=384,
            num_hidden_layers=12,
            num_attention_heads=12,
            intermediate_size=1536,
            hidden_dropout_prob=0.05,
            attention_probs_dropout_prob=0.05,
        )
        body = BertModel(config, add_pooling_layer=False)
    missing = body.load_state_dict(state, strict=False)
    say(name, "missing", missing.missing_keys, "unexpected", missing.unexpected_keys[:3])
    if layers is not None:
        kept = [round((n + 1) * 12 / layers) - 1 for n in range(layers)]
        body.encoder.layer = nn.ModuleList(body.encoder.layer[n] for n in kept)  # type: ignore
        body.config.num_hidden_layers = layers  # type: ignore[union-attr]
    return Encoder(body, 768 if name == "teacher" else 384, 4 if name == "teacher" else 0)


def sample(chosen: np.ndarray[Any, Any], count: int, seed: int) -> np.ndarray[Any, Any]:
    """At most so many of the chosen."""
    return np.random.default_rng(seed).permutation(chosen)[:count]


def write_weights(model: nn.Module, out: Path, name: str, *, whole: bool) -> list[Path]:
    """The weights: 16-bit floats, or a byte each with a scale for each row; embeddings always so."""
    arrays: dict[str, Any] = {}
    for key, value in model.state_dict().items():
        if not value.is_floating_point():
            continue
        array = value.float().cpu().numpy()
        if array.ndim == 2 and array.shape[0] > 64 and (not whole or "word_embeddings" in key):
            scale = np.abs(array).max(1) / 127 + 1e-12
            arrays[key] = np.clip(np.round(array / scale[:, None]), -127, 127).astype(np.int8)
            arrays[f"{key}|scale"] = scale.astype(np.float32)
        else:
            arrays[key] = array.astype(np.float16)
    count = math.ceil(sum(value.nbytes for value in arrays.values()) / 16.2e6)
    files: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, value in sorted(arrays.items(), key=lambda pair: -pair[1].nbytes):
        min(files, key=lambda file: sum(v.nbytes for v in file.values()))[key] = value
    paths = [out / f"{name}-{number}.npz" for number in range(count)]
    for path, file in zip(paths, files, strict=True):
        np.savez(path, **file)
    return paths


def polish(options: Any, rows: Rows, hand: Any, base: Any, reader: Any, measured: Any) -> None:
    """Go on with the student, from its weights: two seeds, whose mean is what ships."""
    folder, out, device = options.folder, options.out, options.device
    model = build("student", folder, options.layers).to(device)
    if options.stage == "polish":
        load_weights(model, sorted(folder.glob(f"student{options.layers}-[0-9].npz")), device)
        pairs, dev = rows.select("pairs"), rows.select("dev")
        plan = [
            np.concatenate(
                [
                    hand,
                    dev,
                    dev,
                    sample(pairs, 14000, 10 * options.seed + n),
                    sample(base, 16000, 20 * options.seed + n),
                    sample(reader, 9000, 30 * options.seed + n),
                ]
            )
            for n in range(5)
        ]
        name = f"polish{options.seed}"
        torch.manual_seed(options.seed)
        train(
            name,
            model,
            rows,
            plan,
            rate=6e-5,
            device=device,
            seconds=options.seconds,
            seed=options.seed,
        )
        torch.save(model.state_dict(), out / f"{name}.pt")
        report(name, rows, predict(model, rows, measured, device))
        return
    states = [torch.load(path, map_location=device) for path in sorted(out.glob("polish*.pt"))]
    model.load_state_dict(
        {
            key: sum(state[key] for state in states) / len(states)
            if states[0][key].is_floating_point()
            else states[0][key]
            for key in states[0]
        }
    )
    logits = predict(model, rows, np.concatenate([measured, sample(reader, 3000, 99)]), device)
    report("mean", rows, logits)
    np.savez_compressed(
        out / "mean-logits.npz", logits=logits[measured].astype(np.float16), rows=measured
    )
    say("written", write_weights(model, out, "mean", whole=True))


def load_weights(model: nn.Module, files: Sequence[Path], device: str) -> None:
    """Read weights that `write_weights` wrote."""
    state = model.state_dict()
    packed: dict[str, Any] = {}
    for path in files:
        with np.load(path) as arrays:
            packed |= {key: arrays[key].astype(np.float32) for key in arrays.files}
    for key, array in packed.items():
        if not key.endswith("|scale"):
            scale = packed.get(f"{key}|scale")
            state[key] = torch.from_numpy(array if scale is None else array * scale[:, None])
    model.load_state_dict({key: value.to(device) for key, value in state.items()})


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", type=int, default=0)
    parser.add_argument(
        "--stage", choices=("teacher", "student", "polish", "average"), default="teacher"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()
    folder, out, device = options.folder, options.out, options.device
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    out.mkdir(parents=True, exist_ok=True)
    kind = "teacher" if options.stage == "teacher" else "student"
    rows = Rows(folder, folder / f"{kind}-tokenizer.json")
    say("rows", len(rows.ids), "tokens", sum(map(len, rows.ids)))
    cut = options.tiny or 10**9
    hand = rows.select("train/row", "train/run", "train/bare")[:cut]
    nli = sample(rows.select("nli"), min(cut, 60000), 1)
    base = np.concatenate(
        [nli] + [sample(rows.select(s), cut, 2) for s in ("made", "evouna", "summedits")]
    )
    reader = sample(rows.select("reader"), cut, 3)
    measured = np.concatenate(
        [
            rows.select(s)[:cut]
            for s in (
                "tune/row",
                "tune/run",
                "test/row",
                "test/run",
                "dev",
                "dev-test",
                "evouna-test",
                "summedits-test",
                "unused/row",
                "unused/run",
            )
        ]
    )
    say("hand", len(hand), "base", len(base), "reader", len(reader), "measured", len(measured))
    if kind == "teacher":
        model = build("teacher", folder, options.layers if options.tiny else None).to(device)
        train(
            "teacher base",
            model,
            rows,
            [base],
            rate=4e-5,
            device=device,
            seconds=options.seconds * 0.4,
        )
        plan = [np.concatenate([hand, sample(base, 6000, n)]) for n in range(4)]
        train(
            "teacher hand",
            model,
            rows,
            plan,
            rate=2.5e-5,
            device=device,
            seconds=options.seconds * 0.6,
            seed=2,
        )
        logits = predict(model, rows, np.concatenate([measured, hand, base]), device)
        report("teacher", rows, logits)
        np.save(out / "teacher.npy", logits.astype(np.float16))
        return
    if options.stage in ("polish", "average"):
        polish(options, rows, hand, base, reader, measured)
        return
    soft = (
        np.load(out / "teacher.npy").astype(np.float32) if (out / "teacher.npy").exists() else None
    )
    model = build("student", folder, options.layers).to(device)
    name = f"student{options.layers}"
    mixed = np.concatenate([base, reader])
    train(
        f"{name} base",
        model,
        rows,
        [np.concatenate([mixed, hand])] * 2,
        rate=1.5e-4,
        device=device,
        soft=soft,
        seconds=options.seconds * 0.55,
    )
    plan = [
        np.concatenate([hand, sample(base, 8000, n), sample(reader, 6000, n)]) for n in range(6)
    ]
    train(
        f"{name} hand",
        model,
        rows,
        plan,
        rate=8e-5,
        device=device,
        soft=soft,
        seconds=options.seconds * 0.45,
        seed=2,
    )
    logits = predict(model, rows, np.concatenate([measured, sample(reader, 3000, 99)]), device)
    report(name, rows, logits)
    np.savez_compressed(
        out / f"{name}-logits.npz", logits=logits[measured].astype(np.float16), rows=measured
    )
    files = write_weights(model, out, name, whole=options.layers == 12)
    size = sum(file.stat().st_size for file in files)
    say(name, "written", len(files), "files", size, "bytes")


if __name__ == "__main__":
    main()
