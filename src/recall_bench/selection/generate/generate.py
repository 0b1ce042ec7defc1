"""A batch of new tests, from the first draw to the files it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from recall_bench.errors import BudgetSpent, ModelFault, ModelGone, UsageError
from recall_bench.selection.files.bench_file import BenchTest, Pairs, bench_headers
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.generate.batch import Batch
from recall_bench.selection.generate.chance import Chance
from recall_bench.selection.generate.composing import Composer
from recall_bench.selection.generate.draft import Draft, Refusal, Writer
from recall_bench.selection.generate.duplicates import Known
from recall_bench.selection.generate.modelled import ModelWriter
from recall_bench.selection.generate.opening import Corpus, open_corpus, open_tests
from recall_bench.selection.generate.outcome import FailedSample, Generated, Stopped
from recall_bench.selection.generate.request import OFFLINE, GenerateRequest
from recall_bench.selection.generate.small_talk import CATEGORIES
from recall_bench.selection.generate.support import STRONG, Support

if TYPE_CHECKING:
    from recall_bench.models.model import Model

DRAWS = 8
"""How often a sample is drawn before it counts as failed."""
MOST = 5
"""Memories picked for a sample where nobody said how many."""

Told = Callable[[str], None]
"""Hears a sentence about each sample: what was written, what is drawn again and why."""


def generate_tests(
    request: GenerateRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write the tests of the batch that are not there yet.

    Each test is on disk, whole, before the next sample is drawn, and the same request goes on
    where an earlier one stopped. A sample that fails costs nothing but itself. UsageError and
    DataError, for what is wrong with the request or the folders, come before anything is spent.
    A model of one's own may take the place of the one the request names.
    """
    corpus = open_corpus(request.memories)
    if (request.amount or 0) > len(corpus.memories):
        raise UsageError(
            f"--amount: {request.amount} memories cannot be picked from {len(corpus.memories)}"
        )
    there = open_tests(request.out)
    if model is None and request.model != OFFLINE:
        model = _opened(request)

    async def run() -> Generated:
        support = Support(corpus.memories)
        writer = _writer(request, corpus, support, model)
        try:
            batch = Batch(request, corpus.digest, writer.name, there)
            batch.refuse_clashes()
            generation = _Generation(
                request=request,
                corpus=corpus,
                batch=batch,
                writer=writer,
                support=support,
                told=told,
            )
            for name, test in there.items():
                generation.know(name, test, test.header("Category"))
            return await generation.run()
        finally:
            await writer.close()

    return anyio.run(run)


def _opened(request: GenerateRequest) -> "Model":
    from recall_bench.resolve.models import resolve_model
    from recall_bench.settings import Settings

    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings)
    if model is None:
        # Not repeated: it may be a key that was put in the wrong place.
        raise UsageError(
            "--model: that is nobody we know; say offline, or a model as provider:model"
        )
    return model


def _writer(
    request: GenerateRequest, corpus: Corpus, support: Support, model: "Model | None"
) -> Writer:
    if model is None:
        return Composer(corpus.memories, support, is_pooled=request.pool)
    return ModelWriter(
        model,
        corpus.memories,
        is_pooled=request.pool,
        max_cost_usd=request.max_cost_usd,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """What chance chose for one attempt at a sample."""

    picked: tuple[MemoryFile, ...] = ()
    category: str | None = None
    """Of a message that recalls nothing."""


@dataclass(slots=True, kw_only=True)
class _Generation:
    """One batch under way."""

    request: GenerateRequest
    corpus: Corpus
    batch: Batch
    writer: Writer
    support: Support
    told: Told
    known: Known = field(default_factory=Known)
    written: list[str] = field(default_factory=list)
    failed: list[FailedSample] = field(default_factory=list)
    redrawn: int = 0
    said: dict[str, list[str]] = field(default_factory=dict)
    """Messages by category."""

    async def run(self) -> Generated:
        """Every sample that is owed, in turn."""
        stopped = None
        try:
            for sample in self.batch.owed():
                # Offline nobody is ever waited for: without this nobody could interrupt it.
                await anyio.lowlevel.checkpoint()
                await self._sample(sample)
        except (ModelGone, BudgetSpent) as end:
            stopped = Stopped(reason=str(end), exit_code=end.exit_code)
        return Generated(
            folder=str(self.request.out),
            samples=self.request.samples,
            written=tuple(self.written),
            kept=tuple(name for _, name in sorted(self.batch.kept.items())),
            failed=tuple(self.failed),
            redrawn=self.redrawn,
            usage=self.writer.usage,
            stopped=stopped,
        )

    def know(self, name: str, test: BenchTest | Draft, category: str | None) -> None:
        """Nothing like this test is to be written."""
        self.known.add(name, test)
        if category is not None:
            self.said.setdefault(category, []).append(test.prompt)

    async def _sample(self, sample: int) -> None:
        reason = ""
        for attempt in range(1, DRAWS + 1):
            chance = Chance("select", self.request.seed, sample, attempt)
            drawn = self._drawn(sample, attempt, chance)
            try:
                draft = await self._draft(drawn, chance)
            except (ModelGone, BudgetSpent):
                raise
            except ModelFault as fault:
                self._fail(sample, str(fault))
                return
            if isinstance(draft, Draft):
                self._keep(sample, drawn, draft)
                return
            reason = draft.reason
            if attempt < DRAWS:
                self.redrawn += 1
                self.told(f"sample {sample} is drawn again: {reason}")
        self._fail(sample, f"{DRAWS} draws made no test; the last: {reason}")

    def _drawn(self, sample: int, attempt: int, chance: Chance) -> _Drawn:
        if self.request.amount == 0:
            # Each in turn, so that a few samples are not all greetings; then any.
            in_turn = Chance("category", self.request.seed).all(tuple(CATEGORIES))
            first = in_turn[(sample - 1) % len(in_turn)]
            return _Drawn(category=first if attempt == 1 else chance.one(in_turn))
        amount = self.request.amount
        if amount is None:
            # Of the sample and not of the attempt: hard amounts are not to be drawn away.
            most = min(MOST, len(self.corpus.memories))
            amount = Chance("amount", self.request.seed, sample).one(range(1, most + 1))
        return _Drawn(picked=tuple(chance.some(self.corpus.memories, amount)))

    async def _draft(self, drawn: _Drawn, chance: Chance) -> Draft | Refusal:
        if drawn.category is None:
            draft = await self.writer.write(drawn.picked, chance)
        else:
            before = self.said.get(drawn.category, ())
            draft = await self.writer.chat(drawn.category, before, chance)
        if isinstance(draft, Refusal):
            return draft
        twin = self.known.repeated_by(draft)
        if twin is not None:
            return Refusal(f"it repeats {twin}")
        return draft if drawn.category is None else self._unsupported(draft)

    def _unsupported(self, draft: Draft) -> Draft | Refusal:
        """The draft, if no memory has to do with it."""
        fits = self.support.fits(draft.prompt)
        nearest = max(fits, key=lambda name: fits[name])
        if fits[nearest] < STRONG:
            return draft
        return Refusal(f"{draft.prompt!r} is close to {nearest} (fit {fits[nearest]:.2f})")

    def _keep(self, sample: int, drawn: _Drawn, draft: Draft) -> None:
        test = BenchTest(
            expected=draft.expected,
            prompt=draft.prompt,
            headers=self._headers(sample, drawn, draft),
        )
        name = self.batch.write(sample, test)
        self.know(name, draft, drawn.category)
        self.written.append(name)
        self.told(f"{name}: {len(drawn.picked)} picked, {len(draft.expected)} expected")

    def _headers(self, sample: int, drawn: _Drawn, draft: Draft) -> Pairs:
        others = {"pool": "yes" if self.request.pool else "no"}
        if drawn.picked:
            others["picked_names"] = ", ".join(sorted(memory.name for memory in drawn.picked))
        if drawn.category is not None:
            others["category"] = drawn.category
        return bench_headers(
            generated=datetime.now(UTC),
            picked=len(drawn.picked),
            expected=len(draft.expected),
            corpus=self.corpus.digest,
            seed=self.request.seed,
            model=self.writer.name,
            **others,
            batch=self.batch.id,
            sample=str(sample),
        )

    def _fail(self, sample: int, reason: str) -> None:
        self.failed.append(FailedSample(sample=sample, reason=reason))
        self.told(f"sample {sample} failed: {reason}")
