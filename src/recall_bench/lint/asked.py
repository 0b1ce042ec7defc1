"""One question as the lints see it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.question import PRINCIPAL, Item
from recall_bench.lint.atoms import TextValue, exclude_known, find_claims
from recall_bench.lint.words import collect_stems, collect_topics

_DENIAL = re.compile(
    r"\W*(?:no|none|not|never|nothing|neither|nobody|nowhere|nor)\b", re.IGNORECASE
)
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)


@dataclass(frozen=True)
class LintQuestion:
    """One question, its place in the file, and the keys beyond the public format."""

    item: Item
    line: int | None
    """Where it stands in its file; None if it stands in none yet."""
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def category(self) -> str:
        """One of the ten."""
        return self.item.truth.category

    @property
    def reference(self) -> str:
        """The right answer."""
        return self.item.truth.reference

    @property
    def session(self) -> str:
        """Where it is asked from."""
        return self.item.session or PRINCIPAL

    @cached_property
    def days(self) -> tuple[int, ...]:
        """The days its answer rests on, ascending."""
        return tuple(sorted({cited.day for cited in self.item.truth.evidence}))

    @cached_property
    def opens(self) -> int:
        """The first day on which it may be asked."""
        given = self.extra.get("answerable_from")
        return max(self.item.known_from, given if isinstance(given, int) else 0)

    @property
    def denies(self) -> bool:
        """Whether its answer opens with a no."""
        return _DENIAL.match(self.reference) is not None

    @property
    def affirms(self) -> bool:
        """Whether its answer opens with a yes."""
        return _YES.match(self.reference) is not None

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the question's words with content."""
        return collect_stems(self.item.text)

    @cached_property
    def topics(self) -> frozenset[str]:
        """What the question is about."""
        return collect_topics(self.item.text)

    @cached_property
    def atoms(self) -> tuple[TextValue, ...]:
        """What its answer must hold and the question does not give away."""
        demanded = "; ".join(self.list_texts("atoms"))
        return exclude_known(find_claims(demanded or self.reference), self.item.text)

    @cached_property
    def exact(self) -> tuple[TextValue, ...]:
        """Those of its atoms that are not met by chance."""
        return tuple(atom for atom in self.atoms if atom.is_exact)

    def list_texts(self, key: str) -> tuple[str, ...]:
        """The texts an extra key lists; none where it is absent or something else."""
        value = self.extra.get(key)
        return (
            tuple(part for part in value if isinstance(part, str))
            if isinstance(value, list)
            else ()
        )

    def is_open_with(self, other: "LintQuestion") -> bool:
        """Whether there is a day on which both may be asked."""
        ends = [end for a in (self, other) if (end := a.item.known_until) is not None]
        return max(self.opens, other.opens) <= min(ends, default=max(self.opens, other.opens))
