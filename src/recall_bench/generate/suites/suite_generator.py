"""Generate a batch of tests from a folder of memories.

A sample is drawn, a writer makes a prompt of it and says what is relevant, and what passes every
check becomes a `.bench` file at once. There are two writers: a language model, and one that
composes prompts from the memories' own words.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from recall_bench.core.errors import BudgetSpent, ModelFault, ModelGone, ModelPending, UsageError
from recall_bench.core.event_loop import run_to_end
from recall_bench.datasets.selection.bench_file import BenchTest, Pairs, make_headers
from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.generate.suites.batch import (
    KnownTests,
    MemoryCorpus,
    SampleBatch,
    open_corpus,
    open_tests,
)
from recall_bench.generate.suites.composer import (
    STRONG,
    MemoryRelevance,
    PromptComposer,
    load_phrases,
)
from recall_bench.generate.suites.model_writer import ModelWriter
from recall_bench.generate.suites.sample import (
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

if TYPE_CHECKING:
    from recall_bench.models.model import Model

DRAWS = 8
"""Draws of a sample before it counts as failed."""
MOST = 5
"""Most memories picked for a sample if the request gives no number."""

OnProgress = Callable[[str], None]
"""Called with a sentence about each sample: what was written, what is redrawn and why."""


def generate_tests(
    request: SuiteRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> GeneratedSuite:
    """Write the missing tests of the batch.

    Each test is on disk before the next sample is drawn, and the same request resumes an earlier
    one. A failing sample affects no other. UsageError and DataError are raised before anything is
    spent. A given model replaces the one the request names.
    """
    corpus = open_corpus(request.memories)
    if (request.amount or 0) > len(corpus.memories):
        raise UsageError(
            f"--amount: {request.amount} memories cannot be picked from {len(corpus.memories)}"
        )
    there = open_tests(request.out)
    if model is None and request.model != OFFLINE:
        model = _open_model(request)

    async def run() -> GeneratedSuite:
        support = MemoryRelevance(corpus.memories)
        writer = _build_writer(request, corpus, support, model)
        try:
            batch = SampleBatch(request, corpus.digest, writer.name, there)
            batch.refuse_clashes()
            generation = _SuiteGeneration(
                request=request,
                corpus=corpus,
                batch=batch,
                writer=writer,
                support=support,
                on_progress=on_progress,
            )
            for name, test in there.items():
                generation.remember(name, test, test.find_header("Category"))
            return await generation.run()
        finally:
            await writer.close()

    return run_to_end(run)


def _open_model(request: SuiteRequest) -> "Model":
    from recall_bench.core.settings import Settings
    from recall_bench.models.model_target import resolve_model

    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings)
    if model is None:
        # The value is not repeated: it may be a key in the wrong place.
        raise UsageError("--model: unknown model; give offline, or a model as provider:model")
    return model


def _build_writer(
    request: SuiteRequest, corpus: MemoryCorpus, support: MemoryRelevance, model: "Model | None"
) -> PromptWriter:
    if model is None:
        return PromptComposer(corpus.memories, support, is_pooled=request.pool)
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
    support: MemoryRelevance
    on_progress: OnProgress
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

    def remember(self, name: str, test: BenchTest | SuiteDraft, category: str | None) -> None:
        """Note a test that must not be repeated."""
        self.known.add(name, test)
        if category is not None:
            self.messages.setdefault(category, []).append(test.prompt)

    async def _generate_sample(self, sample: int) -> None:
        reason = ""
        for attempt in range(1, DRAWS + 1):
            chance = SampleRandom("select", self.request.seed, sample, attempt)
            drawn = self._draw_sample(sample, attempt, chance)
            try:
                draft = await self._write_draft(drawn, chance)
            except (ModelGone, ModelPending, BudgetSpent):
                raise
            except ModelFault as fault:
                self._fail(sample, str(fault))
                return
            if isinstance(draft, SuiteDraft):
                self._save_test(sample, drawn, draft)
                return
            reason = draft.reason
            if attempt < DRAWS:
                self.redrawn += 1
                self.on_progress(f"sample {sample} is drawn again: {reason}")
        self._fail(sample, f"{DRAWS} draws made no test; the last: {reason}")

    def _draw_sample(self, sample: int, attempt: int, chance: SampleRandom) -> _SampleDraw:
        if self.request.amount == 0:
            # Each category in turn, so that few samples are not all greetings; then any.
            in_turn = SampleRandom("category", self.request.seed).shuffle(
                tuple(load_phrases().small_talk)
            )
            first = in_turn[(sample - 1) % len(in_turn)]
            return _SampleDraw(category=first if attempt == 1 else chance.choose(in_turn))
        amount = self.request.amount
        if amount is None:
            # Drawn per sample and not per attempt, so that hard amounts are not avoided.
            most = min(MOST, len(self.corpus.memories))
            amount = SampleRandom("amount", self.request.seed, sample).choose(range(1, most + 1))
        return _SampleDraw(picked=tuple(chance.sample(self.corpus.memories, amount)))

    async def _write_draft(
        self, drawn: _SampleDraw, chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        if drawn.category is None:
            draft = await self.writer.write(drawn.picked, chance)
        else:
            before = self.messages.get(drawn.category, ())
            draft = await self.writer.chat(drawn.category, before, chance)
        if isinstance(draft, DrawRefusal):
            return draft
        twin = self.known.find_repeat(draft)
        if twin is not None:
            return DrawRefusal(f"it repeats {twin}")
        return draft if drawn.category is None else self._check_support(draft)

    def _check_support(self, draft: SuiteDraft) -> SuiteDraft | DrawRefusal:
        """The draft if no memory fits it, else a refusal."""
        fits = self.support.score_memories(draft.prompt)
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
        self.remember(name, draft, drawn.category)
        self.written.append(name)
        self.on_progress(f"{name}: {len(drawn.picked)} picked, {len(draft.expected)} expected")

    def _build_headers(self, sample: int, drawn: _SampleDraw, draft: SuiteDraft) -> Pairs:
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
