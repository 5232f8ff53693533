"""The recall tool's definition in each format."""

from __future__ import annotations

from typing import Any

# No number in it: small models copy one from here instead of asking by words.
DESCRIPTION = (
    "Looks up what was folded away to save room and brings it back, word for word. Ask by words, or by what a note "
    "names: an id (#N), a range (#N-#M), lines of one item (#N:40-80); several at once, separated by commas."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "ids": {"type": "string", "description": "words to look for, or ids or ranges"},
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
