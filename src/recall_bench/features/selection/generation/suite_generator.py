"""Generate a batch of tests from a folder of memories.

A sample is drawn, a writer makes a prompt of it and says what is relevant, and what passes every
check becomes a `.bench` file at once. There are two writers: a language model, and one that
composes prompts from the memories' own words.
"""

import errno
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.lowlevel

from recall_bench.core.atomic_file import name_beside, sweep_once
from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    DataError,
    ModelFault,
    ModelGone,
    ModelPending,
    UsageError,
    raise_problems,
)
from recall_bench.core.runtime import run_to_end
from recall_bench.features.selection.bench_file import (
    BenchTest,
    Pairs,
    make_headers,
    parse_bench,
    write_bench,
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
from recall_bench.features.selection.memory_file import MemoryFile, read_memory
from recall_bench.features.selection.suite import decode_text, digest_corpus, read_memories

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model

VERSION = "2"
"""Increase it when the same seed draws other tests: an old batch is then not resumed."""

ENDING = ".bench"
_HEX = 8
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of file systems without hard links."""


class SampleBatch:
    """The samples of one request; its files are recognised by their headers, not their names."""

    def __init__(
        self, request: SuiteRequest, corpus: str, model: str, there: Mapping[str, BenchTest]
    ) -> None:
        self._request = request
        # Everything that determines a sample; the number of samples does not.
        parts = (VERSION, corpus, model, request.seed, request.amount, request.pool, request.name)
        self.id = sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
        self.kept: dict[int, str] = {}
        """File name by sample, of those that exist already."""
        for name, test in sorted(there.items(), reverse=True):
            sample = test.find_header("Sample") or ""
            is_ours = test.find_header("Batch") == self.id and re.fullmatch(r"[1-9]\d{0,8}", sample)
            if is_ours and int(sample) <= request.samples:
                self.kept[int(sample)] = name

    def refuse_clashes(self) -> None:
        """UsageError if another file has the name of a missing sample."""
        paths = [self._choose_path(sample) for sample in self.list_missing()]
        taken = [path.name for path in paths if path is not None and os.path.lexists(path)]
        if taken:
            more = f" and {len(taken) - 1} more are" if len(taken) > 1 else " is"
            raise UsageError(
                f"--name: {taken[0]}{more} in {self._request.out} already, written by another "
                "command or for other memories; choose another --name or --out"
            )

    def list_missing(self) -> list[int]:
        """The samples without a file."""
        return [n for n in range(1, self._request.samples + 1) if n not in self.kept]

    def write(self, sample: int, test: BenchTest) -> str:
        """Write a new file atomically; returns its name. UsageError if it exists by now."""
        path = self._choose_path(sample)
        if path is None:
            digest = sha256("\n".join((*test.expected, "", test.prompt)).encode()).hexdigest()
            names = (f"{digest[:length]}{ENDING}" for length in range(_HEX, len(digest) + 1))
            paths = (self._request.out / name for name in names)
            path = next(path for path in paths if not os.path.lexists(path))
        _write_new(path, write_bench(test).encode())
        return path.name

    def _choose_path(self, sample: int) -> Path | None:
        """The path of the sample; None if it is named by its content."""
        request = self._request
        if request.name is None:
            return None
        number = f"-{sample:03}" if request.samples > 1 else ""
        return request.out / f"{request.name}{number}{ENDING}"


def _write_new(path: Path, content: bytes) -> None:
    beside = name_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_once(path.parent)
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                # Unlike a rename, a link fails if the file exists.
                path.hardlink_to(beside)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if os.path.lexists(path):
                    raise FileExistsError(path) from error
                beside.rename(path)
        finally:
            beside.unlink(missing_ok=True)
    except FileExistsError as error:
        raise UsageError(f"{path}: exists by now; choose another --name or --out") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCorpus:
    """A folder of memories and its digest."""

    memories: tuple[MemoryFile, ...]
    """Sorted by name."""
    digest: str
    """The same as in a suite over this folder."""


def open_corpus(folder: Path) -> MemoryCorpus:
    """Read every memory; UsageError if there is none, or one whose name no test can hold."""
    bytes_of = read_memories(folder)
    names = tuple(bytes_of)
    write_bench(BenchTest(expected=names, prompt=""))
    memories = tuple(read_memory(name, decode_text(bytes_of[name], name)) for name in names)
    return MemoryCorpus(memories=memories, digest=digest_corpus(bytes_of))


def open_tests(folder: Path) -> Mapping[str, BenchTest]:
    """Every test in the folder by relative path; empty if the folder does not exist.

    DataError if one cannot be read: a new test might repeat it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out: {folder} is not a folder; name one")
    tests: dict[str, BenchTest] = {}
    problems: list[BenchError] = []
    for path in sorted(path for path in folder.rglob(f"*{ENDING}") if path.is_file()):
        try:
            test = parse_bench(decode_text(path.read_bytes(), str(path)), str(path))
        except DataError as problem:
            problems.append(problem)
        else:
            tests[path.relative_to(folder).as_posix()] = test
    raise_problems(problems)
    return tests


NEARLY = 0.8
"""Share of common words from which two prompts with the same expectation count as repeats."""

_WORD = re.compile(r"\w+")


class KnownTests:
    """The tests that a new one must not repeat."""

    def __init__(self) -> None:
        self._by_prompt: dict[tuple[str, ...], str] = {}
        self._by_expected: dict[frozenset[str], list[tuple[frozenset[str], str]]] = {}

    def add(self, name: str, test: BenchTest | SuiteDraft) -> None:
        """Add a test under its name."""
        words = tuple(_WORD.findall(test.prompt.casefold()))
        self._by_prompt.setdefault(words, name)
        self._by_expected.setdefault(frozenset(test.expected), []).append((frozenset(words), name))

    def find_repeat(self, draft: SuiteDraft) -> str | None:
        """The test that the draft repeats, ignoring case and punctuation; None if it is new."""
        words = tuple(_WORD.findall(draft.prompt.casefold()))
        if words in self._by_prompt:
            return self._by_prompt[words]
        own = frozenset(words)
        for other, name in self._by_expected.get(frozenset(draft.expected), ()):
            if len(own & other) >= NEARLY * len(own | other):
                return name
        return None


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
        writer: PromptWriter
        if model is None:
            writer = PromptComposer(corpus.memories, relevance, is_pooled=request.pool)
        else:
            writer = ModelWriter(
                model,
                corpus.memories,
                is_pooled=request.pool,
                max_cost_usd=request.max_cost_usd,
            )
        batch = SampleBatch(request, corpus.digest, writer.name, existing)
        batch.refuse_clashes()
        generation = _SuiteGeneration(
            request=request,
            corpus=corpus,
            batch=batch,
            writer=writer,
            relevance=relevance,
            on_progress=on_progress,
            categories=SampleRandom("category", request.seed).shuffle(
                tuple(load_phrases().small_talk)
            ),
        )
        for name, test in existing.items():
            generation.add_known(name, test, test.find_header("Category"))
        return await generation.run()


def _open_model(request: SuiteRequest) -> "Model":
    from recall_bench.core.settings import Settings
    from recall_bench.systems.models.target import resolve_model

    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings)
    if model is None:
        # The value is not repeated: it may be a key in the wrong place.
        raise UsageError("--model: unknown model; give offline, or a model as provider:model")
    return model


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
