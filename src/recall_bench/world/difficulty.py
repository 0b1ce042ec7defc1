"""How hard a kind of question is: measured on the baselines, not felt."""

_MEASURED: dict[str, str] = {
    "factual-recall/choice": "hard",  # 19% of 96
    "factual-recall/choice/named": "medium",  # 47% of 111
    "factual-recall/date": "hard",  # 2% of 18
    "factual-recall/date/named": "medium",  # 45% of 22
    "factual-recall/money/named": "medium",  # 36% of 13
    "factual-recall/number": "hard",  # 7% of 63
    "factual-recall/number/named": "medium",  # 28% of 55
    "factual-recall/percent/named": "easy",  # 53% of 10
    "factual-recall/person": "medium",  # 38% of 26
    "factual-recall/person/named": "easy",  # 51% of 34
    "temporal-reasoning/date": "hard",  # 4% of 70
    "temporal-reasoning/date/named": "easy",  # 63% of 121
    "temporal-reasoning/gap": "hard",  # 5% of 58
    "temporal-reasoning/gap/named": "hard",  # 10% of 65
    "temporal-reasoning/order2/named": "easy",  # 53% of 102
    "temporal-reasoning/order3/named": "hard",  # 3% of 102
    "decision-tracking/choice": "medium",  # 24% of 83
    "decision-tracking/choice/named": "easy",  # 60% of 73
    "decision-tracking/person": "medium",  # 43% of 44
    "decision-tracking/person/named": "easy",  # 51% of 46
    "contradiction-resolution/now": "hard",  # 5% of 136
    "contradiction-resolution/now/named": "easy",  # 54% of 96
    "contradiction-resolution/then": "hard",  # 16% of 74
    "contradiction-resolution/then/named": "medium",  # 34% of 55
    "cross-reference/shared": "hard",  # 13% of 131
    "cross-reference/shared/named": "medium",  # 44% of 99
    "recency-bias-resistance/choice": "hard",  # 16% of 60
    "recency-bias-resistance/choice/named": "easy",  # 52% of 60
    "recency-bias-resistance/date/named": "medium",  # 40% of 16
    "recency-bias-resistance/money/named": "easy",  # 57% of 10
    "recency-bias-resistance/number": "hard",  # 8% of 30
    "recency-bias-resistance/number/named": "medium",  # 45% of 41
    "recency-bias-resistance/person": "hard",  # 4% of 17
    "recency-bias-resistance/person/named": "easy",  # 51% of 13
    "synthesis/count": "hard",  # 8% of 102
    "synthesis/highest": "hard",  # 2% of 102
    "synthesis/lowest": "hard",  # 5% of 32
    "synthesis/total": "hard",  # 1% of 102
    "negative-recall/no": "medium",  # 24% of 100
    "negative-recall/no/named": "hard",  # 7% of 104
    "negative-recall/yes": "hard",  # 12% of 113
    "negative-recall/yes/named": "hard",  # 6% of 91
    "group-session-attribution/person": "medium",  # 42% of 105
    "group-session-attribution/person/named": "easy",  # 58% of 119
    "information-boundary/answer": "hard",  # 15% of 128
    "information-boundary/answer/named": "easy",  # 51% of 156
    "information-boundary/partial": "hard",  # 1% of 36
    "information-boundary/partial/named": "hard",  # 2% of 40
    "information-boundary/refuse": "medium",  # 42% of 131
    "information-boundary/refuse/named": "hard",  # 7% of 140
}
"""Kind of question to difficulty, as `benchmarks/difficulty.py` prints it."""


def difficulty(kind: str) -> str:
    """The difficulty of a kind of question; medium where it was never measured.

    A kind ends in `/named` where the question calls its subject by the name the text uses.
    """
    return _MEASURED.get(kind, "medium")
