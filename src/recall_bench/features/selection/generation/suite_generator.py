"""Generate a batch of tests from a folder of memories.

A sample is drawn, a writer makes a prompt of it and says what is relevant, and what passes every
check becomes a `.bench` file at once. There are two writers: a language model, and one that
composes prompts from the memories' own words.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.lowlevel

from recall_bench.core.errors import BudgetSpent, ModelFault, ModelGone, ModelPending, UsageError
from recall_bench.core.event_loop import run_to_end
from recall_bench.features.selection.bench_file import BenchTest, Pairs, make_headers
from recall_bench.features.selection.generation.batch import (
    KnownTests,
    MemoryCorpus,
    SampleBatch,
    open_corpus,
    open_tests,
)
from recall_bench.features.selection.generation.composer import (
    STRONG,
    MemoryRelevance,
    PromptComposer,
    load_phrases,
)
from recall_bench.features.selection.generation.model_writer import ModelWriter
from recall_bench.features.selection.generation.sample import (
    MAX_PICKED,
    OFFLINE,
    BatchStop,
    DrawRefusal,
    FailedSample,
    GeneratedSuite,
    PromptWriter,
    SampleRandom,
    SuiteDraft,
    SuiteRequest,
)
from recall_bench.features.selection.memory_file import MemoryFile

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model

MAX_DRAWS = 8
"""Draws of a sample before it counts as failed."""

OnProgress = Callable[[str], None]
"""Called with a sentence about each sample: what was written, what is redrawn and why."""


def generate_tests(
    request: SuiteRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> GeneratedSuite:
    """Write the missing tests of the batch.

    Each test is on disk before the next sample is drawn, and the same request resumes an earlier
    one. A failing sample affects no other. UsageError and DataError are raised before anything is
    spent. A given model replaces the one that the request names, and is closed at the end.
    """
    return run_to_end(_generate_tests, request, on_progress, model)


async def _generate_tests(
    request: SuiteRequest, on_progress: OnProgress, given: "Model | None"
) -> GeneratedSuite:
    async with AsyncExitStack() as stack:
        if given is not None:
            stack.push_async_callback(given.close)
        corpus = open_corpus(request.memories)
        if (request.amount or 0) > len(corpus.memories):
            raise UsageError(
                f"--amount: {request.amount} memories cannot be picked from {len(corpus.memories)}"
            )
        existing = open_tests(request.out)
        model = given
        if model is None and request.model != OFFLINE:
            model = _open_model(request)
            stack.push_async_callback(model.close)
        relevance = MemoryRelevance(corpus.memories)
        writer = _build_writer(request, corpus, relevance, model)
        batch = SampleBatch(request, corpus.digest, writer.name, existing)
        batch.refuse_clashes()
        generation = _SuiteGeneration(
            request=request,
            corpus=corpus,
            batch=batch,
            writer=writer,
            relevance=relevance,
            on_progress=on_progress,
            categories=_shuffle_categories(request.seed),
        )
        for name, test in existing.items():
            generation.add_known(name, test, test.find_header("Category"))
        return await generation.run()


def _shuffle_categories(seed: int) -> list[str]:
    return SampleRandom("category", seed).shuffle(tuple(load_phrases().small_talk))


def _open_model(request: SuiteRequest) -> "Model":
    from recall_bench.core.settings import Settings
    from recall_bench.systems.models.target import resolve_model

    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings)
    if model is None:
        # The value is not repeated: it may be a key in the wrong place.
        raise UsageError("--model: unknown model; give offline, or a model as provider:model")
    return model


def _build_writer(
    request: SuiteRequest, corpus: MemoryCorpus, relevance: MemoryRelevance, model: "Model | None"
) -> PromptWriter:
    if model is None:
        return PromptComposer(corpus.memories, relevance, is_pooled=request.pool)
    return ModelWriter(
        model,
        corpus.memories,
        is_pooled=request.pool,
        max_cost_usd=request.max_cost_usd,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleDraw:
    """The draw of one attempt at a sample."""

    picked: tuple[MemoryFile, ...] = ()
    category: str | None = None
    """The category of a message that recalls nothing."""


@dataclass(slots=True, kw_only=True)
class _SuiteGeneration:
    """The state of one batch."""

    request: SuiteRequest
    corpus: MemoryCorpus
    batch: SampleBatch
    writer: PromptWriter
    relevance: MemoryRelevance
    on_progress: OnProgress
    categories: Sequence[str]
    """The categories of messages that recall nothing, in the order of the samples."""
    known: KnownTests = field(default_factory=KnownTests)
    written: list[str] = field(default_factory=list)
    failed: list[FailedSample] = field(default_factory=list)
    redrawn: int = 0
    messages: dict[str, list[str]] = field(default_factory=dict)
    """Messages by category."""

    async def run(self) -> GeneratedSuite:
        """Generate every missing sample in turn."""
        stopped = None
        try:
            for sample in self.batch.list_missing():
                # The offline writer never waits: without this it could not be interrupted.
                await anyio.lowlevel.checkpoint()
                await self._generate_sample(sample)
        except (ModelGone, ModelPending, BudgetSpent) as end:
            stopped = BatchStop(reason=str(end), exit_code=end.exit_code)
        return GeneratedSuite(
            folder=str(self.request.out),
            samples=self.request.samples,
            written=tuple(self.written),
            kept=tuple(name for _, name in sorted(self.batch.kept.items())),
            failed=tuple(self.failed),
            redrawn=self.redrawn,
            usage=self.writer.usage,
            stopped=stopped,
        )

    def add_known(self, name: str, test: BenchTest | SuiteDraft, category: str | None) -> None:
        """Add a test that new ones must not repeat, also to the messages of its category."""
        self.known.add(name, test)
        if category is not None:
            self.messages.setdefault(category, []).append(test.prompt)

    async def _generate_sample(self, sample: int) -> None:
        reason = ""
        for attempt in range(1, MAX_DRAWS + 1):
            rng = SampleRandom("select", self.request.seed, sample, attempt)
            if self.request.amount == 0:
                draw = _SampleDraw(category=self._draw_category(sample, attempt, rng))
            else:
                draw = _SampleDraw(picked=self._draw_memories(sample, rng))
            try:
                draft = await self._write_draft(draw, rng)
            except (ModelGone, ModelPending):
                # They are ModelFaults, but end the batch: another sample would meet them too.
                raise
            except ModelFault as fault:
                self._fail(sample, str(fault))
                return
            if isinstance(draft, SuiteDraft):
                self._save_test(sample, draw, draft)
                return
            reason = draft.reason
            if attempt < MAX_DRAWS:
                self.redrawn += 1
                self.on_progress(f"sample {sample} is drawn again: {reason}")
        self._fail(sample, f"{MAX_DRAWS} draws made no test; the last: {reason}")

    def _draw_category(self, sample: int, attempt: int, rng: SampleRandom) -> str:
        """Each category in turn, so that few samples are not all greetings; then any."""
        if attempt == 1:
            return self.categories[(sample - 1) % len(self.categories)]
        return rng.choose(self.categories)

    def _draw_memories(self, sample: int, rng: SampleRandom) -> tuple[MemoryFile, ...]:
        memories, amount = self.corpus.memories, self.request.amount
        if amount is None:
            # Drawn per sample and not per attempt, so that hard amounts are not avoided.
            amounts = range(1, min(MAX_PICKED, len(memories)) + 1)
            amount = SampleRandom("amount", self.request.seed, sample).choose(amounts)
        return tuple(rng.sample(memories, amount))

    async def _write_draft(self, drawn: _SampleDraw, rng: SampleRandom) -> SuiteDraft | DrawRefusal:
        if drawn.category is None:
            draft = await self.writer.write(drawn.picked, rng)
        else:
            before = self.messages.get(drawn.category, ())
            draft = await self.writer.chat(drawn.category, before, rng)
        if isinstance(draft, DrawRefusal):
            return draft
        repeated = self.known.find_repeat(draft)
        if repeated is not None:
            return DrawRefusal(f"it repeats {repeated}")
        return draft if drawn.category is None else self._refuse_relevant(draft)

    def _refuse_relevant(self, draft: SuiteDraft) -> SuiteDraft | DrawRefusal:
        """The draft of a message that recalls nothing; a refusal if a memory fits it."""
        fits = self.relevance.score_memories(draft.prompt)
        nearest = max(fits, key=lambda name: fits[name])
        if fits[nearest] < STRONG:
            return draft
        return DrawRefusal(f"{draft.prompt!r} is close to {nearest} (fit {fits[nearest]:.2f})")

    def _save_test(self, sample: int, drawn: _SampleDraw, draft: SuiteDraft) -> None:
        test = BenchTest(
            expected=draft.expected,
            prompt=draft.prompt,
            headers=self._build_headers(sample, drawn, draft),
        )
        name = self.batch.write(sample, test)
        self.add_known(name, draft, drawn.category)
        self.written.append(name)
        self.on_progress(f"{name}: {len(drawn.picked)} picked, {len(draft.expected)} expected")

    def _build_headers(self, sample: int, drawn: _SampleDraw, draft: SuiteDraft) -> Pairs:
        # The order of the headers in the file: batch and sample come last.
        others = {"pool": "yes" if self.request.pool else "no"}
        if drawn.picked:
            others["picked_names"] = ", ".join(sorted(memory.name for memory in drawn.picked))
        if drawn.category is not None:
            others["category"] = drawn.category
        return make_headers(
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
        self.on_progress(f"sample {sample} failed: {reason}")
