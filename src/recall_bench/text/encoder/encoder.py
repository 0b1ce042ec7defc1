"""The encoder that reads pairs of texts: ONNX with a byte a weight, on the processor.

One row is read at a time. So what is read beside a row cannot change what is read in it, and no
time goes into padding.
"""

import os
from collections.abc import Sequence
from enum import IntEnum
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

SHIPPED = Path(__file__).parent / "model"
MODEL_FILE, TOKENIZER_FILE, CALIBRATION_FILE = "encoder.onnx", "tokenizer.json", "calibration.json"

CLS, SEP = 101, 102
FIRST_MARKER = 1
"""The id of a marker is its number and this."""
LOGIT_DIGITS = 2
"""Processors differ in the last digits of a sum; what is made of logits rests on rounded ones."""


class Marker(IntEnum):
    """What stands before a piece of text; the number is that of BERT's unused tokens.

    A marker is one token of its own, and training gives it its meaning.
    """

    ANSWER = 1
    """The question has an answer …"""
    ABSTAIN = 2
    """… has none …"""
    WITHHOLD = 3
    """… or has one that must not be told."""
    REFERENCE = 4
    STALE = 5
    SECRET = 6
    EVIDENCE = 7
    NEAREST = 8
    CLAIM = 9
    IN_REFERENCE = 10
    """Before a value of the answer: where it stands."""
    IN_STALE = 11
    IN_SECRET = 12
    SHOWN = 13
    ELSEWHERE = 14
    NOWHERE = 15
    UNSAID = 16
    """Before a value of the reference that the answer lacks."""
    READER = 17
    """Begins the input of the reader, which has a question and a sentence."""


Piece = str | Marker


class RowLogits(NamedTuple):
    """What was read in one row, rounded."""

    marks: "NDArray[np.float64]"
    """Correctness of at least 1, 2 and 3, completeness of at least 1 and 2, grounded, and whether
    a sentence answers a question."""
    claims: "NDArray[np.float64]"
    """For each claim of the second part, whether the first supports it."""


class PairEncoder:
    """A model of a folder: its tokens and its logits."""

    def __init__(self, folder: Path) -> None:
        digest_model(folder)  # Names a file that is missing.
        self._session, self._tokenizer = _open_model(folder)

    def encode(self, pieces: Sequence[Piece]) -> list[int]:
        """The tokens of texts and markers."""
        tokens: list[int] = []
        for piece in pieces:
            if isinstance(piece, Marker):
                tokens.append(FIRST_MARKER + piece)
            else:
                tokens += self._tokenizer.encode(piece, add_special_tokens=False).ids
        return tokens

    def read(self, first: Sequence[int], second: Sequence[int]) -> RowLogits:
        """The logits of one row of two parts."""
        row = [CLS, *first, SEP, *second, SEP]
        types = np.zeros((1, len(row)), dtype=np.int64)
        types[0, -len(second) - 1 :] = 1
        ids = np.array([row], dtype=np.int64)
        marks, tokens = self._session.run(["marks", "claims"], {"ids": ids, "types": types})
        places = (ids[0] == FIRST_MARKER + Marker.CLAIM) & (types[0] == 1)
        return RowLogits(
            np.round(marks[0].astype(float), LOGIT_DIGITS),
            np.round(tokens[0][places].astype(float), LOGIT_DIGITS),
        )


@cache
def digest_model(folder: Path) -> str:
    """A short digest of what a folder's marks rest on; UsageError if it holds no model."""
    digest = sha256()
    for name in (MODEL_FILE, TOKENIZER_FILE, CALIBRATION_FILE):
        try:
            digest.update((folder / name).read_bytes())
        except OSError as error:
            raise UsageError(
                f"{folder} holds no model that reads: {name} is missing or cannot be read; "
                "tools/judge_model in the repository makes such folders"
            ) from error
    return digest.hexdigest()[:12]


def _open_model(folder: Path) -> "tuple[InferenceSession, Tokenizer]":
    # Imported here: most commands read nothing.
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    options = SessionOptions()
    options.intra_op_num_threads = min(2, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # Idle threads would take the cores of those that work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = InferenceSession(
        str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return session, tokenizer


@lru_cache(maxsize=2)
def load_pair_encoder(folder: Path = SHIPPED) -> PairEncoder:
    """The encoder of a folder, once a process."""
    return PairEncoder(folder)
