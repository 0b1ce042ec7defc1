"""Sixteen memories of a plausible agent, in every shape that memories have."""

from pathlib import Path

from recall_bench.features.selection.generation.sample import SuiteRequest
from recall_bench.features.selection.memory_file import MemoryFile, read_memory


def _parts(hint: str, keywords: str, body: str) -> str:
    return (
        f"<conditional>{hint}</conditional>\n<fuzzy-match>{keywords}</fuzzy-match>\n"
        f"<memory>\n{body}\n</memory>\n"
    )


TEXTS: dict[str, str] = {
    "bike-service": _parts(
        "when the user asks about repairing their bicycle",
        "bicycle, gears, workshop",
        "The workshop on Miller Street is open on Saturdays until two. The rear brake was replaced "
        "in March; the chain is due next.",
    ),
    "billing-outage": _parts(
        "before anyone restarts the billing service",
        "invoices, restart, ledger",
        "Drain the invoice queue first, then restart the ledger worker. A restart with a full "
        "queue charged 212 customers twice.",
    ),
    "dentist": _parts(
        "if the user wants to book a medical appointment",
        "appointment, teeth",
        "Dr Halvorsen sees patients on Tuesdays and Thursdays. Ask for the room without a window.",
    ),
    "espresso": _parts(
        "whenever somebody makes coffee",
        "coffee, grinder",
        "The user prefers eighteen grams in and thirty-six out. The grinder stands at four.",
    ),
    "garden-beds": "# Vegetables\n\nThe tomatoes stand by the south wall. Beans follow garlic in "
    "bed two, never potatoes.\n\n- Water before eight, or not at all.\n",
    "house-style": _parts(
        "when writing documentation",
        "prose, docs, wording",
        "Short sentences, no passive voice, British spelling. Never write *simply*.",
    ),
    "insurance": "---\ndescription: Home insurance policy and how to claim\ntags: [claim, policy]\n"
    "---\nThe policy covers water damage up to 40,000 euros. A claim must reach Norwick Mutual "
    "within ten days.\n",
    "kubernetes-notes": "The staging cluster runs two nodes in Frankfurt. Rollbacks go through "
    "`helm rollback`, **never** through kubectl edit.\n",
    "landlord": _parts(
        "Rent, repairs and the landlord",
        "rent, lease",
        "Mr Okoro wants the rent by transfer on the third. He answers letters, not calls.",
    ),
    "marathon": _parts(
        "when the user is training for a race",
        "running, pace, knee",
        "The user has a weak left knee and usually stops at twelve kilometres.",
    ),
    "piano": "Lessons are on Wednesday at five with Mrs Lindqvist. Currently learning the second "
    "Gymnopédie; the left hand is too loud.\n",
    "rye-bread": _parts(
        "when baking",
        "sourdough, starter, oven",
        "The rye starter is fed on Fridays and wants water at forty degrees.",
    ),
    "sister": "Ingrid lives in Bergen with two dogs. Her birthday is the ninth of May, and she is "
    "allergic to hazelnuts.\n",
    "tax-return": _parts(
        "Relevant when the user mentions taxes or deductions",
        "taxes, deductions, receipts",
        "The accountant needs all receipts by the end of February. The home office counts for 12 "
        "square metres.",
    ),
    "telescope": "Das Teleskop steht im Keller. Der Spiegel wurde im Juni neu justiert.\n",
    "trains": _parts(
        "when planning a longer journey",
        "railway, ticket, journey",
        "Night trains only in a single cabin; a window seat by day. The railcard number ends in "
        "7731.",
    ),
}
"""By the stem of the file."""

TWIN = _parts(
    "when baking bread",
    "sourdough, starter, oven",
    "The rye starter is fed on Fridays and wants water at about forty degrees.",
)
"""Says what `rye-bread` says."""


def memories() -> tuple[MemoryFile, ...]:
    return tuple(read_memory(f"memory/{stem}.md", text) for stem, text in TEXTS.items())


def written(folder: Path, **more: str) -> Path:
    """The folder of memories, with more of them or others in their place."""
    memory = folder / "memory"
    memory.mkdir(exist_ok=True)
    for stem, text in {**TEXTS, **more}.items():
        (memory / f"{stem.replace('_', '-')}.md").write_text(text, encoding="utf-8")
    return memory


def asked(folder: Path, **more: object) -> SuiteRequest:
    """A request for tests of the folder's memories in its `tests`."""
    memory = folder / "memory"
    memory = memory if memory.is_dir() else written(folder)
    return SuiteRequest(**{"memories": memory, "out": folder / "tests", **more})  # type: ignore[arg-type]
