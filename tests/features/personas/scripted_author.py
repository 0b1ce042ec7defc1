"""A model that does every pass well, and the same to the same prompt, without one.

`--model tests/features/personas/scripted_author.py:author` lets the commands use it as they use
any other.
"""

import json
import re
from datetime import datetime
from hashlib import sha256

from recall_bench.systems.models.model import Prompt
from tests.features.personas.made_personas import persona, story
from tests.features.personas.scripted_days import entry_for
from tests.features.personas.told_persona import write_calls, write_dialogue

_DAYS = re.compile(r"\b(\d+) days\b")
_SHOWN = re.compile(r"<<[^\n]*?day (\d+), ([^>\n]*) \w+>>\n(.*?)\n<<end of", re.DOTALL)
_NOTE = re.compile(r"# session: (\S+)|^(The delivery note for the (\w+) is (\S+)\.)$", re.MULTILINE)
_ITEMS = "anchor windlass capstan rudder tiller keel mast boom sail oar bilge cleat".split()


def author(system: str, user: str) -> str:
    """The reply of a model that can write everything."""
    prompt = Prompt(system=system, user=user)
    if "for a story of" in user or "arcs" in user.partition("<<")[0]:
        return json.dumps(story(_length(user)))
    if "<<description" in user:
        return json.dumps(persona())
    if "into the conversation it could have had" in system:
        return write_dialogue(prompt)
    if "put into its long-term memory" in system:
        return write_calls(prompt)
    if "questions that test" in system:
        return json.dumps({"questions": _secrets(user) if "<<sessions" in user else _asked(user)})
    if "You verify the questions" in system:
        return json.dumps({"verdict": "ANSWERABLE", "reasoning": "The log says so."})
    return _entry(prompt)


def _length(user: str) -> int:
    found = _DAYS.search(user)
    assert found is not None
    return int(found[1])


def _entry(prompt: Prompt) -> str:
    """An entry with one value of its own, so that there is something to ask about."""
    mark = sha256(prompt.user.split("rejected reply")[0].encode()).hexdigest()
    number = int(mark[:8], 16)
    item, note = _ITEMS[number % len(_ITEMS)], f"DN-{mark[8:14].upper()}"
    return f"{entry_for(prompt)}\n\nThe delivery note for the {item} is {note}."


def _notes(user: str) -> list[tuple[int, str, str, str, str, str]]:
    """Day, date, session, sentence, item and note of everything that can be asked about."""
    found = []
    for day, dated, text in _SHOWN.findall(user):
        session = "principal"
        for match in _NOTE.finditer(text):
            if match[1]:
                session = match[1]
            else:
                found.append((int(day), dated, session, match[2], match[3], match[4]))
    return found


def _asked(user: str) -> list[dict[str, object]]:
    return [
        {
            "question": f"Which number did the {item} arrive under on {_spoken(dated)}?",
            "answer": note,
            "category": "factual-recall",
            "difficulty": "easy",
            "relevant_days": [day],
            "requires_synthesis": False,
            "evidence": [{"day": day, "session": session, "quote": sentence}],
            "aliases": [],
            "atoms": [note],
            "twin": None,
        }
        for day, dated, session, sentence, item, note in _notes(user)[-3:]
    ]


def _secrets(user: str) -> list[dict[str, object]]:
    closed = json.loads(re.findall(r"<<sessions \w+>>\n(.*?)\n<<", user)[0])["closed"]
    return [
        {
            "question": f"Which number did the {item} come under on {_spoken(dated)}?",
            "answer": f"It came under {note}.",
            "secret": [note],
            "difficulty": "easy",
            "evidence": [{"day": day, "session": closed, "quote": sentence}],
            "aliases": [],
            "atoms": [note],
            "partial": None,
        }
        for day, dated, _, sentence, item, note in _notes(user)[:2]
    ]


def _spoken(dated: str) -> str:
    """The date of a block's name."""
    found = re.search(r"\d{4}-\d\d-\d\d", dated)
    if found is None:
        return re.sub(r"^\w+day,? ", "", dated)
    at = datetime.fromisoformat(found[0])
    return f"{at.day} {at:%B %Y}"
