"""A Letta server as its SDK knows it: archives of passages, searched without an agent."""

from dataclasses import dataclass, field
from typing import Any

from tests.features.products.fake_service import FakeService, Reply, Request, nearest

STAMP = "2026-01-01T00:00:00Z"


@dataclass
class FakeLetta(FakeService):
    archives: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def routes(self) -> Any:
        return {
            r"POST /v1/archives/": self.create,
            r"DELETE /v1/archives/([^/]+)": self.delete,
            r"POST /v1/archives/([^/]+)/passages/batch": self.add,
            r"POST /v1/passages/search": self.search,
        }

    def create(self, request: Request) -> Reply:
        archive = f"archive-{len(self.archives) + 1}-{request.body['name']}"
        self.archives[archive] = []
        return 200, {"id": archive, "name": request.body["name"], "created_at": STAMP}

    def delete(self, request: Request, archive: str) -> Reply:
        del self.archives[archive]
        return 204, None

    def add(self, request: Request, archive: str) -> Reply:
        taken = [{"id": "passage", **passage} for passage in request.body["passages"]]
        self.archives[archive] += taken
        return 200, taken

    def search(self, request: Request) -> Reply:
        body = request.body
        kept = self.archives[body["archive_id"]]
        if body.get("tags"):
            kept = [each for each in kept if set(each["tags"]) & set(body["tags"])]
        if body.get("query") is None:
            old = {"passage": {"text": "old"}, "score": 0.0}
            return 200, [old] if self.is_haunted else []
        best = nearest(body["query"], [each["text"] for each in kept])
        return 200, [
            {"passage": kept[place], "score": score} for score, place in best[: body["limit"]]
        ]
