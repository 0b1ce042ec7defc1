"""Offline, a description finds its trade by words for who somebody is or where they work."""

from pathlib import Path

from recall_bench.features.personas.simulator.trades import (
    find_trade,
    find_trade_folder,
    load_trades,
)
from recall_bench.stories.persona_story import read_persona
from tests.loops import loop_over_rows

PAGE = Path(__file__).parents[4] / "docs/how-to/create-persona.md"

PROMPTS = {
    "backend-eng-saas": (
        "A software developer at a small startup who is on call for the billing service",
        "The aide of a site reliability engineer at a cloud hosting company",
        "A programmer who migrates a payment API to a new database",
        "Tech lead of a team that builds a web app for dentists",
        "DevOps engineer, Kubernetes and outages",
        "a software engineer at a startup",
        "SRE on call for a payment processor",
    ),
    "er-physician": (
        "An emergency doctor on the night shift of a county hospital",
        "A trauma surgeon",
        "The assistant of a nurse who runs triage",
        "Paediatrician in a busy clinic",
        "A paramedic who writes up patient handovers",
        "A physician at an ER",
        "A physician who runs an emergency department",
        "An ER physician at a rural hospital who coordinates night shifts",
        "A nurse in a busy emergency department",
    ),
    "executive-assistant": (
        "The secretary of a CEO who travels every week",
        "A chief of staff to the founder of a shipping company",
        "Personal assistant to a museum director: calendars, board meetings, flights",
        "Office manager at a mid-sized firm",
        "Someone who keeps the diary of a managing director",
        "chief of staff to a mayor",
    ),
    "financial-advisor": (
        "A wealth manager with forty families as clients",
        "An accountant in the tax season",
        "A pension planner at a small bank",
        "Portfolio manager of an endowment fund",
        "An insurance broker who reviews policies with retirees",
        "tax accountant",
        "a wealth manager for rich families",
    ),
    "litigation-attorney": (
        "A trial lawyer preparing for a jury trial",
        "Public defender with too many cases",
        "A paralegal at a law firm handling discovery",
        "Barrister in commercial disputes",
        "In-house counsel at a maker of medical devices",
        "A litigation attorney",
        "immigration solicitor in London",
        "A lawyer.",
    ),
    "research-scientist": (
        "A postdoc in a virology lab",
        "Professor of chemistry writing a grant",
        "A PhD student who runs experiments on zebrafish",
        "The helper of a microbiologist who studies antibiotics",
        "Principal investigator of a cancer research group",
        "a PhD student in a biology lab",
    ),
}

OF_NO_TRADE = (
    "A baker with two shops",
    "A farmer who keeps goats and sells cheese at the market",
    "An airline pilot on long-haul routes",
    "A wedding photographer",
    "The manager of a football team",
    "A carpenter who builds kitchens",
    "Violinist in a touring orchestra",
    "A novelist working on a second book",
    "A hairdresser who runs a salon and three employees",
    "Stage manager at a theatre, with unions and money to worry about",
    "A chef who runs a restaurant",
    "A pastry chef",
    "A plumber on emergency calls",
    "A property developer",
    "The brother-in-law of a chess champion",
    "A seller of medical equipment",
    "xyzzy",
    "the of and",
    "一人の医者",
    "?",
    "",
)


@loop_over_rows("trade", load_trades())
def test_a_description_finds_its_trade(trade: str) -> None:
    found = {prompt: find_trade(prompt) for prompt in PROMPTS[trade]}

    assert {prompt: named[0] if named else None for prompt, named in found.items()} == (
        dict.fromkeys(PROMPTS[trade], trade)
    )


@loop_over_rows("prompt", OF_NO_TRADE)
def test_a_description_of_another_trade_finds_none(prompt: str) -> None:
    assert find_trade(prompt) is None


def test_it_says_by_which_words() -> None:
    found = find_trade("NURSES of the Emergency\nRoom, nurses!")

    assert found is not None
    assert found[1] == ("nurse", "emergency room")


@loop_over_rows(
    ("prompt", "trade"),
    [
        ("A lawyer at a hospital", "litigation-attorney"),
        ("A surgeon with a lawyer", "er-physician"),
        ("At a hospital, hospitals all around: an attorney in a law office", "litigation-attorney"),
        ("The chief financial officer and her financial planner", "executive-assistant"),
    ],
)
def test_most_words_decide_and_then_the_first(prompt: str, trade: str) -> None:
    found = find_trade(prompt)

    assert found is not None
    assert found[0] == trade


def test_every_shipped_trade_is_found_by_its_own_words() -> None:
    for trade in load_trades():
        for words in (trade, read_persona(find_trade_folder(trade)).role):
            found = find_trade(words)
            assert found is not None
            assert found[0] == trade


def test_the_page_lists_every_trade_with_its_assistant() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for trade, about in load_trades().items():
        assert (
            f"| `{trade}` | {about['field']} | {read_persona(find_trade_folder(trade)).name} |"
            in page
        )
