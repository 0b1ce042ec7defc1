"""Every example on the page about the gate runs and shows what the page says."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/explanation/gate.md"


def test_the_examples_on_the_page_are_true() -> None:
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, PAGE.name, 0)
    said: list[str] = []

    found = doctest.DocTestRunner(verbose=False).run(page, out=said.append)

    assert found.attempted > 10
    assert found.failed == 0, "".join(said)
