"""Dialogues in a search: a turn is found by the turns around it, and sessions share the places.

In a dialogue the words of a question often stand in the turn before the answer: one person asks,
the other replies "Since March". So a turn gets a part of the scores of its neighbours, and of the
best turn of its session. Without a counterweight the places would then go to one session; so some
are kept for sessions that have none yet.

The values were chosen on every other conversation of LoCoMo, on LongMemEval-oracle, and on 160 of
its questions with 50 sessions of others added; docs/results/public-datasets.md has the figures of
the conversations that they were not chosen on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.chunks import Chunk

_WEIGHTS = ((1.0, 0.5), (1 / 3, 1 / 6))
"""What the turns before and after are worth, one away and two away."""


@dataclass(frozen=True, slots=True)
class DialogueTurns:
    """The turn and the session of each chunk of an index, in order."""

    turns: NDArray[np.int64]
    """Counted across the index; a chunk of a text without turns is one of its own."""
    sessions: NDArray[np.int64]
    """Counted likewise; a chunk of a text without turns is a session of its own."""
    is_spoken: NDArray[np.bool_]
    """Whether the chunk belongs to a dialogue."""

    def append(self, documents: Sequence[Sequence[Chunk]]) -> DialogueTurns:
        """The same with the chunks of later documents."""
        import numpy as np

        turn = int(self.turns[-1]) if len(self.turns) else -1
        session = int(self.sessions[-1]) if len(self.sessions) else -1
        turns: list[int] = []
        sessions: list[int] = []
        spoken: list[bool] = []
        for chunks in documents:
            before: Chunk | None = None
            for chunk in chunks:
                is_spoken = chunk.turn is not None
                is_same = is_spoken and before is not None and before.turn is not None
                turn += not (is_same and before is not None and chunk.turn == before.turn)
                session += not is_same
                before = chunk
                turns.append(turn)
                sessions.append(session)
                spoken.append(is_spoken)
        return DialogueTurns(
            np.concatenate([self.turns, np.array(turns, np.int64)]),
            np.concatenate([self.sessions, np.array(sessions, np.int64)]),
            np.concatenate([self.is_spoken, np.array(spoken, bool)]),
        )

    @property
    def nbytes(self) -> int:
        """The size of all arrays."""
        return self.turns.nbytes + self.sessions.nbytes + self.is_spoken.nbytes

    @classmethod
    def create_empty(cls) -> DialogueTurns:
        """No chunks yet."""
        import numpy as np

        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))


def score_context(
    scores: NDArray[np.float32], dialogue: DialogueTurns, *, turn_boost: float, session_boost: float
) -> NDArray[np.float32]:
    """The scores with what the turns around and the session add to those of dialogues.

    Several chunks of one turn share what it gets from its neighbours.
    """
    import numpy as np

    first_of_turn = np.flatnonzero(np.diff(dialogue.turns, prepend=-1))
    sessions = dialogue.sessions[first_of_turn]
    best = np.maximum.reduceat(scores, first_of_turn)
    added = np.zeros_like(best)
    for distance, (before, after) in enumerate(_WEIGHTS, 1):
        is_same = sessions[distance:] == sessions[:-distance]
        added[distance:] += np.float32(before) * np.where(is_same, best[:-distance], 0)
        added[:-distance] += np.float32(after) * np.where(is_same, best[distance:], 0)
    sizes = np.diff(first_of_turn, append=len(scores))
    around = np.repeat(np.float32(turn_boost) * added / sizes.astype(np.float32), sizes)
    first_of_session = np.flatnonzero(np.diff(dialogue.sessions, prepend=-1))
    lengths = np.diff(first_of_session, append=len(scores))
    session = np.repeat(np.maximum.reduceat(scores, first_of_session), lengths)
    added_here = (around + np.float32(session_boost) * session) * dialogue.is_spoken
    return scores + added_here.astype(np.float32)


def select_spread(
    scores: NDArray[np.float32], best: NDArray[np.int64], dialogue: DialogueTurns, share: float
) -> NDArray[np.int64]:
    """As many chunks as the `best` are: the first of these, then the best of other sessions.

    `share` is the part of the places that is kept for sessions which have none yet. Where there
    are too few of these, the next best follow.
    """
    import numpy as np

    k = len(best)
    first_places = k - round(share * k)
    first = np.flatnonzero(np.diff(dialogue.sessions, prepend=-1))
    top = np.repeat(np.maximum.reduceat(scores, first), np.diff(first, append=len(scores)))
    tops = np.flatnonzero((scores == top) & (scores > 0))
    others = np.setdiff1d(np.concatenate([best[first_places:], tops]), best[:first_places])
    others = others[np.lexsort((-others, -scores[others]))]
    chosen, sessions_chosen = (
        best[:first_places].tolist(),
        set(dialogue.sessions[best[:first_places]].tolist()),
    )
    passed: list[int] = []
    for number, session in zip(others.tolist(), dialogue.sessions[others].tolist(), strict=True):
        if session in sessions_chosen:
            passed.append(number)
        else:
            sessions_chosen.add(session)
            chosen.append(number)
    return np.array([*chosen, *passed][:k], np.int64)
