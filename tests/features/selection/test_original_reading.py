"""What the original script sees in a file, one quirk at a time.

Every file here says something else to us; the last test holds that the two readings agree
wherever no quirk applies.
"""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.features.selection.bench_file import (
    EXPECTED,
    PROMPT,
    BenchTest,
    parse_bench,
    write_bench,
)

A, B = "memory/a.md", "memory/b.md"


class OriginalReading(NamedTuple):
    """What the original script makes of a file."""

    expected: tuple[str, ...]
    prompt: str


def read_as_original(text: str) -> OriginalReading:
    """Read a file like the original script, with its faults.

    It drops `#` lines anywhere, obeys `[expected]` and `[prompt]` lines anywhere, takes any other
    section for content, loses a last line without a line end and leading blank lines of a prompt,
    and sees no section in a file of CR LF.
    """
    section = ""
    expected: list[str] = []
    prompt = ""
    # Bash drops NUL, and `read` fails on a last line without an end.
    for line in text.replace("\0", "").split("\n")[:-1]:
        if line.startswith("#"):
            continue
        if line in {EXPECTED, PROMPT}:
            section = line
        elif section == EXPECTED and line:
            expected.append(line)
        elif section == PROMPT:
            prompt = f"{prompt}\n{line}" if prompt else line
    return OriginalReading(tuple(expected), prompt)


@pytest.mark.parametrize(
    ("text", "expected", "prompt"),
    [
        pytest.param(
            f"[expected]\n{A}\n\n[prompt]\none\n# two\n#three\nfour\n",
            (A,),
            "one\nfour",
            id="it loses lines of the prompt that begin with a hash",
        ),
        pytest.param(
            f"[expected]\n{A}\n\n[prompt-data]\nstrength=3\n\n[prompt]\none\n",
            (A, "[prompt-data]", "strength=3"),
            "one",
            id="it expects the lines of prompt-data",
        ),
        pytest.param(
            f"[expected]\n{A}\n[prompt]\none\n[expected]\n{B}\n",
            (A, B),
            "one",
            id="a prompt can add to what is expected",
        ),
        pytest.param(
            "[expected]\n[prompt]\none\n[prompt]\ntwo\n",
            (),
            "one\ntwo",
            id="it loses a prompt's own prompt line",
        ),
        pytest.param(
            "[expected]\n[prompt]\n\n\none\n\ntwo\n\n",
            (),
            "one\n\ntwo\n",
            id="it loses leading blank lines and no others",
        ),
        pytest.param(
            "[expected]\n[prompt]\none\ntwo", (), "one", id="it loses a last line without its end"
        ),
        pytest.param("[expected]\n[prompt]\none", (), "", id="which may be the whole prompt"),
        pytest.param("[expected]\n[prompt]\no\0ne\n", (), "one", id="it loses NUL"),
        pytest.param(
            f"[expected]\r\n{A}\r\n[prompt]\r\none\r\n", (), "", id="it sees no section in CR LF"
        ),
        pytest.param(
            f"\ufeff[expected]\n{A}\n[prompt]\none\n", (), "one", id="nor behind a byte order mark"
        ),
        pytest.param(
            f"[expected] \n{A}\n[prompt]\none\n", (), "one", id="nor before a trailing blank"
        ),
        pytest.param(
            f"[expected]\n{A} \n[prompt]\none\n", (f"{A} ",), "one", id="it keeps trailing blanks"
        ),
    ],
)
def test_the_original_reads_it_otherwise(text: str, expected: tuple[str, ...], prompt: str) -> None:
    seen = read_as_original(text)
    ours = parse_bench(text, "a.bench")

    assert (seen.expected, seen.prompt) == (expected, prompt)
    assert (ours.expected, ours.prompt) != (expected, prompt)


def test_it_keeps_a_name_given_twice() -> None:
    assert read_as_original(f"[expected]\n{A}\n{A}\n[prompt]\nx\n").expected == (A, A)


_PLAIN = st.text("ab [é", min_size=1, max_size=5).filter(lambda line: "[" not in line[:1])


@given(st.lists(_PLAIN, min_size=1, max_size=4), st.sampled_from([(), (A,), (A, B)]))
def test_a_plain_file_is_read_the_same(lines: list[str], expected: tuple[str, ...]) -> None:
    test = BenchTest(expected=expected, prompt="\n".join(lines))
    seen = read_as_original(write_bench(test))

    assert (seen.expected, seen.prompt) == (test.expected, test.prompt)
