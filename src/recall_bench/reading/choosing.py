"""Multiple choice without a model: the option that what was found speaks for most.

Whether there is a record at all is decided before, from the question, as for any other: a guess
would pass for memory one time in four. Then each option is weighed against the texts by itself,
without its letter, and the heaviest is the answer, letter and all, in the form in which a strict
reading finds exactly one letter: `(C) the red one`. Where no option has any support, or two have
the same and no other has more, as options of one wording always do, nothing is chosen.

Weight and threshold are those of quoting, fitted elsewhere. This form was picked among a few with
PersonaMem's 128k sample in view, so figures on that sample are not held out. The length of an
option is not looked at, though PersonaMem's right options give themselves away by it.
"""

import re
from collections.abc import Callable, Sequence

CHOICE_VERSION = "1"

_LETTER = re.compile(r"\A\([A-Za-z]\)\s*")


def choose_option(choices: Sequence[str], weigh: Callable[[str], float]) -> str | None:
    """The option that weighs most, as it was offered; None if none does alone."""
    weights = [weigh(_LETTER.sub("", choice, count=1)) for choice in choices]
    most = max(weights, default=0.0)
    heaviest = [choice for choice, weight in zip(choices, weights, strict=True) if weight == most]
    return heaviest[0] if most > 0 and len(heaviest) == 1 else None
