"""Text that every file of a story can hold."""

import re

_UNWRITABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def remove_unwritable(text: str) -> str:
    """The text without the blanks around it; what YAML or UTF-8 cannot hold is a blank.

    Those are control characters and halves of surrogate pairs, which JSON can spell.
    """
    return _UNWRITABLE.sub(" ", text.replace("\r\n", "\n")).strip()
