"""Pack pretrained encoders small enough to travel: a byte a weight, and the tokens that are used.

    python tools/judge_model/pack.py OUT --teacher all-mpnet-base-v2 --student gte-small

The teacher is a folder with model.safetensors, the student one with onnx/model.onnx, each with its
tokenizer.json. Both have BERT's words; a rare word that is left out is read in pieces.
"""

import argparse
import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

FIRST_TOKENS = 104
"""Markers and special tokens come first in BERT's vocabulary."""
STUDENT_TOKENS, TEACHER_TOKENS = 12000, 20000
PART_BYTES = 70_000_000


def count_tokens(out: Path, tokenizer: Tokenizer) -> Counter[int]:
    """How often each token stands in the pieces."""
    with lzma.open(out / "pieces.json.xz", "rt") as file:
        pieces = json.load(file)
    counts: Counter[int] = Counter()
    for encoding in tokenizer.encode_batch_fast(pieces, add_special_tokens=False):
        counts.update(encoding.ids)
    return counts


def choose_tokens(tokenizer: Tokenizer, counts: Counter[int], most: int) -> list[int]:
    """The ids to keep, in their order: all first ones, single signs, and the most frequent."""
    words = {number: word for word, number in tokenizer.get_vocab().items()}
    kept = set(range(FIRST_TOKENS))
    kept |= {n for n, word in words.items() if len(word.removeprefix("##")) == 1}
    for number, _ in counts.most_common():
        if len(kept) >= most:
            break
        kept.add(number)
    for number in sorted(words):  # BERT's words are in order of frequency.
        if len(kept) >= most:
            break
        kept.add(number)
    return sorted(kept)


def write_tokenizer(source: Path, kept: list[int], target: Path) -> None:
    """The tokenizer with the kept words alone, numbered anew."""
    described = json.loads(source.read_text("utf-8"))
    described["truncation"] = described["padding"] = described["post_processor"] = None
    vocabulary = described["model"]["vocab"]
    words = {number: word for word, number in vocabulary.items()}
    described["model"]["vocab"] = {words[number]: place for place, number in enumerate(kept)}
    for token in described["added_tokens"]:
        token["id"] = kept.index(token["id"])
    target.write_text(json.dumps(described, ensure_ascii=False), "utf-8")


def quantise(state: dict[str, Any], name: str, out: Path) -> None:
    """Matrices as bytes with a scale for each row, in parts."""
    arrays: dict[str, Any] = {}
    for key, value in state.items():
        if value.ndim == 2 and value.shape[0] > 64:
            scale = np.abs(value).max(1) / 127 + 1e-12
            arrays[key] = np.clip(np.round(value / scale[:, None]), -127, 127).astype(np.int8)
            arrays[f"{key}|scale"] = scale.astype(np.float32)
        else:
            arrays[key] = value.astype(np.float32)
    part: dict[str, Any] = {}
    number = 0
    for key, value in arrays.items():
        if key.endswith("|scale"):
            continue
        if sum(v.nbytes for v in part.values()) + value.nbytes > PART_BYTES:
            np.savez_compressed(out / f"{name}-{number}.npz", **part)
            part, number = {}, number + 1
        part[key] = value
        if f"{key}|scale" in arrays:
            part[f"{key}|scale"] = arrays[f"{key}|scale"]
    np.savez_compressed(out / f"{name}-{number}.npz", **part)


def read_student(folder: Path) -> dict[str, Any]:
    """The weights of an exported BERT by their names in PyTorch."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(folder / "onnx" / "model.onnx")).graph
    tensors = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    state = {name: value for name, value in tensors.items() if not name.startswith("onnx::")}
    # The exporter names matrices by number; the node that adds the bias says which one it is.
    products = {node.output[0]: node for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type == "Add":
            bias = next((name for name in node.input if name.endswith(".bias")), None)
            product = next((products[name] for name in node.input if name in products), None)
            if bias and product:
                weight = product.input[1]
                state[bias.removesuffix("bias") + "weight"] = tensors[weight].T.copy()
    return state


def read_teacher(folder: Path) -> dict[str, Any]:
    """The weights of an MPNet."""
    from safetensors.numpy import load_file

    return {
        key.removeprefix("mpnet."): value.astype(np.float32)
        for key, value in load_file(folder / "model.safetensors").items()
        if "pooler" not in key and "position_ids" not in key
    }


def main() -> None:
    """Pack both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--student", type=Path, required=True)
    options = parser.parse_args()
    file = options.student / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    counts = count_tokens(options.out, tokenizer)
    print(
        len(counts),
        "tokens of",
        tokenizer.get_vocab_size(),
        "are used,",
        sum(counts.values()),
        "times",
    )
    for name, most, state in (
        ("student", STUDENT_TOKENS, read_student(options.student)),
        ("teacher", TEACHER_TOKENS, read_teacher(options.teacher)),
    ):
        kept = choose_tokens(tokenizer, counts, most)
        write_tokenizer(file, kept, options.out / f"{name}-tokenizer.json")
        key = "embeddings.word_embeddings.weight"
        if name == "teacher":  # Four special tokens come before BERT's words, and one after.
            rows = [0, 1, 2, 3, *(number + 4 for number in kept), len(state[key]) - 1]
        else:
            rows = kept
        state[key] = state[key][rows]
        print(name, {k: v.shape for k, v in list(state.items())[:3]}, len(state))
        quantise(state, name, options.out)
        print("read in pieces or unknown:", sum(v for k, v in counts.items() if k not in set(kept)))


if __name__ == "__main__":
    main()
