"""Supermemory as its SDK knows it: a document is found late, is done early, and is dreamt of."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.features.products.fake_service import FakeService, Reply, Request, nearest

STAMP = "2026-01-01T00:00:00Z"

STAGES = ("missing", "queued", "done, dreaming", "done")
"""How a document is found, poll by poll."""


@dataclass
class FakeSupermemory(FakeService):
    namespaces: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    polls: Counter[str] = field(default_factory=Counter)
    fails: bool = False

    def routes(self) -> Any:
        return {
            r"POST /ns/([^/]+)/document": self.add,
            r"GET /ns/([^/]+)/document/([^/]+)": self.get,
            r"POST /ns/([^/]+)/search": self.search,
            r"POST /ns/([^/]+)/list/documents": self.list,
            r"DELETE /ns/([^/]+)": self.delete,
        }

    def add(self, request: Request, namespace: str) -> Reply:
        document = f"doc-{request.body['id']}"
        self.namespaces.setdefault(namespace, {})[document] = request.body
        return 202, {"id": document, "status": "queued"}

    def get(self, request: Request, namespace: str, document: str) -> Reply:
        stage = STAGES[min(max(self.polls[document], 0), len(STAGES) - 1)]
        self.polls[document] += 1
        if stage == "missing":
            return 404, {"error": "Document not found"}
        status = "failed" if self.fails else stage.partition(",")[0]
        system = {
            "status": status,
            "dreamingStatus": "done" if stage == "done" else "dreaming",
            "createdAt": STAMP,
            "updatedAt": STAMP,
        }
        kept = self.namespaces[namespace][document]
        return 200, {
            "id": document,
            "type": "text",
            "metadata": kept["metadata"],
            "system": system,
        }

    def search(self, request: Request, namespace: str) -> Reply:
        if namespace not in self.namespaces:
            return 404, {"error": "Namespace not found"}
        wanted = request.body.get("filter")
        labels = {each["value"] for each in wanted["operands"]} if wanted else None
        documents = [
            (key, kept)
            for key, kept in self.namespaces[namespace].items()
            if self.polls[key] >= len(STAGES)
            and (labels is None or kept["metadata"]["session"] in labels)
        ]
        best = nearest(request.body["query"], [kept["content"] for _, kept in documents])
        results = [
            {
                "id": f"result-{documents[place][0]}",
                "memory" if place % 2 else "chunk": documents[place][1]["content"],
                "metadata": {},
                "similarity": score,
                "isLatest": True,
                "isInference": False,
                "system": {"updatedAt": STAMP},
                "included": {
                    "document": {
                        "id": documents[place][0],
                        "metadata": documents[place][1]["metadata"],
                        "system": {"createdAt": STAMP, "updatedAt": STAMP},
                    }
                },
            }
            for score, place in best[: request.body["limit"]]
        ]
        return 200, {"results": results, "searchTime": 1.0}

    def list(self, request: Request, namespace: str) -> Reply:
        if not self.is_haunted:
            return 404, {"error": "Namespace not found"}
        pagination = {"currentPage": 1, "totalItems": 1, "totalPages": 1}
        item = {
            "id": "x",
            "type": "text",
            "metadata": {},
            "system": {
                "status": "done",
                "dreamingStatus": "done",
                "createdAt": STAMP,
                "updatedAt": STAMP,
            },
        }
        return 200, {"documents": [item], "chunks": [], "memories": [], "pagination": pagination}

    def delete(self, request: Request, namespace: str) -> Reply:
        if namespace not in self.namespaces:
            return 404, {"error": "Namespace not found"}
        gone = self.namespaces.pop(namespace)
        return 200, {
            "status": "deleted",
            "namespace": namespace,
            "deletedDocumentsCount": len(gone),
            "deletedMemoriesCount": 0,
        }
