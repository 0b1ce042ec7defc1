"""A Python adapter is found by file or by module; what is missing is said in one sentence."""

from pathlib import Path

import pytest

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.systems.python.system import build_python_system, load_python_system

METHODS = """
    def ingest_day(self, day, content, metadata): pass
    def query(self, question): return "ok"
"""

pytestmark = pytest.mark.anyio


def write(folder: Path, source: str, name: str = "echo.py") -> str:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return str(path)


class Parrot:
    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.last = content

    def query(self, question: str) -> str:
        return self.last


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"class Whatever:{METHODS}", id="the only class that is an adapter"),
        pytest.param(f"class Adapter:{METHODS}\nclass Other:{METHODS}", id="a class Adapter"),
        pytest.param(f"class A:{METHODS}\ndef create(): return A()", id="a function create"),
        pytest.param(f"class A:{METHODS}\nasync def factory(): return A()", id="an async factory"),
        pytest.param(f"class A:{METHODS}\nclass B(A): pass\nadapter = B()", id="an object adapter"),
    ],
)
async def test_a_file_needs_no_name_for_what_it_plainly_offers(tmp_path: Path, source: str) -> None:
    system = load_python_system(write(tmp_path, source), {})

    assert system.card.name == "echo"
    await system.close()


async def test_a_factory_can_be_named_after_a_colon_or_apart(tmp_path: Path) -> None:
    source = f"class A:{METHODS}    name = 'first'\nclass B(A): name = 'second'"
    path = write(tmp_path, source)

    after_colon = load_python_system(f"{path}:B", {})
    apart = load_python_system(path, {}, factory="B")

    assert after_colon.card.name == apart.card.name == "second"
    await after_colon.close()
    await apart.close()


async def test_an_installed_module_is_named_with_its_factory() -> None:
    system = load_python_system("tests.systems.test_python_target:Parrot", {})

    assert system.card.name == "test_python_target"
    await system.close()


async def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "GREETING = 'hello'", "a_neighbour_of_echo.py")
    source = f"from a_neighbour_of_echo import GREETING\nclass A:{METHODS}    name = GREETING"

    system = load_python_system(write(tmp_path, source), {})

    assert system.card.name == "hello"
    await system.close()


async def test_two_loads_of_one_file_share_no_globals(tmp_path: Path) -> None:
    init = "    def __init__(self): seen.append(1); self.name = str(seen)"
    path = write(tmp_path, f"seen = []\nclass A:\n{init}\n{METHODS}")

    first, second = load_python_system(path, {}), load_python_system(path, {})

    assert first.card.name == second.card.name == "[1]"
    await first.close()
    await second.close()


async def test_the_settings_reach_the_factory_and_the_card(tmp_path: Path) -> None:
    source = f"class A:\n    def __init__(self, depth=1): self.name = f'depth {{depth}}'\n{METHODS}"

    system = load_python_system(write(tmp_path, source), {"depth": 3})

    assert system.card.name == "depth 3"
    assert system.card.config == {"depth": 3}
    await system.close()


async def test_the_version_follows_the_source_unless_it_is_declared(tmp_path: Path) -> None:
    plain = load_python_system(write(tmp_path, f"class A:{METHODS}"), {})
    again = load_python_system(write(tmp_path, f"class A:{METHODS}"), {})
    changed = load_python_system(write(tmp_path, f"class A:{METHODS}    x = 1"), {})
    declared = load_python_system(write(tmp_path, f"class A:{METHODS}    version = '7'"), {})

    assert plain.card.version == again.card.version != changed.card.version
    assert declared.card.version == "7"
    for system in (plain, again, changed, declared):
        await system.close()


async def test_a_setting_that_json_cannot_hold_is_named_by_its_type() -> None:
    class Configured(Parrot):
        def __init__(self, client: object) -> None:
            self.client = client

    system = build_python_system(Configured, {"client": Parrot()})

    assert system.card.config == {"client": "tests.systems.test_python_target.Parrot"}
    await system.close()


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        pytest.param("", "{}", "nothing called", id="an empty file"),
        pytest.param("class A: pass", "{}:A", "needs ingest_day", id="a class without methods"),
        pytest.param("x = 3", "{}:x", "needs ingest_day", id="a number"),
        pytest.param("x = 3", "{}:y", "has no 'y'", id="no such name"),
        pytest.param("def f(: pass", "{}", "SyntaxError", id="a syntax error"),
        pytest.param("import no_such_thing_here", "{}", "no_such_thing_here", id="a bad import"),
        pytest.param("raise SystemExit(3)", "{}", "SystemExit: 3", id="an exit at import"),
        pytest.param("def factory(): 1 / 0", "{}", "ZeroDivisionError", id="a failing factory"),
        pytest.param("def factory(): return 3", "{}", "gives a int", id="a factory of numbers"),
        pytest.param(
            f"class A:{METHODS}\nclass B:{METHODS}", "{}", "several adapters (A, B)", id="two"
        ),
        pytest.param(
            "class A:\n    def ingest_day(self, day): pass\n    def query(self, q): pass",
            "{}",
            "ingest_day takes other parameters",
            id="ingest_day without content",
        ),
        pytest.param(
            "class A:\n    def ingest_day(self, d, c, m): pass\n    def query(self): pass",
            "{}",
            "query takes other parameters",
            id="query without a question",
        ),
        pytest.param(
            f"class A:{METHODS}    max_concurrency = 0", "{}", "max_concurrency = 0", id="no places"
        ),
        pytest.param(
            f"class A:{METHODS}    def snapshot(self, path): pass",
            "{}",
            "define both snapshot() and restore()",
            id="half a snapshot",
        ),
    ],
)
def test_what_is_no_adapter_is_refused_in_one_sentence(
    tmp_path: Path, source: str, target: str, said: str
) -> None:
    path = write(tmp_path, source)

    with pytest.raises(UsageError) as refusal:
        load_python_system(target.format(path), {})

    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param("missing.py", "there is no file missing.py", id="a missing file"),
        pytest.param("no_such_package.module:f", "no module 'no_such_package.module'", id="module"),
        pytest.param("tests.systems", "names no adapter", id="a module without a factory"),
        pytest.param("", "names no adapter", id="nothing"),
        pytest.param("http://somewhere:80", "names no adapter", id="an address"),
    ],
)
def test_a_target_that_leads_nowhere_is_refused(target: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_python_system(target, {})


def test_a_name_given_twice_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path, f"class A:{METHODS}\nclass B:{METHODS}")

    with pytest.raises(UsageError, match="drop one"):
        load_python_system(f"{path}:A", {}, factory="B")


def test_an_unknown_setting_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    source = f"class A:\n    def __init__(self, depth=1): pass\n{METHODS}"

    with pytest.raises(UsageError, match=r"unexpected keyword argument 'width'.*takes depth"):
        load_python_system(write(tmp_path, source), {"width": 3})


def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    source = f"class A:\n    def __init__(self, depth): pass\n{METHODS}"

    with pytest.raises(UsageError, match="'depth'"):
        load_python_system(write(tmp_path, source), {})


def test_the_state_directory_is_no_setting(tmp_path: Path) -> None:
    source = f"class A:\n    def __init__(self, state_dir): pass\n{METHODS}"

    with pytest.raises(UsageError, match="state_dir is not a setting"):
        load_python_system(write(tmp_path, source), {"state_dir": "here"})


def test_an_object_takes_no_settings() -> None:
    with pytest.raises(UsageError, match="takes no settings: depth"):
        build_python_system(Parrot(), {"depth": 3})


def test_a_factory_whose_server_is_down_is_gone_and_not_wrong() -> None:
    def factory() -> Parrot:
        raise ConnectionRefusedError("no one listens")

    with pytest.raises(SystemGone, match="no one listens"):
        build_python_system(factory)


def test_something_else_entirely_is_refused() -> None:
    with pytest.raises(UsageError, match="neither an adapter nor a factory"):
        build_python_system(42)
