"""A service is given a day by sessions, in pieces it takes, and is waited for within reason."""

from datetime import date

import pytest

from recall_bench.core.errors import SystemBusy
from recall_bench.features.products.service import (
    ServiceErrors,
    SessionPiece,
    build_service_passage,
    label_session,
    list_visible_labels,
    make_unique_name,
    read_api_key,
    split_pieces,
    wait_for_processing,
)
from recall_bench.systems.notes import split_notes
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

DAY = """Rain all day.

# session: principal

## Money

The rent is 900 euros. It is due on Friday.

## Health

The dentist moved the appointment to Monday.

# session: team

- Ship it
- Then rest
"""


def cut(content: str = DAY, *, most: int = 10_000) -> list[SessionPiece]:
    told = DayMetadata(day_number=7, date="2026-01-31", persona_id="ada")
    return split_pieces(7, content, told, most=most)


class Refused(Exception):
    def __init__(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.body = body
        self.headers = headers


class Late(Exception):
    pass


class Away(Exception):
    pass


FAULTS = ServiceErrors(
    product="Shelf",
    key="k-1",
    timeouts=(Late,),
    connection_errors=(Away,),
    status_errors=(Refused,),
)


def test_a_piece_is_what_one_session_said_under_its_headings() -> None:
    rain, principal, team = cut()

    assert (rain.session, rain.text) == (None, "Rain all day.")
    assert principal.text == (
        "principal\nMoney\nThe rent is 900 euros. It is due on Friday.\n"
        "principal\nHealth\nThe dentist moved the appointment to Monday."
    )
    assert team.session == "team"
    assert len({piece.id for piece in (rain, principal, team)}) == 3


@pytest.mark.parametrize("most", [12, 40, 10_000])
def test_no_piece_is_longer_than_a_service_takes_and_nothing_is_lost(most: int) -> None:
    told = DayMetadata(day_number=7, date="2026-01-31", persona_id="ada")
    content = DAY + "\n\nendless" * 3 + "x" * 2000

    pieces = split_pieces(7, content, told, most=most)

    assert max(len(piece.text) for piece in pieces) <= most
    whole = "".join("".join(piece.text.split()) for piece in pieces)
    for note in split_notes(7, content, told):
        assert "".join(note.search_text.removeprefix(f"{note.context}\n").split()) in whole


def test_a_piece_is_dated_with_a_zone_and_marked_with_its_session() -> None:
    rain, principal, _ = cut()

    assert principal.at.isoformat() == "2026-01-31T00:00:00+00:00"
    assert (rain.label, principal.label) == ("session:", "session:principal")
    assert all(str(value) for value in rain.metadata.values())


def test_what_is_found_has_its_day_whatever_a_service_made_of_its_number() -> None:
    _, principal, _ = cut()

    passage = build_service_passage(
        "The rent.", {**principal.metadata, "day": "7.0"}, 0.5, result_id="r"
    )

    assert passage == {
        "text": "On 2026-01-31 (principal): The rent.",
        "id": "r",
        "day": 7,
        "source": principal.id,
        "score": 0.5,
    }


def test_what_a_service_kept_nothing_beside_is_given_back_as_it_is() -> None:
    assert build_service_passage("Somebody rents.", {}, None)["text"] == "Somebody rents."
    assert build_service_passage("Somebody rents.", {}, None)["day"] is None


def test_a_question_sees_its_own_session_and_none_and_the_principal_all() -> None:
    def asked_from(session: str) -> QueryContext:
        return QueryContext(date=date(2026, 2, 1), session=session, persona="ada", question_id="q")

    assert list_visible_labels(asked_from("principal")) is None
    assert list_visible_labels(asked_from("team")) == [label_session(None), label_session("team")]


def test_names_are_never_the_same() -> None:
    assert make_unique_name() != make_unique_name()


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_key_that_is_not_there_is_asked_for_by_its_variable(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHELF_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SHELF_KEY", value)

    with pytest.raises(RuntimeError, match="Shelf needs a key; put it into the variable SHELF_KEY"):
        read_api_key("Shelf", "SHELF_KEY")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_says_when_to_come_back(status: int) -> None:
    with pytest.raises(SystemBusy) as busy, FAULTS.translate():
        raise Refused(status, "slowly", {"retry-after": "9"})

    assert busy.value.retry_after_s == 9


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        pytest.param(Late("k-1"), TimeoutError, id="late"),
        pytest.param(Away("k-1"), ConnectionError, id="unreachable"),
        pytest.param(Refused(400, {"said": "k-1"}), RuntimeError, id="refused"),
        pytest.param(Refused(500, None), RuntimeError, id="broken"),
    ],
)
def test_other_errors_are_distinguished_and_none_contains_the_key(
    error: Exception, meant: type[Exception]
) -> None:
    with pytest.raises(meant, match="Shelf") as raised, FAULTS.translate():
        raise error

    assert "k-1" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.anyio
async def test_waiting_ends_when_nothing_is_waiting_busy_or_not() -> None:
    states: list[int | SystemBusy] = [2, SystemBusy("slowly"), 1, 0]

    async def waiting() -> int:
        state = states.pop(0)
        if isinstance(state, SystemBusy):
            raise state
        return state

    await wait_for_processing("Shelf", waiting, timeout_s=60, poll_s=0)

    assert states == []


@pytest.mark.anyio
async def test_waiting_has_an_end_and_says_how_to_move_it() -> None:
    async def waiting() -> int:
        return 3

    with pytest.raises(RuntimeError, match=r"Shelf was still processing 3 .* settle_timeout_s"):
        await wait_for_processing("Shelf", waiting, timeout_s=0.02, poll_s=0.01)
