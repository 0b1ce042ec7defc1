"""A Hindsight server as its SDK knows it: it retains in the background, then consolidates."""

from dataclasses import dataclass, field
from typing import Any

from tests.features.products.fake_service import FakeService, Reply, Request, nearest

STAGES = ("pending", "processing", "consolidating", "completed")
"""What the statistics of a bank show, poll by poll, after it was given something."""


@dataclass
class FakeHindsight(FakeService):
    banks: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    polls: dict[str, int] = field(default_factory=dict)
    fails: bool = False

    def routes(self) -> Any:
        bank = r"/v1/default/banks/([^/]+)"
        return {
            rf"PUT {bank}": self.create,
            rf"DELETE {bank}": self.delete,
            rf"GET {bank}/stats": self.stats,
            rf"POST {bank}/memories": self.retain,
            rf"POST {bank}/memories/recall": self.recall,
        }

    def create(self, request: Request, bank: str) -> Reply:
        self.banks.setdefault(bank, {})
        self.polls[bank] = len(STAGES)
        traits = {"skepticism": 3, "literalism": 3, "empathy": 3}
        return 200, {"bank_id": bank, "name": bank, "disposition": traits, "mission": ""}

    def delete(self, request: Request, bank: str) -> Reply:
        del self.banks[bank]
        return 200, {"success": True}

    def stats(self, request: Request, bank: str) -> Reply:
        stage = STAGES[min(self.polls[bank], len(STAGES) - 1)]
        self.polls[bank] += 1
        return 200, {
            "bank_id": bank,
            "total_nodes": len(self.banks[bank]),
            "total_links": 0,
            "total_documents": len(self.banks[bank]) + self.is_haunted,
            "nodes_by_fact_type": {},
            "links_by_link_type": {},
            "links_by_fact_type": {},
            "links_breakdown": {},
            "pending_operations": int(stage == "pending"),
            "failed_operations": int(self.fails),
            "operations_by_status": {stage: 1} if stage in ("pending", "processing") else {},
            "pending_consolidation": int(stage == "consolidating"),
        }

    def retain(self, request: Request, bank: str) -> Reply:
        self.polls[bank] = 0
        for item in request.body["items"]:
            self.banks[bank][item["document_id"]] = item
        count = len(request.body["items"])
        return 200, {"success": True, "bank_id": bank, "items_count": count, "async": True}

    def recall(self, request: Request, bank: str) -> Reply:
        kept = list(self.banks[bank].values()) if self.polls[bank] >= len(STAGES) else []
        if request.body.get("tags"):
            kept = [each for each in kept if set(each["tags"]) & set(request.body["tags"])]
        best = nearest(request.body["query"], [each["content"] for each in kept])
        return 200, {
            "results": [
                {
                    "id": f"fact-{kept[place]['document_id']}",
                    "text": kept[place]["content"],
                    "document_id": kept[place]["document_id"],
                    "metadata": kept[place]["metadata"],
                    "scores": {"final": score},
                }
                for score, place in best
            ]
        }
