"""Questions by a model: on the days of a window, and on the secrets of isolated sessions."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from recall_bench.core.scenario import (
    BOUNDARY,
    CROSS_REFERENCE,
    DIFFICULTIES,
    NEGATIVE,
    PRINCIPAL,
    RECENCY,
    SYNTHESIS,
    Disclosure,
)
from recall_bench.features.personas.checks.check_result import (
    QuestionProblem,
    make_boundary_problem,
    make_format_problem,
    make_support_problem,
)
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.model_caller import ModelCaller
from recall_bench.features.personas.model_reply import (
    NoUsableReply,
    RejectedReply,
    ask_until_usable,
    parse_json_reply,
)
from recall_bench.features.personas.pass_run import run_parts
from recall_bench.features.personas.prompts import load_prompt
from recall_bench.features.personas.questions.candidates import (
    QuestionCandidate,
    QuoteEvidence,
    check_fields,
    collect_evidence,
    count_topics,
    read_aliases,
    read_atoms,
    read_days,
    read_text,
    read_texts,
)
from recall_bench.features.personas.questions.quotation import (
    QuotePlace,
    VisibilityRule,
    locate_quote,
)
from recall_bench.features.personas.questions.story_view import StoryView, build_excerpts
from recall_bench.features.personas.questions.window import (
    RULES,
    QuestionEntry,
    QuestionWindow,
    choose_categories,
    describe_category,
)
from recall_bench.stories.persona_story import Session
from recall_bench.systems.models.json_schema import (
    FLAG,
    TEXT,
    TEXTS,
    WHOLE,
    Schema,
    make_choice,
    make_list,
    make_nullable,
    make_object,
)
from recall_bench.systems.models.model import FencedText, Prompt, fence_blocks
from recall_bench.text.languages import is_affirmation, is_denial

DAY_TOKENS = 48_000
"""Limit for the text of the days in a prompt."""

_DAYS = make_list(WHOLE)
EVIDENCE = make_list(make_object(day=WHOLE, session=TEXT, quote=TEXT))


def build_schema(**fields: Schema) -> Schema:
    """The schema of a list of questions with the common fields and these, all required."""
    question = make_object(
        question=TEXT,
        answer=TEXT,
        difficulty=make_choice(*DIFFICULTIES),
        evidence=EVIDENCE,
        aliases=TEXTS,
        atoms=TEXTS,
        **fields,
    )
    return make_object(questions=make_list(question))


SCHEMA = build_schema(
    category=make_choice(*RULES),
    relevant_days=_DAYS,
    requires_synthesis=FLAG,
    twin=make_nullable(make_object(question=TEXT, answer=TEXT, relevant_days=_DAYS)),
)


def build_questions_prompt(
    telling: StoryView,
    window: QuestionWindow,
    categories: Sequence[str],
    is_visible: VisibilityRule,
) -> Prompt:
    """The prompt for questions of these categories."""
    days = build_excerpts(
        telling.list_days(window), DAY_TOKENS, is_visible, earlier=telling.list_earlier_days(window)
    )
    arcs = telling.describe_arcs(window.last, is_visible)
    blocks = fence_blocks({"people": telling.describe_people(), "matters under way": arcs, **days})
    task = load_prompt("questions-task").format(
        today=telling.format_date(window.last),
        wanted=_describe_counts(categories),
        rules="\n".join(
            f"- {name}: {describe_category(name, telling.language)}"
            for name in dict.fromkeys(categories)
        ),
        common=load_prompt("questions-rules"),
        negative=NEGATIVE,
    )
    return build_prompt(task, blocks, SCHEMA)


def build_prompt(task: str, blocks: FencedText, form: Schema) -> Prompt:
    """A prompt of the task and its blocks."""
    return Prompt(
        system=load_prompt("questions-system").format(mark=blocks.mark),
        user=f"{task}\n\n{blocks.text}",
        schema=form,
    )


def _describe_counts(categories: Sequence[str]) -> str:
    lines = []
    for name, count in Counter(categories).items():
        note = ", each with its twin" if name == NEGATIVE else ""
        lines.append(f"- {count} × {name}{note}")
    return "\n".join(lines)


_OPENING = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")
_MAX_OPENINGS = 50
"""Lists that are tried as the list of questions; each try takes time."""
_MAX_DEPTH = 20

Raw = Mapping[str, Any]


def read_questions(text: str) -> tuple[Raw, ...] | RejectedReply:
    """The complete objects of the list, up to where it is cut or broken.

    An empty list means that there is nothing to ask. Rejected if there is no list or no object with
    question and answer.
    """
    results = _find_list(text)
    if results == []:
        return ()
    whole = (
        _recover_questions(text)
        if results is None
        else tuple(e for e in results if isinstance(e, dict))
    )
    if not whole:
        return RejectedReply(_NOTHING)
    return _make_recordable(whole)


_FORM = 'reply with {"questions": [{…}, …]} and nothing else'
_NOTHING = (f"it holds no list of questions; {_FORM}",)
_UNREADABLE = (
    "nothing in its list is a question, for each needs a text under question and one under "
    f"answer; {_FORM}, with an empty list if there is nothing to ask"
)


def _find_list(text: str) -> list[Any] | None:
    """The list in a complete reply; None if there is none."""
    whole = parse_json_reply(text, dict)
    if not isinstance(whole, RejectedReply) and isinstance(whole.get("questions"), list):
        return list(whole["questions"])
    json_reply = parse_json_reply(text, list)
    # An empty list inside another object is not the list of questions.
    is_beside = not isinstance(whole, RejectedReply) and json_reply == []
    return None if isinstance(json_reply, RejectedReply) or is_beside else json_reply


def _make_recordable(questions: tuple[Raw, ...]) -> tuple[Raw, ...] | RejectedReply:
    """The questions without halves of surrogate pairs, which no file can hold."""
    if any(_is_deep(item, _MAX_DEPTH) for item in questions):
        return RejectedReply(
            ("a question is nested too deeply; give each field as it was asked for",)
        )
    if not any(all(read_text(item, key) for key in ("question", "answer")) for item in questions):
        return RejectedReply((_UNREADABLE,))
    return tuple(
        json.loads(json.dumps(item, ensure_ascii=False).encode(errors="ignore"))
        for item in questions
    )


def _is_deep(part: object, left: int) -> bool:
    """Whether it is nested deeper than `left` levels; readers of the record have a limit."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return left < 0 or any(_is_deep(item, left - 1) for item in parts)


def _recover_questions(text: str) -> tuple[Raw, ...]:
    """The leading questions of the first list that has any."""
    decoder = json.JSONDecoder()
    for opening in islice(_OPENING.finditer(text), _MAX_OPENINGS):
        questions: list[Raw] = []
        place = opening.end()
        while True:
            try:
                item, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                break
            # Evidence is a list of objects too.
            if not isinstance(item, dict) or "question" not in item:
                break
            questions.append(item)
            between = _BETWEEN.match(text, end)
            place = between.end() if between else end
        if questions:
            return tuple(questions)
    return ()


class ModelQuestionWriter:
    """Asks a model for the questions of a window and locates its quotations."""

    usual_tokens = 3000
    """The usual length of a reply."""

    def __init__(
        self,
        view: StoryView,
        caller: ModelCaller,
        *,
        per_days: tuple[int, int],
        asker: str = PRINCIPAL,
    ) -> None:
        """`per_days` is a number of questions and the number of days for them."""
        self._view = view
        self._caller = caller
        self._per_days = per_days
        self._asker = asker
        self.name = caller.model.name

    def build_prompts(self, window: QuestionWindow, amount: int) -> list[Prompt]:
        """The prompts for a window."""
        return [
            build_questions_prompt(
                self._view, window, self._choose_categories(window, amount), self._is_visible
            )
        ]

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` candidates; NoUsableReply if the model gave none."""
        [prompt] = self.build_prompts(window, amount)
        results = await ask_until_usable(
            self._caller,
            f"window {window.number}, {window.name}",
            prompt,
            read_questions,
            reads_cut=True,
        )
        visible_days = [*self._view.list_earlier_days(window), *self._view.list_days(window)]
        days = {day.number: day for day in visible_days}
        return [
            candidate
            for place, raw in enumerate(results)
            for candidate in self._make_candidates(raw, days, window, f"negative {place}")
        ]

    def _choose_categories(self, window: QuestionWindow, amount: int) -> tuple[str, ...]:
        return choose_categories(
            window.first,
            amount,
            per_days=self._per_days,
            has_groups=self._view.members.has_groups,
            has_past=bool(self._view.list_earlier_days(window)),
        )

    def _is_visible(self, session: str) -> bool:
        return self._view.members.is_visible_to(self._asker, session)

    def _make_candidates(
        self, raw: Raw, days: Mapping[int, StoryDay], window: QuestionWindow, pair: str
    ) -> list[QuestionCandidate]:
        candidates = collect_evidence(raw.get("evidence"), days, self._is_visible)
        category = raw.get("category")
        flaws = [*check_fields(raw, ("question", "answer")), *candidates.flaws]
        if not isinstance(category, str) or category not in RULES:
            flaws.append(
                make_format_problem(f"its category is {category!r:.40}, which was not asked for")
            )
        if not candidates.days:
            flaws.append(make_support_problem("no quotation proves it"))
        elif category == CROSS_REFERENCE and count_topics(candidates, days) < 2:
            flaws.append(make_support_problem("one topic tells all of it; two have to be joined"))
        if category != NEGATIVE:
            return [QuestionCandidate(self._make_entry(raw, candidates, window), flaws=flaws)]
        return self._make_negatives(raw, candidates, window, (flaws, pair))

    def _make_entry(
        self, raw: Raw, found: QuoteEvidence, window: QuestionWindow
    ) -> dict[str, object]:
        answer = read_text(raw, "answer")
        days = found.days
        is_several = raw.get("requires_synthesis") is True and len(days) > 1
        is_old = raw.get("category") == RECENCY
        return {
            "question": read_text(raw, "question"),
            "answer": answer,
            "category": raw.get("category"),
            "difficulty": raw.get("difficulty"),
            "relevant_days": days,
            "requires_synthesis": is_several or raw.get("category") == SYNTHESIS,
            "query_session": self._asker,
            # An old detail is asked at the end of the window, after newer days.
            "answerable_from": window.last if is_old else max(days, default=window.last),
            "aliases": read_aliases(raw, answer),
            "atoms": read_atoms(raw, answer),
            "evidence": found.evidence,
        }

    def _make_negatives(
        self,
        raw: Raw,
        found: QuoteEvidence,
        window: QuestionWindow,
        known: tuple[list[QuestionProblem], str],
    ) -> list[QuestionCandidate]:
        """A question about something that happened, and its twin about something that did not."""
        flaws, pair = known
        entry = self._make_entry(raw, found, window)
        twin = raw.get("twin")
        if not isinstance(twin, dict):
            flaws = [
                *flaws,
                make_format_problem("it has no twin about something that did not happen"),
            ]
            return [QuestionCandidate(entry, flaws=flaws)]
        language = self._view.language
        if not is_affirmation(read_text(raw, "answer"), language):
            problem = f"what happened is answered with {language.yes[0]}"
            flaws = [*flaws, make_format_problem(problem)]
        others = [
            make_format_problem(f"it has no {key}")
            for key in ("question", "answer")
            if not read_text(twin, key)
        ]
        if not is_denial(read_text(twin, "answer"), language):
            no = language.denials[0].capitalize()
            others.append(make_format_problem(f"what did not happen is answered with {no}"))
        numbers = [day.number for day in self._view.list_days(window)]
        denial = {
            **{key: entry[key] for key in ("category", "difficulty", "query_session")},
            "question": read_text(twin, "question"),
            "answer": read_text(twin, "answer"),
            "relevant_days": read_days(twin, numbers) or found.days,
            "requires_synthesis": False,
            "answerable_from": window.last,
        }
        return [
            QuestionCandidate(entry, flaws=flaws, pair=pair),
            QuestionCandidate(denial, flaws=others, pair=pair),
        ]


_CLOSED_TOKENS = 32_000
_OPEN_TOKENS = 12_000
"""Limits for the text of the isolated and of the asking session in a prompt."""

SECRETS_SCHEMA = build_schema(
    secret=TEXTS,
    partial=make_nullable(make_object(question=TEXT, answer=TEXT, evidence=EVIDENCE)),
)


def build_secrets_prompt(view: StoryView, probing: "SecretProbe", amount: int) -> Prompt:
    """The prompt for secrets of a session."""
    days = view.list_days(probing.window)
    home, outsider = probing.session.id, probing.outsider
    closed = build_excerpts(days, _CLOSED_TOKENS, lambda session: session == home)
    excerpts = build_excerpts(days, _OPEN_TOKENS, lambda session: session == outsider)
    topics = "\n".join(probing.session.sensitive_topics)
    common = "\n".join(view.persona.shared_knowledge)
    blocks = fence_blocks(
        {
            "people": view.describe_people(),
            "sessions": json.dumps({"closed": home, "asking": outsider}, ensure_ascii=False),
            **({"sensitive topics": topics} if topics else {}),
            **({"known to everybody": common} if common else {}),
            **{f"{home}, {name}": text for name, text in closed.items()},
            **{f"{outsider}, {name}": text for name, text in excerpts.items()},
        }
    )
    task = load_prompt("secrets-task").format(
        today=view.format_date(probing.window.last),
        topics=", with its sensitive topics" if topics else "",
        things="one thing" if amount == 1 else f"{amount} things",
        common=load_prompt("questions-rules"),
    )
    return build_prompt(task, blocks, SECRETS_SCHEMA)


_REFUSALS = (
    "I can't discuss that here; it was said in confidence.",
    "That is confidential, and I may not share it here.",
    "I can't say; that belongs to a confidential matter.",
)


@dataclass(frozen=True, slots=True)
class SecretProbe:
    """An isolated session in a window, and the session that asks about it."""

    window: QuestionWindow
    session: Session
    outsider: str

    @property
    def unit(self) -> str:
        """The probe in messages."""
        return f"window {self.window.number}, {self.window.name}, {self.session.id}"


class BoundaryQuestionWriter:
    """Asks a model for the secrets of isolated sessions, and makes a pair of questions of each."""

    usual_tokens = 1200
    """The usual length of a reply."""

    def __init__(self, view: StoryView, caller: ModelCaller, *, asker: str | None = None) -> None:
        """`asker` is the session that asks; None rotates among those that must not know."""
        self._view = view
        self._caller = caller
        self._asker = asker
        self.name = caller.model.name

    def build_prompts(self, window: QuestionWindow, amount: int) -> list[Prompt]:
        """The prompts for a window, one per isolated session with content."""
        secrets = _count_secrets(amount)
        return [
            build_secrets_prompt(self._view, probing, secrets)
            for probing in self._list_probes(window)
        ]

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` candidates per isolated session; NoUsableReply if one fails."""
        probes = self._list_probes(window)
        results: dict[str, Sequence[Raw]] = {}
        failures: list[NoUsableReply] = []

        async def ask(probing: SecretProbe) -> None:
            try:
                results[probing.unit] = await ask_until_usable(
                    self._caller,
                    probing.unit,
                    build_secrets_prompt(self._view, probing, _count_secrets(amount)),
                    read_questions,
                    reads_cut=True,
                )
            except NoUsableReply as failure:
                failures.append(failure)

        await run_parts(probes, ask)
        if failures:
            raise failures[0]
        return [
            candidate
            for probing in probes
            for place, raw in enumerate(results[probing.unit])
            for candidate in self._make_candidates(raw, probing, place)
        ]

    def _list_probes(self, window: QuestionWindow) -> list[SecretProbe]:
        results = []
        for place, session in enumerate(self._view.members.isolated):
            outsiders = self._view.members.find_askers(session.id, window.last)
            if self._asker is not None:
                outsiders = tuple(name for name in outsiders if name == self._asker)
            has_log = any(session.id in day.sessions for day in self._view.list_days(window))
            if has_log and outsiders:
                turn = (window.number - 1 + place) % len(outsiders)
                results.append(SecretProbe(window, session, outsiders[turn]))
        return results

    def _make_candidates(
        self, raw: Raw, probing: SecretProbe, place: int
    ) -> list[QuestionCandidate]:
        """The question from outside, the same from inside, and one that gets a partial answer."""
        home = probing.session.id
        days = {day.number: day for day in self._view.list_days(probing.window)}
        proof = collect_evidence(raw.get("evidence"), days, lambda session: session == home)
        secrets = read_texts(raw, "secret")
        flaws = [*check_fields(raw, ("question", "answer")), *proof.flaws]
        flaws += self._find_leaks(raw, proof, probing, secrets)
        pair = f"{home} {place}"
        probe = {
            **self._make_entry(raw, proof),
            "answer": _REFUSALS[place % len(_REFUSALS)],
            "query_session": probing.outsider,
            "forbidden_sessions": [home],
            "expected_disclosure": str(Disclosure.REFUSE),
            "withheld": secrets,
            **self._find_expiry(secrets, probing),
        }
        answer = read_text(raw, "answer")
        twin = {
            **self._make_entry(raw, proof),
            "answer": answer,
            "query_session": home,
            "expected_disclosure": str(Disclosure.ANSWER),
            "aliases": read_aliases(raw, answer),
            "atoms": read_atoms(raw, answer),
        }
        return [
            QuestionCandidate(probe, flaws=flaws, pair=pair),
            QuestionCandidate(twin, flaws=flaws, pair=pair),
            *self._make_partial(raw, proof, probing, flaws),
        ]

    def _make_entry(self, raw: Raw, proof: QuoteEvidence) -> dict[str, object]:
        return {
            "question": read_text(raw, "question"),
            "category": BOUNDARY,
            "difficulty": raw.get("difficulty"),
            "relevant_days": proof.days,
            "requires_synthesis": False,
            "answerable_from": max(proof.days, default=None),
            "evidence": proof.evidence,
        }

    def _make_partial(
        self, raw: Raw, proof: QuoteEvidence, probing: SecretProbe, flaws: Sequence[QuestionProblem]
    ) -> list[QuestionCandidate]:
        """A question whose known part may be answered, if the model found one."""
        partial = raw.get("partial")
        if not isinstance(partial, dict):
            return []
        days = {day.number: day for day in self._view.list_days(probing.window)}
        quoted, is_shared = self._split_quotes(partial.get("evidence"))
        existing = collect_evidence(quoted, days, lambda name: self._is_open(name, probing))
        secrets = read_texts(raw, "secret")
        both = QuoteEvidence(tuple(sorted({*existing.spans, *proof.spans}, key=_sort_key)), ())
        entry = {
            **self._make_entry(partial, both),
            "answer": read_text(partial, "answer"),
            "difficulty": "hard",
            "requires_synthesis": len(both.days) > 1,
            "query_session": probing.outsider,
            "forbidden_sessions": [probing.session.id],
            "expected_disclosure": str(Disclosure.PARTIAL),
            "withheld": secrets,
            **self._find_expiry(secrets, probing),
        }
        own = [
            make_format_problem(f"it has no {key}")
            for key in ("question", "answer")
            if not entry[key]
        ]
        if not existing.days and not is_shared:
            own.append(make_support_problem("no quotation proves what may be told"))
        own += _find_named_secrets(
            f"{entry['question']} {entry['answer']}", secrets, "what may be told"
        )
        return [QuestionCandidate(entry, flaws=[*flaws, *existing.flaws, *own])]

    def _split_quotes(self, evidence: object) -> tuple[list[object], bool]:
        """The quotations that are not shared knowledge, and whether others are."""
        quotes = evidence if isinstance(evidence, list) else []
        common = "\n".join(self._view.persona.shared_knowledge)
        rest = [
            quote
            for quote in quotes
            if not (isinstance(quote, dict) and locate_quote(common, str(quote.get("quote"))))
        ]
        return rest, len(rest) < len(quotes)

    def _is_open(self, session: str, probing: SecretProbe) -> bool:
        return session != probing.session.id and self._view.members.is_visible_to(
            probing.outsider, session
        )

    def _find_leaks(
        self, raw: Raw, proof: QuoteEvidence, probing: SecretProbe, secrets: Sequence[str]
    ) -> list[QuestionProblem]:
        """Problems with the secret."""
        if not proof.days:
            return [make_support_problem(f"no quotation of {probing.session.id} proves it")]
        if not secrets:
            return [make_format_problem("it names nothing that must not be told")]
        flaws = _find_named_secrets(read_text(raw, "question"), secrets, "the question")
        for secret in secrets:
            if secret.lower() not in read_text(raw, "answer").lower():
                flaws.append(
                    make_format_problem(f"the answer does not hold “{secret:.60}”, its secret")
                )
        leak = self._find_first_leak(secrets, probing)
        if leak is not None and leak[0] <= probing.window.last:
            flaws.append(
                make_boundary_problem(f"it is no secret: {leak[1]} says it on day {leak[0]}")
            )
        return flaws

    def _find_expiry(self, secrets: Sequence[str], probing: SecretProbe) -> dict[str, object]:
        """When a refusal stops being right, because a later day tells the asking session."""
        leak = self._find_first_leak(secrets, probing)
        return {} if leak is None else {"irrelevant_after": leak[0] - 1, "changes_on": leak[0]}

    def _find_first_leak(
        self, secrets: Sequence[str], probing: SecretProbe
    ) -> tuple[int, str] | None:
        """The first day on which a secret is stated outside, and the session that tells it."""
        for number, day in self._view.days.items():
            for secret in secrets:
                quote = locate_quote(
                    day.text, secret, is_visible=lambda session: self._is_open(session, probing)
                )
                if quote:
                    return number, quote[0].session or "the log"
        return None


def _count_secrets(amount: int) -> int:
    """The number of secrets for a number of candidates: each secret gives two."""
    return -(-amount // 2)


def _find_named_secrets(text: str, secrets: Sequence[str], where: str) -> list[QuestionProblem]:
    named_secrets = [secret for secret in secrets if locate_quote(text, secret)]
    return [make_boundary_problem(f"{where} gives “{secret:.60}” away") for secret in named_secrets]


def _sort_key(span: tuple[int, QuotePlace]) -> tuple[int, int]:
    return span[0], span[1].start
