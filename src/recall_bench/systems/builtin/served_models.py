"""The models of a run's endpoint for the built-in systems: another embedder, and a reranker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone
from recall_bench.systems.endpoint_client import (
    ModelUnavailable,
    request_embeddings,
    request_scores,
)
from recall_bench.systems.models.static_embedding import embed, normalise_vectors
from recall_bench.systems.parent_endpoint import BUILT_IN_EMBEDDER, ParentEndpoint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.passage_index import TextEmbedder

PassageScorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Scores passages beside a question."""
QuestionEmbedder = Callable[[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    """Which models of an endpoint a built-in uses, and the calls to them."""

    endpoint: str = ""
    """Its address; empty if the built-in uses none of its models."""
    dimensions: int | None = None
    """The length of the endpoint's vectors; None if the built-in ones are used."""
    has_reranker: bool = False

    @property
    def is_used(self) -> bool:
        """Whether a model of the endpoint is used."""
        return bool(self.endpoint)

    @property
    def has_embedder(self) -> bool:
        """Whether vectors come from the endpoint."""
        return self.dimensions is not None

    @property
    def embedder(self) -> TextEmbedder:
        """The endpoint's embedder, or else the built-in one."""
        return self._embed if self.has_embedder else embed

    @property
    def question_embedder(self) -> QuestionEmbedder | None:
        """The endpoint's embedder for a question; None if it has none."""
        return self._embed_question if self.has_embedder else None

    @property
    def passage_scorer(self) -> PassageScorer | None:
        """The endpoint's reranker; None if it has none."""
        return self._score if self.has_reranker else None

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector per text."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions or 0), np.float32)
        with _translate_faults("make vectors"):
            embeddings = request_embeddings(self.endpoint, texts)
        return normalise_vectors(np.asarray(embeddings, np.float32))

    def _embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question; the endpoint remembers those that it made."""
        vector: NDArray[np.float32] = self._embed([text])[0]
        return vector

    def _score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The reranker's score of each passage."""
        with _translate_faults("rank passages"):
            return request_scores(self.endpoint, question, texts)


def open_served_models(endpoint: str | None) -> ServedModels:
    """What a built-in uses of an endpoint, which may be nothing."""
    if endpoint is None:
        return ServedModels()
    offered = ParentEndpoint(endpoint)
    is_built_in = offered.embedder == BUILT_IN_EMBEDDER
    has_reranker = offered.reranker is not None
    if is_built_in and not has_reranker:
        return ServedModels()
    return ServedModels(
        endpoint=endpoint,
        dimensions=None if is_built_in else offered.dimensions,
        has_reranker=has_reranker,
    )


@contextmanager
def _translate_faults(task: str) -> Iterator[None]:
    try:
        yield
    except ModelUnavailable as error:
        raise SystemGone(f"the model endpoint cannot {task}: {error}") from error
    except (ConnectionError, TimeoutError) as error:
        raise SystemBusy(f"the model endpoint cannot {task} now: {error}") from error
    except (RuntimeError, ValueError) as error:
        raise SystemFault(f"the model endpoint did not {task}: {error}") from error
