"""Graphiti over Kuzu: a graph of facts with the time each holds, in process, made by a model.

A language model reads each session of a day, finds the entities and the facts between them, and
says which earlier facts are over, so that a score is that model's as much as Graphiti's: give it
one with `--system-model`.

True limits: the tests here use a scripted model, so they show that the code works, not how good the
answers are. Several calls of the model are needed for each session of a day. The day goes in as
reference time; what comes back is dated by when the fact holds, which the model reads out of the
text. A fact is in the model's words; its day is that of the first episode it was found in. The
score is a rank: words and meaning are fused by rank. Kuzu treats a question mark as part of the
word before it, so questions are sent without punctuation. Graphiti has announced that it will drop
Kuzu, which is no longer developed; it is used here because it needs no server.
"""

import os
import re
import warnings
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from recall_bench.features.products.product import (
    UNUSED_KEY,
    Product,
    ProductAdapter,
    ProductEmbedder,
)
from recall_bench.features.products.service import (
    ServiceErrors,
    build_service_passage,
    label_session,
    list_visible_labels,
    split_pieces,
)
from recall_bench.systems.endpoint_client import ENDPOINT_MODEL
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_GROUP = "memory"
"""The group of all episodes if sessions are not separated."""

_MAX_CHARS = 10_000
"""The longest episode; the limit is that of Zep, which is built on Graphiti."""

_PUNCTUATION = re.compile(r"[?!.,;:\"()]+(?=\s|$)|(?<=\s)[\"(]+")
"""Punctuation at the edge of a word."""


@dataclass(kw_only=True, eq=False)
class Graphiti(ProductAdapter):
    """Graphiti over Kuzu, in process: finds the facts a model saw."""

    name = "graphiti"
    package = "graphiti-core"

    state_dir: Path
    endpoint: str

    def __post_init__(self) -> None:
        self._sent: set[str] = set()
        self._driver: Any = None
        self._graph: Any = None
        self._errors: Any = None

    async def setup(self) -> None:
        """Open the graph in the folder; a copied folder already holds one."""
        # Read when it is imported: it stops telemetry.
        os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
        import openai
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.llm_client.errors import RateLimitError

        self._errors = ServiceErrors(
            product="the model endpoint",
            key=None,
            timeouts=(openai.APITimeoutError, RateLimitError),
            connection_errors=(openai.APIConnectionError,),
            status_errors=(openai.APIStatusError,),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self._driver = KuzuDriver(db=str(self.state_dir / "graph.kuzu"))
        # Adding to a group reads the name of the database, which this driver does not set.
        self._driver._database = ""  # noqa: SLF001
        # Build the word indices, which Graphiti searches in Kuzu but does not build.
        from graphiti_core.driver.driver import GraphProvider
        from graphiti_core.graph_queries import get_fulltext_indices

        rows, _, _ = await self._driver.execute_query("CALL SHOW_INDEXES() RETURN index_name")
        present = {row["index_name"] for row in rows}
        for statement in get_fulltext_indices(GraphProvider.KUZU):
            if not any(f"'{name}'" in statement for name in present):
                await self._driver.execute_query(statement)
        self._graph = _build_graph(self._driver, self.endpoint)

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add an episode for each session of the day; those added already are skipped."""
        from graphiti_core.nodes import EpisodeType

        for piece in split_pieces(day, content, metadata, most=_MAX_CHARS):
            if piece.id in self._sent:
                continue
            with self._errors.translate():
                await self._graph.add_episode(
                    name=piece.id,
                    episode_body=piece.text,
                    source_description=piece.label,
                    reference_time=piece.at,
                    source=EpisodeType.text,
                    group_id=self._name_group(piece.label),
                )
            self._sent.add(piece.id)

    async def finalize_ingestion(self) -> None:
        """Write everything to the graph's own file, so that a copy of it is complete."""
        await self._driver.execute_query("CHECKPOINT")

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The facts that fit by words and by meaning, the two fused by rank."""
        from graphiti_core.nodes import EpisodicNode
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF

        labels = list_visible_labels(context) if self.honours_sessions else None
        # Graphiti's plain search is this one without the scores.
        config = EDGE_HYBRID_SEARCH_RRF.model_copy(update={"limit": context.top_k or self.k})
        with self._errors.translate():
            results = await self._graph.search_(
                _PUNCTUATION.sub(" ", question),
                config=config,
                group_ids=None if labels is None else [self._name_group(label) for label in labels],
            )
        episode_ids = sorted({fact.episodes[0] for fact in results.edges if fact.episodes})
        episodes = await EpisodicNode.get_by_uuids(self._driver, episode_ids) if episode_ids else []
        by_id = {episode.uuid: episode for episode in episodes}
        return {
            "passages": [
                _build_passage(fact, by_id.get(fact.episodes[0]) if fact.episodes else None, score)
                for fact, score in zip(results.edges, results.edge_reranker_scores, strict=True)
            ]
        }

    def teardown(self) -> None:
        """Close the graph."""
        if self._driver is not None:
            self._driver.client.close()
            self._driver.db.close()

    def _name_group(self, label: str) -> str:
        """The group of a session; only letters, digits and hyphens are allowed in its name."""
        if not self.honours_sessions:
            return _GROUP
        return f"{_GROUP}-{sha256(label.encode()).hexdigest()[:16]}"


def _build_graph(driver: Any, endpoint: str) -> Any:  # noqa: ANN401  Graphiti's own
    """Graphiti with the models of the endpoint."""
    from graphiti_core import Graphiti as Graph
    from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient
    from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
    from graphiti_core.llm_client.config import LLMConfig
    from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key=UNUSED_KEY, base_url=endpoint, max_retries=0)
    model = LLMConfig(
        api_key=UNUSED_KEY, model=ENDPOINT_MODEL, small_model=ENDPOINT_MODEL, base_url=endpoint
    )
    dimensions = ProductEmbedder(endpoint).dimensions
    return Graph(
        graph_driver=driver,
        llm_client=OpenAIGenericClient(model, client=client),
        embedder=OpenAIEmbedder(
            OpenAIEmbedderConfig(embedding_model=ENDPOINT_MODEL, embedding_dim=dimensions),
            client=client,
        ),
        # Not called: facts are ranked without it.
        cross_encoder=OpenAIRerankerClient(model, client=client),
    )


def _build_passage(fact: Any, episode: Any, score: float) -> dict[str, object]:  # noqa: ANN401
    """A fact with the day from which it holds, or else the day of its episode."""
    metadata: dict[str, object] = {"session": label_session(None)}
    since: date | None = None if fact.valid_at is None else fact.valid_at.date()
    if episode is not None:
        metadata |= {
            "piece": episode.name,
            "day": int(episode.name.partition("-")[0]),
            "session": episode.source_description,
        }
        since = since or episode.valid_at.date()
    if since is not None:
        metadata["date"] = since.isoformat()
    text = fact.fact if fact.invalid_at is None else f"{fact.fact} (until {fact.invalid_at.date()})"
    return build_service_passage(text, metadata, score, result_id=fact.uuid)


product = Product(Graphiti, needs=("graphiti_core", "kuzu"), wants_endpoint=True)
