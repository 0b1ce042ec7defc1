"""A product gets an endpoint for as long as it lives, and what it spends there is on record."""

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import recall_bench
from recall_bench.core import user_code
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import (
    MemorySystem,
    MeteringSystem,
    RetrievalReply,
    reopen_state,
)
from recall_bench.core.scenario import Question
from recall_bench.core.settings import Settings
from recall_bench.features.models.model_endpoint import ModelEndpoint, open_metered_system
from recall_bench.features.products.product import Product, ProductEmbedder
from recall_bench.systems.resolver import resolve_system
from recall_bench.systems.transports.child_environment import ENDPOINT_VARIABLE

pytestmark = pytest.mark.anyio

QUESTION = Question(id="1", text="Who?", asked_at=datetime(2026, 1, 9), scenario="ada")


class Embeds:
    """Embeds every day and every question, and remembers the last day."""

    name = "embeds"
    answers = False

    def __init__(self, *, endpoint: str | None = None) -> None:
        self._vectors = ProductEmbedder(endpoint)
        self._last: dict[str, object] = {"text": "nothing yet"}

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self._vectors.embed([content])
        self._last = {"text": content, "day": day}

    def query(self, question: str, context: object) -> object:
        self._vectors.embed([question])
        return {"passages": [self._last]}


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Product]:
    """Installs the product under the name `embeds`."""

    def installed(**settings: Any) -> Product:
        made = Product(Embeds, **settings)
        load = user_code.load_plugin
        monkeypatch.setattr(
            user_code,
            "load_plugin",
            lambda kind, name: made if name == "embeds" else load(kind, name),
        )
        return made

    return installed


def url_of(system: MemorySystem) -> str:
    assert isinstance(system, MeteringSystem)
    return os.environ[ENDPOINT_VARIABLE]


class _Keeps:
    """Keeps the last day in its folder."""

    name = "keeps"
    answers = False

    def __init__(self, *, state_dir: Path, endpoint: str | None = None) -> None:
        self._path = state_dir / "last"

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self._path.write_text(content, encoding="utf-8")

    def query(self, question: str, context: object) -> object:
        return {"passages": [{"text": self._path.read_text(encoding="utf-8")}]}

    def reopen(self) -> None:
        pass


async def test_a_product_with_an_endpoint_goes_on_with_the_files_of_a_killed_process(
    tmp_path: Path,
) -> None:
    (tmp_path / "last").write_text("Ada came.", encoding="utf-8")
    kept = Product(_Keeps, wants_endpoint=True)
    system = open_metered_system(ModelEndpoint(), lambda url: kept({}, endpoint=url))

    memory = await reopen_state(system, tmp_path, "ada")
    reply = await memory.answer(QUESTION)

    assert isinstance(reply, RetrievalReply)
    assert reply.passages[0].text == "Ada came."
    await memory.close()
    await system.close()


async def test_a_product_that_needs_an_endpoint_has_one_until_it_is_closed(
    product: Callable[..., Product],
) -> None:
    product(wants_endpoint=True)
    system = resolve_system(Settings(adapter="embeds"))
    url = url_of(system)
    async with httpx.AsyncClient(trust_env=False) as client:
        served = (await client.get(f"{url}/models")).status_code

        await system.close()

        assert served == 200
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/models")
    assert ENDPOINT_VARIABLE not in os.environ


async def test_a_product_that_can_do_without_has_none_unless_asked(
    product: Callable[..., Product],
) -> None:
    product()
    bare = resolve_system(Settings(adapter="embeds"))
    asked = resolve_system(Settings(adapter="embeds", endpoint=True))

    assert not isinstance(bare, MeteringSystem)
    assert isinstance(asked, MeteringSystem)
    await bare.close()
    await asked.close()


async def test_the_address_is_on_no_card_but_the_embedder_is(
    product: Callable[..., Product],
) -> None:
    product(wants_endpoint=True)
    cards = []
    for _ in range(2):
        system = resolve_system(Settings(adapter="embeds"))
        cards.append(system.card)
        await system.close()

    assert cards[0] == cards[1]
    endpoint = cards[0].config["endpoint"]
    assert isinstance(endpoint, Mapping)
    assert "wordllama" in str(endpoint["embedder"])


async def test_a_product_that_cannot_be_made_leaves_no_endpoint_behind(
    product: Callable[..., Product],
) -> None:
    product(wants_endpoint=True, needs=("no_such_module",))

    with pytest.raises(UsageError, match="is not installed"):
        resolve_system(Settings(adapter="embeds"))

    assert ENDPOINT_VARIABLE not in os.environ


def test_what_a_run_spends_is_metered_by_stage(
    product: Callable[..., Product], tmp_path: Path
) -> None:
    product(wants_endpoint=True)

    done = recall_bench.run(adapter="embeds", ranges="3d", into=tmp_path / "run", heatmap_png=False)

    metered = done.folder.service.metered
    assert done.exit_code == 0
    assert metered["ingest"].calls == 3
    assert metered["query"].calls == done.summary.overall.owed
    assert metered["ingest"].input_tokens > metered["query"].input_tokens > 0


async def test_a_product_takes_the_endpoint_of_the_process_that_started_it(
    product: Callable[..., Product], monkeypatch: pytest.MonkeyPatch
) -> None:
    product()
    with ModelEndpoint() as parents:
        monkeypatch.setenv(ENDPOINT_VARIABLE, parents.url)
        system = resolve_system(Settings(adapter="embeds"))
        memory = await system.open("ada")
        await memory.answer(QUESTION)
        await memory.close()
        await system.close()

        assert parents.meter.total.calls == 1
        assert os.environ[ENDPOINT_VARIABLE] == parents.url
