"""A `.bench` file: a prompt, and the exact set of memories that it should recall.

Comment lines come first, `[expected]` lists the memories, and `[prompt]` begins the prompt, which
is the rest. Older files also have `[prompt-data]` with lines such as `strength=3`. Three facts
about the files shape this reader:

* A prompt may be any text. The first `[prompt]` line ends the file's own grammar: a later line
  that begins with `#` or looks like a section is prompt.
* The final line end is no part of the prompt; a file may lack it. Any other blank line, first or
  last, is part of the prompt.
* If the `[prompt]` line ends in CR LF, so does the file, and the prompt is read with LF. If it
  ends in LF, a CR belongs to the prompt.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.record import Record

TITLE = "Recall Benchmark Test"
EXPECTED, PROMPT_DATA, PROMPT = "[expected]", "[prompt-data]", "[prompt]"

_SECTION = re.compile(r"\[[^\[\]]*\]")
_KEY = r"\w(?:[\w .-]*\w)?"
_HEADER = re.compile(rf"#+[ \t]*({_KEY})[ \t]*:(?:[ \t]+(.*))?")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_BOM = "\ufeff"

Pairs = tuple[tuple[str, str], ...]
"""Keys and values in the order of the file."""


class BenchTest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One test, with everything in its file."""

    expected: tuple[str, ...]
    """`memory/<name>.md`, in the order of the file; empty if nothing should be recalled."""
    prompt: str
    """The text after `[prompt]` up to the end, its `#` lines and section-like lines included."""
    headers: Pairs = ()
    """The header's comment lines as key and value, in order: `Generated`, `Picked`, `Corpus` …
    The title and other comments are not among them."""
    prompt_data: Pairs = ()
    """The lines of `[prompt-data]`, which only older files have."""
    as_written: str | None = None
    """The file, verbatim, where it departs from the layout we write: `##`, CR LF, a comment …
    None for a test made by hand."""

    def find_header(self, key: str) -> str | None:
        """The first header of this name, in whatever case."""
        return next((value for name, value in self.headers if name.lower() == key.lower()), None)


def parse_bench(text: str, where: str) -> BenchTest:
    """Parse the text of a file; Malformed, with the line, if it is no test."""
    test = _BenchParser(where).parse(text)
    return test if _render_test(test) == text else test.replace(as_written=text)


def write_bench(test: BenchTest) -> str:
    """Return the text of a file; reading and writing it again gives the same test and text.

    A test that was read and then changed is written in our own layout. UsageError for what no file
    can hold: a header of two lines, a name that names no memory.
    """
    if test.as_written is not None and parse_bench(test.as_written, "the test") == test:
        return test.as_written
    for key, value in test.headers:
        check_header(key, value)
    for key, value in test.prompt_data:
        line = f"{key}={value}"
        parts = (key, value)
        is_plain = not _BREAKS.search(line) and all(part == part.strip() for part in parts)
        if not key or "=" in key or key[0] in "#[" or not is_plain:
            raise UsageError(f"a test's {PROMPT_DATA} cannot hold {line!r:.60}; write key=value")
    for place, name in enumerate(test.expected):
        problem = _find_name_problem(name) or _find_repeat(name, test.expected[:place])
        if problem:
            raise UsageError(f"a test cannot expect {name!r:.80}: {problem}")
    return _render_test(test)


def make_headers(
    *,
    generated: datetime,
    picked: int,
    expected: int,
    corpus: str | None = None,
    seed: int | None = None,
    model: str | None = None,
    **others: str,
) -> Pairs:
    """Return the headers of a generated test: the known ones first, then the others.

    `corpus` is the digest of the memories. Other arguments become headers: `pool="all"` is
    `Pool: all`. None is left out.
    """
    values: dict[str, object] = {
        "Generated": generated.isoformat(timespec="seconds"),
        "Picked": picked,
        "Expected": expected,
        "Corpus": corpus,
        "Seed": seed,
        "Model": model,
    }
    values |= {key.replace("_", " ").capitalize(): value for key, value in others.items()}
    return tuple((key, str(value)) for key, value in values.items() if value is not None)


def parse_header(line: str) -> tuple[str, str] | None:
    """Return key and value of a comment line; None if it has none."""
    match = _HEADER.fullmatch(line.strip())
    return (match[1], match[2] or "") if match else None


def check_header(key: str, value: str) -> None:
    """Raise UsageError if no comment line can hold this key and value."""
    if not re.fullmatch(_KEY, key):
        raise UsageError(f"a header cannot be named {key!r:.60}; use letters, digits and blanks")
    if _BREAKS.search(value) or value != value.strip():
        raise UsageError(
            f"the header {key} must be one line without blanks around it; got {value!r:.60}"
        )


class _BenchParser:
    """One pass over the lines before the prompt."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._section: str | None = None
        self._sections: set[str] = set()
        self._expected: list[str] = []
        self._headers: list[tuple[str, str]] = []
        self._data: list[tuple[str, str]] = []

    def parse(self, text: str) -> BenchTest:
        """Parse the text."""
        text = text.removeprefix(_BOM)
        for number, line, after in _iterate_lines(text):
            if line.strip() == PROMPT:
                if EXPECTED not in self._sections:
                    raise self._make_error(
                        number,
                        f"{PROMPT} comes before any {EXPECTED} line; put {EXPECTED} first, with "
                        "nothing under it if nothing should be recalled",
                    )
                return BenchTest(
                    expected=tuple(self._expected),
                    prompt=_read_prompt(text[after:], is_crlf=line.endswith("\r")),
                    headers=tuple(self._headers),
                    prompt_data=tuple(self._data),
                )
            self._read_line(number, line.strip())
        raise Malformed(self._where, f"has no {PROMPT} line; put one before the prompt")

    def _read_line(self, number: int, line: str) -> None:
        if line.startswith("#"):
            header = parse_header(line)
            if header and self._section is None:
                self._headers.append(header)
        elif _SECTION.fullmatch(line):
            if line not in {EXPECTED, PROMPT_DATA}:
                raise self._make_error(
                    number,
                    f"there is no section {line:.60}; "
                    f"the sections are {EXPECTED}, {PROMPT_DATA} and {PROMPT}",
                )
            if line in self._sections:
                raise self._make_error(number, f"{line} begins a second time; join the two")
            self._sections.add(line)
            self._section = line
        elif line and self._section == EXPECTED:
            problem = _find_name_problem(line) or _find_repeat(line, self._expected)
            if problem:
                raise self._make_error(number, f"{line!r:.80} cannot be expected: {problem}")
            self._expected.append(line)
        elif line and self._section == PROMPT_DATA:
            key, equals, value = line.partition("=")
            if not equals or not key.strip():
                raise self._make_error(
                    number, f"{line!r:.60} is not key=value; correct or remove it"
                )
            self._data.append((key.strip(), value.strip()))
        elif line:
            raise self._make_error(
                number, f"{line!r:.60} is before any section; begin a comment with #"
            )

    def _make_error(self, number: int, problem: str) -> Malformed:
        return Malformed(f"{self._where}, line {number}", problem)


def _iterate_lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Every line with its number and where the next one begins."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start)
        after = len(text) if end < 0 else end + 1
        yield number, text[start:after].removesuffix("\n"), after
        start, number = after, number + 1


def _read_prompt(rest: str, *, is_crlf: bool) -> str:
    return (rest.replace("\r\n", "\n") if is_crlf else rest).removesuffix("\n")


def _render_test(test: BenchTest) -> str:
    lines = [f"# {TITLE}"]
    lines += [f"# {key}: {value}".rstrip() for key, value in test.headers]
    lines += ["", EXPECTED, *test.expected, ""]
    if test.prompt_data:
        lines += [PROMPT_DATA, *(f"{key}={value}" for key, value in test.prompt_data), ""]
    lines += [PROMPT, *([test.prompt] if test.prompt else [])]
    return "\n".join(lines) + "\n"


def _find_name_problem(name: str) -> str | None:
    """Return why a memory cannot have this name, and what to do; None if it can."""
    stem = name.removeprefix("memory/").removesuffix(".md")
    if len(name) != len("memory/") + len(stem) + len(".md"):
        return "a memory is named memory/<name>.md"
    if _BREAKS.search(stem):
        return "it holds a control character; remove it"
    if any(part in {"", ".", ".."} for part in stem.split("/")):
        return "it names no file within the folder; write memory/<name>.md"
    return None


def _find_repeat(name: str, before: "tuple[str, ...] | list[str]") -> str | None:
    return "it is listed twice; remove one" if name in before else None
