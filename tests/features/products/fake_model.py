"""A language model behind a server: it finds, in every line, that somebody wrote it down."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.features.products.fake_service import FakeService, Reply, Request

WRITER = "Gardener"


@dataclass
class FakeModel(FakeService):
    """What it says depends on the schema it is asked to fill."""

    key: str = "unused"
    asked_for: Counter[str] = field(default_factory=Counter)
    prompts: list[str] = field(default_factory=list)

    def routes(self) -> Any:
        return {
            r"POST /v1/chat/completions": self.completion,
        }

    def completion(self, request: Request) -> Reply:
        prompt = "\n".join(message["content"] for message in request.body["messages"])
        self.prompts.append(prompt)
        schema = _schema(request.body["response_format"], prompt)
        self.asked_for[schema] += 1
        said = json.dumps(getattr(self, schema)(prompt))
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": said},
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return 200, {
            "id": "reply",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [choice],
            "usage": usage,
        }

    def ExtractedEntities(self, prompt: str) -> object:  # noqa: N802  as the schema is called
        names = [WRITER, *(_name(line) for line in _lines(prompt))]
        return {"extracted_entities": [{"name": name, "entity_type_id": 0} for name in names]}

    def ExtractedEdges(self, prompt: str) -> object:  # noqa: N802
        return {
            "edges": [
                {
                    "source_entity_name": WRITER,
                    "target_entity_name": _name(line),
                    "relation_type": "WROTE",
                    "fact": line,
                    "valid_at": None,
                    "invalid_at": None,
                }
                for line in _lines(prompt)
            ]
        }

    def NodeResolutions(self, prompt: str) -> object:  # noqa: N802
        return {"entity_resolutions": []}

    def EdgeDuplicate(self, prompt: str) -> object:  # noqa: N802
        return {"duplicate_facts": [], "contradicted_facts": []}

    def BatchEdgeTimestamps(self, prompt: str) -> object:  # noqa: N802
        return {"timestamps": []}

    def EdgeTimestamps(self, prompt: str) -> object:  # noqa: N802
        return {"valid_at": None, "invalid_at": None}

    def SummarizedEntities(self, prompt: str) -> object:  # noqa: N802
        return {"summaries": []}

    def EntitySummary(self, prompt: str) -> object:  # noqa: N802
        return {"summary": ""}

    def KnowledgeGraph(self, prompt: str) -> object:  # noqa: N802
        line = prompt.splitlines()[-1]
        nodes = [
            {"id": name, "name": name, "type": "Thing", "description": line}
            for name in (WRITER, _name(line))
        ]
        edge = {"source_node_id": WRITER, "target_node_id": _name(line)}
        told = {"relationship_name": "wrote", "description": line}
        return {"nodes": nodes, "edges": [edge | told]}

    def SummarizedContent(self, prompt: str) -> object:  # noqa: N802
        return {"summary": prompt.splitlines()[-1], "description": ""}


def _schema(form: dict[str, Any], prompt: str) -> str:
    """The name of the wanted schema, which stands in the prompt where it binds nobody."""
    if form["type"] == "json_schema":
        return str(form["json_schema"]["name"])
    return str(re.findall(r'^  "title": "(\w+)"', prompt, re.MULTILINE)[-1])


def _lines(prompt: str) -> list[str]:
    """The lines of the day that is being read, without its headings."""
    found = re.search(
        r"<(?:TEXT|CURRENT[_ ]MESSAGE|CURRENT[_ ]EPISODE)>\n?(.*?)</", prompt, re.DOTALL
    )
    if found is None:
        raise ValueError(f"no text to read in {prompt[:2000]}")
    return [line.strip() for line in found[1].splitlines() if line.strip().endswith((".", "!"))]


def _name(line: str) -> str:
    return " ".join(line.split()[:8])
