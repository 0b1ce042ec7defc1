"""The routes of `http_routes` as an OpenAPI document, built from the messages."""

import ast
import inspect
import json
from typing import Any

import msgspec

from recall_bench.systems.transports import wire
from recall_bench.systems.transports.http_routes import (
    JSON,
    ROUTES,
    STATUS_OF,
    TOKEN_VARIABLE,
    HttpRoute,
)

_SCHEMAS = "#/components/schemas/"
_RESPONSES = "#/components/responses/"

_ABOUT = (
    "What a memory system implements so that Recall Bench can feed it a history and ask about it. "
    "Any status from 200 to 299 is a success, and a reply of 204 may also be 200 with {}. "
    "A reply may have more fields than are declared here."
)

_SUMMARY = {
    "health": "The name of the system, and whether it is ready. 503 is no.",
    "open": "Open an empty memory, or one that goes on with another.",
    "ingest": "Ingest one episode. They come in story order, each once.",
    "settle": "Reply once everything ingested can be asked about.",
    "ask": "Answer a question, or find passages for it.",
    "attest": "How many days has the memory ingested? Sent only if `attests` is true.",
    "inspect": "What does the memory hold? Sent only if `inspects` is true.",
    "erase": "Erase from the memory. Sent only if `offers` has the part for this scope.",
    "stored": "List every entry that the memory holds. Sent only if `offers` has `stored`.",
    "consolidate": "Reply once the memory has consolidated. Sent only if `offers` has it.",
    "close": "Close a memory.",
    "save": "Save the memory's present state. Sent only if `snapshots` is true.",
    "restore": "Open a new memory in a saved state.",
    "drop": "Drop a saved state.",
}

_FAULT_RESPONSES = {
    "404": ("Gone", "This memory or state is not held here: the run ends, and nothing is counted."),
    "429": ("Busy", "Ask again after Retry-After seconds. 503 with Retry-After means the same."),
    "501": ("Unsupported", "This cannot be done here. 405 means the same."),
    "504": ("Timeout", "It took too long. 408 means the same."),
    "default": (
        "Failed",
        "It failed, and that counts. 502 and 503 mean gone.",
    ),
}


def render_document() -> str:
    """The document as text, as it is committed."""
    return json.dumps(build_document(), indent=2, ensure_ascii=False) + "\n"


def build_document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ROUTES:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _build_operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A memory system behind HTTP",
            "version": str(wire.PROTOCOL),
            "description": _ABOUT,
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": _build_schemas(),
            "responses": {
                name: _describe_content("WireFault", about)
                for name, about in _FAULT_RESPONSES.values()
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": f"Sent if the environment has a {TOKEN_VARIABLE}.",
                }
            },
        },
    }


def _build_operation(endpoint: HttpRoute) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.verb,
        "summary": _SUMMARY[endpoint.verb],
        "responses": {str(endpoint.status): _describe_success(endpoint)}
        | {status: {"$ref": _RESPONSES + name} for status, (name, _) in _FAULT_RESPONSES.items()},
    }
    if endpoint.path_fields:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in endpoint.path_fields
        ]
    if endpoint.has_body:
        content = _describe_content(endpoint.request.__name__)["content"]
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _describe_success(endpoint: HttpRoute) -> dict[str, Any]:
    if endpoint.reply is wire.DoneReply:
        return {"description": "Done."}
    return _describe_content(endpoint.reply.__name__, f"The reply to `{endpoint.verb}`.")


def _describe_content(schema: str, description: str | None = None) -> dict[str, Any]:
    described = {} if description is None else {"description": description}
    return {**described, "content": {JSON: {"schema": {"$ref": _SCHEMAS + schema}}}}


def _build_schemas() -> dict[str, Any]:
    """The messages that are bodies, without the fields in their paths."""
    bodies = [endpoint for endpoint in ROUTES if endpoint.has_body]
    replies = {e.reply.__name__: e.reply for e in ROUTES if e.reply is not wire.DoneReply}
    _, schemas = msgspec.json.schema_components(
        [*(endpoint.request for endpoint in bodies), *replies.values(), wire.WireFault],
        # Only `object` has no schema of its own.
        schema_hook=lambda _: {"description": "Anything."},
        ref_template=_SCHEMAS + "{name}",
    )
    for endpoint in bodies:
        schema = schemas[endpoint.request.__name__]
        for name in endpoint.path_fields:
            del schema["properties"][name]
            schema["required"].remove(name)
    schemas["WireFault"]["properties"]["kind"]["enum"] = sorted(STATUS_OF)
    for (owner, name), about in _read_field_descriptions().items():
        if name in schemas.get(owner, {}).get("properties", {}):
            schemas[owner]["properties"][name]["description"] = about
    return dict(sorted(schemas.items()))


def _read_field_descriptions() -> dict[tuple[str, str], str]:
    """The docstrings below the fields in the source of the messages."""
    found = {}
    for owner in ast.parse(inspect.getsource(wire)).body:
        if not isinstance(owner, ast.ClassDef):
            continue
        for line, below in zip(owner.body, owner.body[1:], strict=False):
            match line, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(about))),
                ):
                    found[owner.name, name] = inspect.cleandoc(about).replace("\n", " ")
    return found
