"""A vector that was made is found again to the bit, by every process, or made anew."""

import logging
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.models import embedding_cache
from recall_bench.features.models.embedders import Embedder, Embeddings, open_embedder
from recall_bench.features.models.embedding_cache import (
    CachedEmbedder,
    CachedVector,
    EmbeddingCache,
    make_cache_key,
)
from recall_bench.features.models.model_endpoint import build_endpoint
from tests.forked_processes import PROCESSES
from tests.half_written import die_half_way
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Response, json_reply

KEY = make_cache_key("e", "text")
KEPT = CachedVector(np.asarray([1.5, -2.25, 1e-40], np.float32), 7, Usage(cost_usd=0.1, unpriced=1))


def vector(text: str, dimensions: int = 8) -> list[float]:
    """Eight numbers that only this text has."""
    digest = sha256(text.encode()).digest()
    return [byte / 255 - 0.3 for byte in digest[:dimensions]]


def embeddings(request: dict[str, Any]) -> Response:
    rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(request["input"])]
    usage = {"prompt_tokens": sum(map(len, request["input"]))}
    return json_reply({"data": rows, "model": "e", "usage": usage})


class Counting(Embedder):
    """Keeps note of every text; a dollar for a hundred tokens, a token a letter."""

    name = model = "counting"

    def __init__(self, identity: str = "counting", dimensions: int = 8) -> None:
        self.identity = identity
        self.length = dimensions
        self.given: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self.given.append(list(texts))
        tokens = tuple(map(len, texts))
        return Embeddings(
            vectors=np.asarray([vector(text, self.dimensions) for text in texts], np.float32),
            tokens=tokens,
            usage=Usage(calls=1, input_tokens=sum(tokens), cost_usd=sum(tokens) / 100),
        )


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_cached_vector_is_found_bit_for_bit(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path / "new" / "folder").keep(KEY, KEPT)

    found = EmbeddingCache(tmp_path / "new" / "folder").find(KEY)

    assert found is not None
    assert found.vector.dtype == np.float32
    assert found.vector.tobytes() == KEPT.vector.tobytes()
    assert (found.tokens, found.price) == (KEPT.tokens, KEPT.price)
    assert EmbeddingCache(tmp_path).find(make_cache_key("e", "another")) is None


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: whole[: len(whole) // 2], id="torn"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda whole: bytes(len(whole)), id="zeros"),
        pytest.param(lambda whole: whole[:-33] + b"\x01" + whole[-32:], id="a bit of a number"),
        pytest.param(lambda whole: whole[:4] + b"\x08" + whole[5:], id="a token"),
        pytest.param(lambda whole: whole + b"\0", id="a byte more"),
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.keep(KEY, KEPT)
    (path,) = entries(tmp_path)
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)

    assert cache.find(KEY) is None
    cache.keep(KEY, KEPT)
    assert cache.find(KEY) is not None


def test_an_entry_under_another_s_name_is_not_taken_for_it(tmp_path: Path) -> None:
    cache, other = EmbeddingCache(tmp_path), KEY[:-1] + ("0" if KEY[-1] != "0" else "1")
    cache.keep(KEY, KEPT)
    (path,) = entries(tmp_path)
    path.rename(path.with_name(f"{other}.f32"))

    assert cache.find(other) is None


def test_only_what_is_missing_is_made_and_order_is_kept(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    CachedEmbedder(first, EmbeddingCache(tmp_path)).embed(["a", "bb"])

    found = CachedEmbedder(second, EmbeddingCache(tmp_path)).embed(["ccc", "bb", "d", "a", "ccc"])

    assert second.given == [["ccc", "d"]]
    wanted = [vector(text) for text in ("ccc", "bb", "d", "a", "ccc")]
    assert found.vectors.tobytes() == np.asarray(wanted, np.float32).tobytes()
    assert found.tokens == (3, 2, 1, 1, 3)


def test_usage_counts_real_calls_and_cached_ones_apart(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cold = CachedEmbedder(Counting(), cache).embed(["a", "bb"])
    warm = CachedEmbedder(Counting(), cache).embed(["a", "bb", "ccc"])

    assert (cold.usage, cold.spared) == (Usage(calls=1, input_tokens=3, cost_usd=0.03), Usage())
    assert warm.usage == Usage(calls=1, input_tokens=3, cost_usd=0.03, cached=2)
    assert warm.spared.cost_usd == pytest.approx(0.03)


@pytest.mark.parametrize("other", [Counting("another"), Counting("counting 2")])
def test_another_embedder_finds_nothing(tmp_path: Path, other: Counting) -> None:
    CachedEmbedder(Counting(), EmbeddingCache(tmp_path)).embed(["a"])

    CachedEmbedder(other, EmbeddingCache(tmp_path)).embed(["a"])

    assert other.given == [["a"]]


def test_identity_and_text_are_kept_apart() -> None:
    assert make_cache_key("ab", "c") != make_cache_key("a", "bc")


def test_vectors_of_another_length_are_made_again(tmp_path: Path) -> None:
    """A server may serve another model under the name that it had."""
    CachedEmbedder(Counting(dimensions=4), EmbeddingCache(tmp_path)).embed(["a", "bb"])
    longer = Counting(dimensions=8)

    found = CachedEmbedder(longer, EmbeddingCache(tmp_path)).embed(["a", "ccc", "bb"])

    assert longer.given == [["ccc"], ["a", "bb"]]
    wanted = [vector(text) for text in ("a", "ccc", "bb")]
    assert found.vectors.tobytes() == np.asarray(wanted, np.float32).tobytes()
    assert found.usage == Usage(calls=2, input_tokens=6, cost_usd=0.06)


def test_its_dimensions_cost_no_call_where_vectors_are_on_record(tmp_path: Path) -> None:
    assert CachedEmbedder(Counting(), EmbeddingCache(tmp_path)).dimensions == 8
    warm = Counting()

    assert CachedEmbedder(warm, EmbeddingCache(tmp_path)).dimensions == 8
    assert warm.given == []


@loop_over_rows(
    "another",
    ["openai:f;{url}", "openai:e;{url}/2", "openai:e;{url};price=1/0", "vllm:e;{url}"],
)
def test_identity_changes_with_model_address_price_and_provider(another: str) -> None:
    url = "http://127.0.0.1:9/v1"
    usual = open_embedder(f"openai:e;{url}", {})

    assert open_embedder(f"openai:e;{url}", {"OPENAI_API_KEY": "k"}).identity == usual.identity
    assert open_embedder(another.format(url=url), {}).identity != usual.identity


def test_identity_contains_no_password() -> None:
    opened = open_embedder("openai:e;http://me:hush@127.0.0.1:9/v1", {})

    assert "hush" not in opened.identity


def test_a_full_disk_loses_no_vector_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embedding_cache, "write_shared_file", full)
    cached = CachedEmbedder(Counting(), EmbeddingCache(tmp_path))

    with caplog.at_level(logging.WARNING):
        found = cached.embed(["a", "bb"])

    assert found.vectors.tolist() == np.asarray([vector("a"), vector("bb")], np.float32).tolist()
    assert len(caplog.messages) == 1
    assert "No space left on device" in caplog.messages[0]


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="name another folder"):
        EmbeddingCache(tmp_path / "file" / "cache")


TEXTS = [f"text {n}" for n in range(120)]


def _embed_often(url: str, folder: str, first: int) -> None:
    embedder = open_embedder(f"openai:e;{url}", {})
    cached = CachedEmbedder(embedder, EmbeddingCache(Path(folder)))
    for begin in range(0, len(TEXTS), 10):
        texts = [TEXTS[(first + begin + n) % len(TEXTS)] for n in range(30)]
        wanted = np.asarray([vector(text) for text in texts], np.float32)
        assert cached.embed(texts).vectors.tobytes() == wanted.tobytes()
    cached.close()


def test_processes_share_a_folder_and_every_vector_is_right(tmp_path: Path) -> None:
    with OpenAIServer(embeddings) as server:
        workers = [
            PROCESSES.Process(target=_embed_often, args=(server.base_url, str(tmp_path), 7 * n))
            for n in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

        asked = Counter(text for request in server.requests for text in request.json["input"])
        before = len(server.requests)
        _embed_often(server.base_url, str(tmp_path), 3)

    assert [worker.exitcode for worker in workers] == [0] * 2
    assert set(asked) == set(TEXTS)
    assert max(asked.values()) <= 2, "each process made a text once at most"
    assert len(server.requests) == before, "nothing is left to be made"
    assert {path.suffix for path in entries(tmp_path)} == {".f32"}
    assert len(entries(tmp_path)) == len(TEXTS)


def _die_while_writing(folder: str) -> None:
    die_half_way()
    CachedEmbedder(Counting(), EmbeddingCache(Path(folder))).embed(["a"])


def test_a_process_killed_while_it_writes_leaves_nothing_broken(tmp_path: Path) -> None:
    worker = PROCESSES.Process(target=_die_while_writing, args=(str(tmp_path),))
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    assert [path.suffix for path in entries(tmp_path)] == [".part"], "it died half-way"

    next_one = Counting()
    found = CachedEmbedder(next_one, EmbeddingCache(tmp_path)).embed(["a"])

    assert next_one.given == [["a"]]
    assert found.vectors.tobytes() == np.asarray([vector("a")], np.float32).tobytes()


def _metered(settings: Settings) -> Usage:
    openai = pytest.importorskip("openai")
    endpoint = build_endpoint(settings, {})
    with endpoint, openai.OpenAI(base_url=endpoint.url, api_key="unused") as product:
        product.embeddings.create(model="any", input=["a", "bbb"])
        product.embeddings.create(model="any", input="bbb")
    return endpoint.meter.total


def test_a_warm_cache_makes_no_system_look_cheaper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path))
    with OpenAIServer(embeddings) as server:
        settings = Settings(system_embedder=f"openai:e;{server.base_url};price=1000000/0")
        without = _metered(settings)
        assert not entries(tmp_path), "nobody asked for a cache"
        with_cache = Settings(system_embedder=settings.system_embedder, embedding_cache=True)
        cold, asked = _metered(with_cache), len(server.requests)
        warm = _metered(with_cache)

        assert len(server.requests) == asked, "nothing was made again"
    assert (without.calls, without.input_tokens, without.cost_usd) == (2, 7, 7.0)
    assert cold == without + Usage(cached=1), "the second request is for a text of the first"
    assert warm == without + Usage(cached=3)
