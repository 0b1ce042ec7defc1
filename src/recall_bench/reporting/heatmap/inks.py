"""The colours that stand for no number, and what marks a cell."""

INK, MUTED, RULE = "#1b1f24", "#4d5762", "#8b949e"
NO_DATA_FILL, DASH = "#b3b9c2", "#4d5762"
NOT_YET, NOT_YET_BORDER = "#f3f5f8", "#9aa4b0"
ALARM, WARNING = "#b42318", "#8a5a00"

SMALL_HEIGHT = 0.5
"""How much of its height a cell has that holds no words and is over few questions."""
