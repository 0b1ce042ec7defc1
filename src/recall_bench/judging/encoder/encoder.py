"""The encoder that reads answers: ONNX with a byte a weight, on the processor.

One row is read at a time. So what is read beside an answer cannot change its marks, and no time
goes into padding.
"""

import math
import os
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.judging.encoder.judge_input import JudgeInput, Marker, Piece

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

SHIPPED = Path(__file__).parent / "model"
MODEL_FILE, TOKENIZER_FILE, CALIBRATION_FILE = "encoder.onnx", "tokenizer.json", "calibration.json"

LENGTH, ANSWER_LENGTH = 256, 110
"""Tokens of a row, and those of them that an answer may take: what training used."""
MOST_WINDOWS = 3
"""A longer answer is read in windows of whole claims; what follows the last one is not read."""
CLS, SEP = 101, 102
FIRST_MARKER = 1
"""The id of a marker is its number and this."""
READINGS_KEPT = 4096
LOGIT_DIGITS = 2
"""Processors differ in the last digits of a sum; marks rest on rounded ones."""


class EncoderCalibration(Record, frozen=True, kw_only=True):
    """How logits become chances: chosen on answers that were not trained on."""

    correctness: tuple[float, float]
    """The slope and the offset of the chance of each mark."""
    completeness: tuple[float, float]
    grounded: tuple[float, float, float]
    """The weight of the mark, of its claims, and the offset."""
    trained: tuple[str, ...] = ()
    """Digests of the questions whose answers it was trained on."""


class AnswerReading(NamedTuple):
    """What was read in an answer."""

    chances: dict[str, tuple[float, ...]]
    """For each mark the chance of at least one point, two points and so on, never rising."""
    supports: tuple[float, ...]
    """The chance of each claim that the history supports it."""


class Encoder:
    """A model of a folder."""

    def __init__(self, folder: Path) -> None:
        digest_model(folder)  # Names a file that is missing.
        content = (folder / CALIBRATION_FILE).read_bytes()
        try:
            self.calibration = msgspec.json.decode(content, type=EncoderCalibration)
        except msgspec.DecodeError as error:
            raise UsageError(f"{folder / CALIBRATION_FILE}: {error}; make it again") from error
        self._session, self._tokenizer = _open_model(folder)
        self.read = lru_cache(maxsize=READINGS_KEPT)(self._read)

    def _read(self, given: JudgeInput) -> AnswerReading:
        truth = self._encode(given.truth)
        windows = self._split_windows(given.answer)
        marks, claims = [], []
        for window in windows:
            row = [CLS, *truth[: LENGTH - 3 - len(window)], SEP, *window, SEP]
            types = np.zeros((1, len(row)), dtype=np.int64)
            types[0, -len(window) - 1 :] = 1
            ids = np.array([row], dtype=np.int64)
            logits, tokens = self._session.run(["marks", "claims"], {"ids": ids, "types": types})
            marks.append(np.round(logits[0].astype(float), LOGIT_DIGITS))
            places = (ids[0] == FIRST_MARKER + Marker.CLAIM) & (types[0] == 1)
            claims += np.round(tokens[0][places].astype(float), LOGIT_DIGITS).tolist()
        # What is right may stand in any window; what is made up counts wherever it stands.
        best = np.max(marks, axis=0)
        scale = self.calibration
        support = min(-1e-3, sum(-math.log1p(math.exp(-claim)) for claim in claims))
        weight, claim_weight, offset = scale.grounded
        grounded = (
            weight * min(row[5] for row in marks)
            + claim_weight * (support - math.log1p(-math.exp(support)))
            + offset
        )
        return AnswerReading(
            {
                "correctness": _compute_chances(best[:3], scale.correctness),
                "completeness": _compute_chances(best[3:5], scale.completeness),
                "grounded": (_squash(grounded),),
            },
            tuple(map(_squash, claims)),
        )

    def _split_windows(self, answer: Sequence[Piece]) -> list[list[int]]:
        """The tokens of whole claims, as many together as fit."""
        windows: list[list[int]] = [[]]
        starts = [place for place, piece in enumerate(answer) if piece is Marker.CLAIM]
        for start, end in zip(starts, [*starts[1:], len(answer)], strict=True):
            tokens = self._encode(answer[start:end])[:ANSWER_LENGTH]
            if windows[-1] and len(windows[-1]) + len(tokens) > ANSWER_LENGTH:
                windows.append([])
            windows[-1] += tokens
        return windows[:MOST_WINDOWS]

    def _encode(self, pieces: Sequence[Piece]) -> list[int]:
        tokens: list[int] = []
        for piece in pieces:
            if isinstance(piece, Marker):
                tokens.append(FIRST_MARKER + piece)
            else:
                tokens += self._tokenizer.encode(piece, add_special_tokens=False).ids
        return tokens


def _compute_chances(logits: Sequence[float], scale: tuple[float, float]) -> tuple[float, ...]:
    """The chances of ever more points; each at most that of fewer."""
    slope, offset = scale
    chances: list[float] = []
    for logit in logits:
        chances.append(min(_squash(slope * logit + offset), *chances[-1:], 1.0))
    return tuple(chances)


def _squash(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


@cache
def digest_model(folder: Path) -> str:
    """A short digest of what a folder's marks rest on; UsageError if it holds no model."""
    digest = sha256()
    for name in (MODEL_FILE, TOKENIZER_FILE, CALIBRATION_FILE):
        try:
            digest.update((folder / name).read_bytes())
        except OSError as error:
            raise UsageError(
                f"{folder} holds no judge's model: {name} is missing or cannot be read; "
                "tools/judge_model in the repository makes such folders"
            ) from error
    return digest.hexdigest()[:12]


def _open_model(folder: Path) -> "tuple[InferenceSession, Tokenizer]":
    # Imported here: most commands read no answer.
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
def load_encoder(folder: Path = SHIPPED) -> Encoder:
    """The encoder of a folder, once a process."""
    return Encoder(folder)
