"""The rules of a gate, from a file and from flags; in points of 100."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import suggest
from recall_bench.core.record import ComputedRecord
from recall_bench.core.type_words import split_type_error
from recall_bench.core.untrusted_json import require_file
from recall_bench.core.yaml12 import read_document

FULL_SCORE: Final = 100.0
"""Scores are in points of 100, the share of full marks; rates are in %."""
DEFAULT_DETECTABLE_LOSS: Final = 5.0
"""By default, the gate must be able to detect a loss of the margin plus this."""


class GateRules(ComputedRecord, frozen=True, kw_only=True):
    """What a run has to keep to; None where there is no rule."""

    min_score: float | None = None
    max_invented: float | None = None
    """Answers that are invented, in % of judged answers; leaks are not among them."""
    max_hallucination: float | None = None
    """Answers that are invented or leak, in % of judged answers."""
    max_leaks: int | None = None
    """Answers that leak a secret."""
    min_category: Mapping[str, float] = {}
    max_figure: Mapping[str, float] = {}
    """The most that figures of a behaviour suite, or of a dataset's protocol, may be: shares in %,
    times in milliseconds."""
    min_figure: Mapping[str, float] = {}
    """The least that they may be."""
    score: str | None = None
    """The figure of a dataset's protocol that is the score; by default the first it has."""
    judge: str | None = None
    """The judge to go by, by its name, or `every` for all of them; by default the first one."""
    confident: bool = False
    """Whether the worse end of the 95 % interval must meet these limits, not only the value. Leaks
    are counted, not estimated."""
    margin: float | None = None
    """The loss against the baseline that is tolerated overall; 0 by default."""
    category_margin: float | None = None
    """The same in each category; by default as overall."""
    hallucination_margin: float | None = None
    """How far the share of answers that are invented or leak may rise; not checked by default."""
    notice: float | None = None
    """The loss that the gate must be able to detect; by default the margin plus 5 points."""
    prove: bool = False
    """Whether the gate passes only if a loss of more than the margin is ruled out."""

    @property
    def has_absolute_rules(self) -> bool:
        """Whether any rule needs no baseline."""
        limits = (self.min_score, self.max_invented, self.max_hallucination, self.max_leaks)
        named = (self.min_category, self.max_figure, self.min_figure)
        return any(named) or any(limit is not None for limit in limits)

    @property
    def has_figure_rules(self) -> bool:
        """Whether any rule is about a figure of a behaviour suite or of a protocol."""
        return bool(self.max_figure or self.min_figure)

    @property
    def tolerated_loss(self) -> float:
        """The loss that is tolerated overall."""
        return self.margin or 0.0

    @property
    def tolerated_category_loss(self) -> float:
        """The loss that is tolerated in each category."""
        return self.tolerated_loss if self.category_margin is None else self.category_margin

    def get_detectable_loss(self, tolerated: float) -> float:
        """The loss to be caught, given the tolerated one."""
        if self.notice is None or self.notice <= tolerated:
            return tolerated + DEFAULT_DETECTABLE_LOSS
        return self.notice


_BY_NAME = ("min_category", "max_figure", "min_figure")
"""Fields that have a limit for each of several names."""
_BASELINE_FIELDS = ("margin", "category_margin", "hallucination_margin", "notice", "prove")
"""Fields that need a baseline."""

FieldNamer = Callable[[str], str]
"""Names a field in a message: by its flag, or by its key and line in a file."""


def format_flag(field: str) -> str:
    """`--min-score` for `min_score`."""
    return "--" + field.replace("_", "-")


def format_key(field: str) -> str:
    """`minScore` for `min_score`, as files spell it."""
    first, *others = field.split("_")
    return first + "".join(word.capitalize() for word in others)


def read_rules(content: object, where: str, named: FieldNamer) -> dict[str, object]:
    """The fields that a file sets; UsageError names an unknown one."""
    if content is None:
        return {}
    fields = {format_key(field.name): field.name for field in msgspec.structs.fields(GateRules)}
    if not isinstance(content, dict):
        raise UsageError(f"{where}: rules are a mapping of keys; known keys: {', '.join(fields)}")
    for key in content:
        if key not in fields:
            hint = suggest(key, fields, f"known keys: {', '.join(fields)}")
            raise UsageError(f"{where}: unknown key {str(key)[:60]!r}; {hint}")
    rules = {fields[key]: value for key, value in content.items() if value is not None}
    for field, value in rules.items():
        check_rules({field: value}, named)
    return rules


def read_rules_file(path: Path, flag: str) -> dict[str, object]:
    """The fields that a YAML file sets; UsageError names the flag, or the key and its line."""
    require_file(path, flag)
    document = read_document(path)

    def name_field(field: str) -> str:
        key = format_key(field)
        return f"{document.describe_place(key)}: {key}"

    return read_rules(document.content, str(path), name_field)


def list_rules(rules: GateRules, *, has_baseline: bool) -> Iterator[tuple[str, str | None]]:
    """The rules that a run will be checked by, each with its category where it is about one."""
    yield "run", None
    plain = ("min_score", "min_category", "max_invented", "max_hallucination", "max_leaks")
    for field in (*plain, "max_figure", "min_figure"):
        rule = format_flag(field).removeprefix("--")
        if field in _BY_NAME:
            yield from ((rule, name) for name in getattr(rules, field))
        elif getattr(rules, field) is not None:
            yield rule, None
    if has_baseline:
        yield from ((rule, None) for rule in ("baseline", "alike", "margin", "category-margin"))
        if rules.hallucination_margin is not None:
            yield "hallucination-margin", None


def merge_rules(*layers: Mapping[str, object]) -> GateRules:
    """Merge layers of rules, later ones over earlier; categories and figures one by one."""
    merged: dict[str, object] = {}
    by_name: dict[str, dict[object, object]] = {field: {} for field in _BY_NAME}
    for layer in layers:
        merged |= layer
        for field in by_name:
            named_limits = layer.get(field)
            if isinstance(named_limits, Mapping):
                by_name[field] |= named_limits
    rules = check_rules({**merged, **by_name}, format_flag)
    _check_consistency(rules)
    return rules


def check_rules(given: Mapping[str, object], named: FieldNamer) -> GateRules:
    """Convert to rules; UsageError names a field with an invalid value."""
    try:
        rules = msgspec.convert(dict(given), GateRules)
    except msgspec.ValidationError as error:
        problem, place = split_type_error(error)
        field = place.partition("[")[0] or "rules"
        if "[" in place and (name := _find_wrong_name(given[field])) is not None:
            problem = f"{name}: {problem}"
        raise UsageError(f"{named(field)}: {problem}") from error
    for field, number in _list_numbers(rules):
        # Written so that NaN is refused too.
        if not 0 <= number <= FULL_SCORE:
            raise UsageError(f"{named(field)}: {number:g} is not between 0 and 100 points of 100")
    for field in ("max_figure", "min_figure"):
        for name, limit in getattr(rules, field).items():
            if not 0 <= limit < math.inf:
                raise UsageError(f"{named(field)}: {limit:g} is not a limit for {name}")
    if rules.max_leaks is not None and rules.max_leaks < 0:
        raise UsageError(f"{named('max_leaks')}: must be 0 or more; got {rules.max_leaks}")
    return rules


def _find_wrong_name(limits: object) -> str | None:
    """The first name of a mapping whose limit is no number: its place in an error is left out."""
    if not isinstance(limits, Mapping):
        return None
    wrong = (str(name) for name, limit in limits.items() if not isinstance(limit, int | float))
    return next(wrong, None)


def require_baseline(rules: GateRules) -> None:
    """Raise UsageError if a rule needs a baseline, or if there is no rule at all."""
    defaults = GateRules()
    for field in _BASELINE_FIELDS:
        if getattr(rules, field) != getattr(defaults, field):
            raise UsageError(f"{format_flag(field)} needs a baseline; add --baseline RUN")
    if not rules.has_absolute_rules:
        raise UsageError("no rule is set; give --baseline, --min-score or --rules gate.yaml")


def _list_numbers(rules: GateRules) -> list[tuple[str, float]]:
    plain = ("min_score", "max_invented", "max_hallucination", "margin", "category_margin")
    fields = (*plain, "hallucination_margin", "notice")
    numbers = [(field, getattr(rules, field)) for field in fields]
    numbers += [("min_category", least) for least in rules.min_category.values()]
    return [(field, number) for field, number in numbers if number is not None]


def _check_consistency(rules: GateRules) -> None:
    if rules.prove and not rules.tolerated_loss:
        raise UsageError(
            "--prove: a loss of exactly 0 cannot be proven; set --margin to the loss you accept"
        )
    if rules.notice is not None and rules.notice <= rules.tolerated_loss:
        raise UsageError(
            f"--notice {rules.notice:g} is within --margin {rules.tolerated_loss:g}, so the gate "
            "ignores such a loss; set a larger --notice"
        )
