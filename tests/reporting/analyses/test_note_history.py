"""The notes of a memory, replayed: which were removed, and which old texts came back."""

import pytest

from recall_bench.core.tool_call import AgentCall, FoundNote, NoteWrite, ToolRole
from recall_bench.reporting.analyses.note_history import NoteHistory


def replay(*calls: tuple[ToolRole, str | None, str | None]) -> NoteHistory:
    """The history of these calls, one a day."""
    history = NoteHistory()
    for day, (role, note, text) in enumerate(calls, start=1):
        write = NoteWrite(note=note, text=text)
        history.apply(AgentCall(number=1, tool=role, role=role, writes=(write,)), day)
    return history


def list_back(history: NoteHistory) -> list[str]:
    return [text.text for text in history.texts if text.came_back]


BUDGET = (
    (ToolRole.SAVE, "n1", "Budget is 500."),
    (ToolRole.UPDATE, "n1", "Budget is 500 for travel and 300 for books."),
)
ANA = (
    (ToolRole.SAVE, "n1", "Ana"),
    (ToolRole.DELETE, "n1", None),
    (ToolRole.SAVE, "n2", "Met Ana in Rome. She wants tea."),
)


@pytest.mark.parametrize(
    ("calls", "result"),
    [
        pytest.param(BUDGET, "Budget is 500 for travel", id="a part that repeats the old text"),
        pytest.param(BUDGET, "Budget is 500.", id="a part that is the old text"),
        pytest.param(BUDGET, "Budget is 500 for tra…", id="a part that is cut"),
        pytest.param(BUDGET, "Found: budget is 500 for travel; 1 more", id="a part amid others"),
        pytest.param(ANA, "Met Ana in Rome.", id="a part of another note"),
        pytest.param(ANA, "[n2] Met Ana in Rome. She wants tea.", id="another note"),
    ],
)
def test_what_a_standing_text_explains_has_not_come_back(
    calls: tuple[tuple[ToolRole, str, str | None], ...], result: str
) -> None:
    history = replay(*calls)

    history.note_results([FoundNote(text=result, note=history.standing[0].note)])

    assert list_back(history) == []


@pytest.mark.parametrize("result", ["Leeks: bed 7.", "[n1] Leeks: bed 7. Water them.", "Leeks: be"])
def test_what_no_standing_text_explains_has_come_back(result: str) -> None:
    history = replay(
        (ToolRole.SAVE, "n1", "Leeks: bed 7."),
        (ToolRole.DELETE, "n1", None),
        (ToolRole.SAVE, "n2", "Chard: bed 14."),
    )

    history.note_results([FoundNote(text=result)])

    assert list_back(history) == ["Leeks: bed 7."]


def test_an_id_is_learned_from_a_search() -> None:
    history = replay((ToolRole.SAVE, None, "bed 7"), (ToolRole.SAVE, None, "bed 14"))
    history.note_results([FoundNote(text="Bed 7", note="17")])

    deletion = AgentCall(
        number=1, tool="drop", role=ToolRole.DELETE, writes=(NoteWrite(note="17"),)
    )
    history.apply(deletion, 3)

    assert [text.text for text in history.standing] == ["bed 14"]
    assert history.texts[0].removed_by is ToolRole.DELETE
    assert history.unmatched == 0


def test_a_note_may_be_deleted_by_its_text() -> None:
    history = replay((ToolRole.SAVE, None, "Bed 7."), (ToolRole.DELETE, "bed 7", None))

    assert history.standing == ()
    assert history.unmatched == 0


def test_changes_of_unknown_notes_are_counted() -> None:
    history = replay(
        (ToolRole.SAVE, None, "bed 7"),
        (ToolRole.DELETE, "17", None),
        (ToolRole.UPDATE, "17", "bed 9"),
        (ToolRole.UPDATE, "17", "bed 11"),
    )

    assert history.unmatched == 2
    assert [text.text for text in history.standing] == ["bed 7", "bed 11"]
