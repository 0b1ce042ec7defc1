"""In what two plans differ, in words."""

from hashlib import sha256

from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import DatasetCard, Plan
from recall_bench.core.reader import ReaderCard
from recall_bench.core.verdict import JudgeCard


def list_differences(one: Plan, other: Plan, *, between: str = ", now ") -> list[str]:
    """Each field in which the plans differ, with both values; empty if they are one plan."""
    if one.digest == other.digest:
        return []
    return [
        f"{name.replace('_', ' ')} ({_describe_change(old, new, between)})"
        for name in Plan.__struct_fields__
        if (old := getattr(one, name)) != (new := getattr(other, name))
    ]


def _describe_change(old: object, new: object, between: str) -> str:
    """Both values in words; where the words are the same, their digests tell them apart."""
    before, after = _describe_value(old), _describe_value(new)
    if before == after:
        before, after = (f"{before} {_hash_value(value)}" for value in (old, new))
    return f"{before}{between}{after}"


def _describe_value(value: object) -> str:
    match value:
        case SystemCard() | JudgeCard() | ReaderCard():
            return f"{value.name} {value.version}"
        case DatasetCard():
            return f"{value.name} ({value.protocol}, {len(value.files)} files)"
        case tuple():
            return " ".join(
                str(getattr(part, "label", getattr(part, "id", part))) for part in value
            )
        case _:
            return str(value)


def _hash_value(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:8]
