"""The encoder that reads answers: its logits become chances by a calibration."""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from recall_bench.core.errors import JudgeGone, UsageError
from recall_bench.core.record import Record
from recall_bench.judging.encoder.judge_input import JudgeInput
from recall_bench.text.encoder.encoder import (
    CALIBRATION_FILE,
    SHIPPED,
    Marker,
    Piece,
    digest_model,
    load_pair_encoder,
)

LENGTH, ANSWER_LENGTH = 256, 110
"""Tokens of a row, and those of them that an answer may take: what training used."""
MOST_WINDOWS = 3
"""A longer answer is read in windows of whole claims; what follows the last one is not read."""
READINGS_KEPT = 4096


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
        self._pairs = load_pair_encoder(folder)
        self.read = lru_cache(maxsize=READINGS_KEPT)(self._read)

    def _read(self, given: JudgeInput) -> AnswerReading:
        truth = self._pairs.encode(given.truth)
        rows = [
            self._pairs.read(truth[: LENGTH - 3 - len(window)], window)
            for window in self._split_windows(given.answer)
        ]
        # What is right may stand in any window; what is made up counts wherever it stands.
        best = np.max([row.marks for row in rows], axis=0)
        claims = [claim for row in rows for claim in row.claims.tolist()]
        scale = self.calibration
        support = min(-1e-3, sum(-math.log1p(math.exp(-claim)) for claim in claims))
        weight, claim_weight, offset = scale.grounded
        grounded = (
            weight * min(row.marks[5] for row in rows)
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
            tokens = self._pairs.encode(answer[start:end])[:ANSWER_LENGTH]
            if windows[-1] and len(windows[-1]) + len(tokens) > ANSWER_LENGTH:
                windows.append([])
            windows[-1] += tokens
        return windows[:MOST_WINDOWS]


def _compute_chances(logits: Sequence[float], scale: tuple[float, float]) -> tuple[float, ...]:
    """The chances of ever more points; each at most that of fewer."""
    slope, offset = scale
    chances: list[float] = []
    for logit in logits:
        chances.append(min(_squash(slope * logit + offset), *chances[-1:], 1.0))
    return tuple(chances)


def _squash(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


@lru_cache(maxsize=2)
def load_encoder(folder: Path = SHIPPED) -> Encoder:
    """The encoder of a folder, once a process; JudgeGone if its library is not there."""
    try:
        return Encoder(folder)
    except ImportError as error:
        raise JudgeGone(
            f"reading answers needs {error.name}, which this installation lacks; install the "
            "package again, and run the same command again"
        ) from error
