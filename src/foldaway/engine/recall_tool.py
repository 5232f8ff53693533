"""The recall tool's definition in each format."""

from __future__ import annotations

from typing import Any

DESCRIPTION = (
    "Brings back, word for word, what was folded away to save room. Ask by id (#12), range (#12-#15), lines of one "
    "item (#12:40-80) or words; several at once, separated by commas."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "ids": {"type": "string", "description": "ids, ranges or words"},
        "find": {"type": "string", "description": "only the part about these words"},
    },
    "required": ["ids"],
}


def recall_tool(format: str) -> dict[str, Any]:
    """The tool as this format's requests define tools."""
    match format:
        case "anthropic_messages":
            return {"name": "recall", "description": DESCRIPTION, "input_schema": SCHEMA}
        case "openai_responses":
            return {"type": "function", "name": "recall", "description": DESCRIPTION, "parameters": SCHEMA}
        case _:
            function = {"name": "recall", "description": DESCRIPTION, "parameters": SCHEMA}
            return {"type": "function", "function": function}
