"""How hard a kind of question is: measured on the baselines, not felt."""

_MEASURED: dict[str, str] = {
    "factual-recall/choice": "hard",  # 15% of 203
    "factual-recall/choice/named": "medium",  # 47% of 202
    "factual-recall/code/named": "medium",  # 23% of 10
    "factual-recall/date": "hard",  # 20% of 34
    "factual-recall/date/named": "medium",  # 35% of 41
    "factual-recall/money": "hard",  # 13% of 56
    "factual-recall/money/named": "medium",  # 49% of 46
    "factual-recall/number": "hard",  # 10% of 104
    "factual-recall/number/named": "medium",  # 37% of 90
    "factual-recall/percent": "hard",  # 19% of 14
    "factual-recall/percent/named": "easy",  # 56% of 18
    "factual-recall/person": "medium",  # 24% of 46
    "factual-recall/person/named": "medium",  # 46% of 61
    "factual-recall/time": "hard",  # 12% of 11
    "factual-recall/time/named": "medium",  # 43% of 10
    "temporal-reasoning/date": "hard",  # 10% of 226
    "temporal-reasoning/date/named": "easy",  # 58% of 220
    "temporal-reasoning/gap": "hard",  # 4% of 145
    "temporal-reasoning/gap/named": "hard",  # 8% of 108
    "temporal-reasoning/order2/named": "easy",  # 54% of 206
    "temporal-reasoning/order3/named": "hard",  # 7% of 204
    "decision-tracking/choice": "hard",  # 17% of 152
    "decision-tracking/choice/named": "easy",  # 56% of 147
    "decision-tracking/person": "medium",  # 34% of 95
    "decision-tracking/person/named": "easy",  # 61% of 101
    "contradiction-resolution/now": "hard",  # 12% of 222
    "contradiction-resolution/now/named": "easy",  # 54% of 237
    "contradiction-resolution/then": "hard",  # 14% of 135
    "contradiction-resolution/then/named": "medium",  # 35% of 123
    "cross-reference/shared": "hard",  # 15% of 213
    "cross-reference/shared/named": "medium",  # 44% of 240
    "recency-bias-resistance/choice": "hard",  # 14% of 113
    "recency-bias-resistance/choice/named": "easy",  # 52% of 107
    "recency-bias-resistance/date": "medium",  # 22% of 27
    "recency-bias-resistance/date/named": "medium",  # 39% of 23
    "recency-bias-resistance/money": "hard",  # 13% of 25
    "recency-bias-resistance/money/named": "medium",  # 41% of 30
    "recency-bias-resistance/number": "hard",  # 12% of 55
    "recency-bias-resistance/number/named": "medium",  # 46% of 59
    "recency-bias-resistance/percent": "hard",  # 13% of 10
    "recency-bias-resistance/person": "hard",  # 15% of 33
    "recency-bias-resistance/person/named": "medium",  # 44% of 36
    "recency-bias-resistance/time": "hard",  # 17% of 12
    "recency-bias-resistance/time/named": "hard",  # 10% of 10
    "synthesis/count": "hard",  # 5% of 202
    "synthesis/highest": "hard",  # 2% of 202
    "synthesis/lowest": "hard",  # 6% of 34
    "synthesis/total": "hard",  # 0% of 202
    "negative-recall/no": "hard",  # 20% of 208
    "negative-recall/no/named": "hard",  # 7% of 200
    "negative-recall/yes": "hard",  # 10% of 213
    "negative-recall/yes/named": "hard",  # 9% of 195
    "group-session-attribution/person": "medium",  # 34% of 213
    "group-session-attribution/person/named": "easy",  # 57% of 235
    "information-boundary/answer": "hard",  # 12% of 265
    "information-boundary/answer/named": "medium",  # 48% of 314
    "information-boundary/partial": "hard",  # 0% of 52
    "information-boundary/partial/named": "hard",  # 6% of 67
    "information-boundary/refuse": "medium",  # 38% of 259
    "information-boundary/refuse/named": "hard",  # 7% of 270
}
"""Kind of question to difficulty, as `benchmarks/difficulty.py` prints it."""


def get_difficulty(kind: str) -> str:
    """The difficulty of a kind of question; medium where it was never measured.

    A kind ends in `/named` where the question calls its subject by the name the text uses.
    """
    return _MEASURED.get(kind, "medium")
