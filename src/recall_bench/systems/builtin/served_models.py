"""The models of a run's endpoint for the built-in systems: another embedder, and a reranker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from recall_bench.core.errors import SystemBusy, SystemFault
from recall_bench.models.embedders import normalise_vectors
from recall_bench.systems.endpoint.endpoint_client import request_embeddings, request_scores
from recall_bench.systems.endpoint.model_endpoint import BUILT_IN_EMBEDDER, ParentEndpoint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEPT_QUESTIONS = 4096
"""Vectors of questions that are kept: a question is asked at many checkpoints."""

PassageScorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Scores passages beside a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    """Which models of an endpoint a built-in uses, and the calls to them."""

    endpoint: str
    has_embedder: bool
    """Whether vectors come from the endpoint: not if its embedder is the built-in one."""
    has_reranker: bool
    _questions: OrderedDict[str, NDArray[np.float32]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector per text."""
        import numpy as np

        if not texts:
            # Of no length: the index joins it with vectors of any.
            return np.zeros((0, len(self.embed_question("length"))), np.float32)
        with _translate_faults("make vectors"):
            found = request_embeddings(self.endpoint, texts)
        return normalise_vectors(np.asarray(found, np.float32))

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, from the endpoint the first time."""
        with self._lock:
            if text in self._questions:
                self._questions.move_to_end(text)
                return self._questions[text]
        vector: NDArray[np.float32] = self.embed([text])[0]
        with self._lock:
            self._questions[text] = vector
            while len(self._questions) > _KEPT_QUESTIONS:
                self._questions.popitem(last=False)
        return vector

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The reranker's score of each passage."""
        with _translate_faults("rank passages"):
            return request_scores(self.endpoint, question, texts)


def open_served_models(endpoint: str | None) -> ServedModels | None:
    """What a built-in uses of an endpoint; None if that is nothing."""
    if endpoint is None:
        return None
    offered = ParentEndpoint(endpoint)
    has_embedder = offered.embedder != BUILT_IN_EMBEDDER
    has_reranker = offered.reranker is not None
    if not (has_embedder or has_reranker):
        return None
    return ServedModels(endpoint=endpoint, has_embedder=has_embedder, has_reranker=has_reranker)


@contextmanager
def _translate_faults(task: str) -> Iterator[None]:
    try:
        yield
    except (ConnectionError, TimeoutError) as error:
        raise SystemBusy(f"the model endpoint cannot {task} now: {error}") from error
    except (RuntimeError, ValueError) as error:
        raise SystemFault(f"the model endpoint did not {task}: {error}") from error
