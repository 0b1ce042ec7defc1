"""One prompt with a schema, put to whichever model a spec names."""

from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.models.model import Prompt, Reply

SCHEMA = {
    "type": "object",
    "properties": {"mark": {"type": "integer", "minimum": 0, "maximum": 3}},
    "required": ["mark"],
    "additionalProperties": False,
}
PROMPT = Prompt(system="You grade answers.", user="Grade this.", schema=SCHEMA)
KEY = "sk-planted-0123456789abcdef"


async def ask(text: str, prompt: Prompt = PROMPT, **environ: str) -> Reply:
    spec = parse_spec(text, environ)
    assert spec is not None
    model = open_model(spec, environ)
    try:
        return await model.complete(prompt)
    finally:
        await model.close()
