"""Zep as its SDK knows it: an episode is processed late; bare dates and long texts are refused."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.features.products.fake_service import FakeService, Reply, Request, nearest

POLLS = 2
"""How often an episode is not processed yet when it is asked for."""


@dataclass
class FakeZep(FakeService):
    graphs: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    polls: Counter[str] = field(default_factory=Counter)
    keys: dict[str, str] = field(default_factory=dict)

    def routes(self) -> Any:
        return {
            r"POST /graphs": self.create,
            r"DELETE /graphs/([^/]+)": self.delete,
            r"POST /graphs/([^/]+)/episodes": self.add,
            r"POST /graphs/([^/]+)/episodes/list": self.list,
            r"GET /graphs/([^/]+)/episodes/([^/]+)": self.get,
            r"POST /graphs/([^/]+)/search/edges": self.search,
        }

    def create(self, request: Request) -> Reply:
        graph = f"graph-{len(self.graphs) + 1}-{request.body['name']}"
        self.graphs[graph] = {}
        return 201, {"uuid": graph, "name": request.body["name"]}

    def delete(self, request: Request, graph: str) -> Reply:
        del self.graphs[graph]
        return 202, {"task": None}

    def add(self, request: Request, graph: str) -> Reply:
        body = request.body
        if len(body["data"]) > 10_000:
            return 400, {"message": "data is longer than 10000 characters"}
        when = body.get("reference_time", "")
        if "T" not in when or datetime.fromisoformat(when).tzinfo is None:
            return 400, {"message": f"reference_time {when} is not RFC 3339"}
        if len(body["metadata"]) > 10:
            return 400, {"message": "too many keys of metadata"}
        episode = f"episode-{len(self.graphs[graph]) + 1:04}"
        self.graphs[graph][episode] = body
        return 202, {"episode": {"uuid": episode, "processed": False}}

    def list(self, request: Request, graph: str) -> Reply:
        return 200, {"items": [{"uuid": "old"}] if self.is_haunted else []}

    def get(self, request: Request, graph: str, episode: str) -> Reply:
        self.polls[episode] += 1
        return 200, {"uuid": episode, "processed": self.polls[episode] > POLLS}

    def search(self, request: Request, graph: str) -> Reply:
        filters = (request.body.get("filters") or {}).get("metadata_filters")
        labels = set(filters["filters"][0]["value"]) if filters else None
        episodes = [
            (key, kept)
            for key, kept in self.graphs[graph].items()
            if self.polls[key] > POLLS and (labels is None or kept["metadata"]["session"] in labels)
        ]
        best = nearest(request.body["query"], [kept["data"] for _, kept in episodes])
        limit = int(request.query["page_size"][0])
        facts = [
            {
                "uuid": f"edge-{episodes[place][0]}",
                "fact": episodes[place][1]["data"],
                "episode_uuids": ["of-somebody-else", episodes[place][0]],
                "valid_at": episodes[place][1]["reference_time"].replace("+00:00", "Z"),
                "score": score,
            }
            for score, place in best[:limit]
        ]
        return 200, {"items": facts}
