"""Every newer dataset is evaluated from its files and resumed, and bad files are named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_bench.judging.methodologies import list_methodologies
from recall_bench.stories.catalogue import find_dataset
from tests.commands import Invoke
from tests.features.datasets import beam_files, longmemeval_v2_files, newer_files, session_files
from tests.features.datasets.evaluation.eval_commands import numbers, report
from tests.openai_server import OpenAIServer, Response, ok


def write_rows(folder: Path) -> Path:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(newer_files.FACTS) + "\n" + json.dumps(newer_files.EXAMPLES))
    return path


def write_personamem(folder: Path) -> Path:
    return newer_files.write_all(folder, newer_files.list_personamem_files())


def write_perltqa(folder: Path) -> Path:
    return newer_files.write_all(folder, newer_files.list_perltqa_files())


WRITERS: dict[str, tuple[Callable[[Path], Path], int, str]] = {
    "beam-100k": (beam_files.write_chat, 3, "1/chat.json"),
    "longmemeval-v2-small": (longmemeval_v2_files.write_release, 2, "trajectories.jsonl"),
    "memoryagentbench": (write_rows, 3, "rows.jsonl"),
    "personamem-v2-32k": (write_personamem, 2, newer_files.LINK),
    "perltqa": (write_perltqa, 3, "perltqa_en_v2.json"),
    "halumem-medium": (session_files.write_users, 3, "HaluMem-Medium.jsonl"),
    "realmem": (session_files.write_person, 1, "Odile_Roux_dialogues_256k.json"),
}
"""Each dataset's writer, how many questions it has, and a file of it."""


@pytest.mark.parametrize("name", WRITERS)
def test_a_dataset_is_evaluated_and_nothing_is_asked_twice(
    name: str, invoke: Invoke, tmp_path: Path
) -> None:
    write, questions, _ = WRITERS[name]
    folder = tmp_path / "data"
    folder.mkdir()
    command = ("eval", "--dataset", name, "--data", write(folder), "--adapter", "bm25")

    first, again = invoke(*command, "--no-floors"), invoke(*command, "--no-floors")

    assert (first.code, again.code) == (0, 0), first.err + again.err
    assert numbers() == ["run-1"]
    version = list_methodologies(find_dataset(name).family)[0].eval_version
    found = report(1, f"reports/{name}/{version}")
    assert found["counts"] == {
        **dict.fromkeys(("failed", "open", "unjudged"), 0),
        **dict.fromkeys(("owed", "answered"), questions),
    }
    assert all(each in found["groups"][0]["figures"] for each in found["headline"][:1])


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("content", [b"", b"{", b"[1]\n", b"\xff\xfe\n"])
def test_a_bad_file_is_one_sentence_that_names_it(
    name: str, content: bytes, invoke: Invoke, tmp_path: Path
) -> None:
    write, _, spoilt = WRITERS[name]
    folder = tmp_path / "data"
    folder.mkdir()
    data = write(folder)
    (folder / spoilt).write_bytes(content)

    shown = invoke("eval", "--dataset", name, "--data", data, "--adapter", "bm25")

    assert shown.code == 3
    told = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert len(told) == 1
    assert Path(spoilt).name.partition(".")[0] in told[0]
    assert "Traceback" not in shown.err


def evaluate_by_model(invoke: Invoke, says: Callable[[str], str], *words: object) -> dict[str, Any]:
    """The report of an evaluation whose judge is a model that says this."""

    def reply(request: dict[str, Any]) -> Response:
        return ok(says("\n".join(str(message["content"]) for message in request["messages"])))

    with OpenAIServer(reply) as server:
        judge = ("--judge", f"openai:test;{server.base_url}", "--adapter", "bm25", "--no-floors")
        shown = invoke("eval", *words, *judge)
    assert shown.code == 0, shown.err
    dataset, protocol = words[1], words[words.index("--protocol") + 1]
    return report(len(numbers()), f"reports/{dataset}/{protocol}-1")


@pytest.fixture
def keyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("keyed")
def test_beam_is_graded_nugget_by_nugget(invoke: Invoke, tmp_path: Path) -> None:
    found = evaluate_by_model(
        invoke,
        lambda prompt: "half" if "centimetres" in prompt else "full",
        *("--dataset", "beam-100k", "--data", beam_files.write_chat(tmp_path)),
        *("--protocol", "nuggets"),
    )

    right = {each["name"]: each["figures"]["judged right"]["mean"] for each in found["groups"]}
    assert right["instruction_following"] == 0.75
    assert right["knowledge_update"] == 1.0


@pytest.mark.usefixtures("keyed")
def test_halumem_counts_what_was_invented_and_what_was_left_out(
    invoke: Invoke, tmp_path: Path
) -> None:
    found = evaluate_by_model(
        invoke,
        lambda prompt: "hallucination" if "cat called" in prompt else "correct",
        *("--dataset", "halumem-medium", "--data", session_files.write_users(tmp_path)),
        *("--protocol", "official"),
    )

    figures = {name: each["mean"] for name, each in found["groups"][0]["figures"].items()}
    assert figures == {
        "judged right": pytest.approx(2 / 3),
        "fabrication": pytest.approx(1 / 3),
        "abstention": 0.0,
    }
