"""The JSON Schema of the configuration file, for editors: it completes keys and checks values.

It takes what ``load_config`` takes, and is a little wider: ``${VAR}`` may stand for any number,
word or boolean; an optional key may be empty; text may be written without quotes even if it looks
like a number. What needs the whole file (ids, references, paths) is left to ``load_config``. It
knows what the packages offer that are installed where it is made.
"""

from __future__ import annotations

import re
from typing import Any

from vidpipe.config.outputs import OUTPUT_TYPES, output_types
from vidpipe.config.schema import Config
from vidpipe.runtime.plugins import FAMILIES, plugin_names

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VARIABLE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^{}]*)?\}"}
FLAG_WORDS = {
    "type": "string",
    "pattern": "^([Yy]es|YES|[Nn]o|NO|[Oo]n|ON|[Oo]ff|OFF)$",
}
NOTES = ("description", "default")
PLUGINS = "PluginOutput"
"""The section of all outputs that installed packages offer; there is none where none does."""
LATE_KEYS = {"StreamConfig": {"source", "model"}}
"""Required of a stream, but ``defaults`` may give them."""


def json_schema() -> dict[str, Any]:
    """Return the schema as JSON data (draft 2020-12); a new object each time."""
    raw = Config.model_json_schema()
    definitions = raw.pop("$defs", {})
    types = [name for name in output_types() if name not in OUTPUT_TYPES]
    section = definitions.pop(PLUGINS)
    if types:
        definitions[PLUGINS] = _plugin_section(section, types)
    else:
        _forget(definitions, {"$ref": f"#/$defs/{PLUGINS}"})
    decoder = definitions["ModelConfig"]["properties"]["decoder"]
    decoder["enum"] = [*decoder["enum"], *plugin_names(FAMILIES)]
    return {
        "$schema": DIALECT,
        **_section(raw, "Config"),
        "title": "vidpipe configuration",
        "$defs": {name: _section(section, name) for name, section in definitions.items()},
    }


def _plugin_section(section: dict[str, Any], types: list[str]) -> dict[str, Any]:
    """Return the section of the plugins' outputs: open, since only they know their keys."""
    keys = {key: value for key, value in section["properties"].items() if key != "options"}
    keys["type"] = {key: value for key, value in keys["type"].items() if key == "description"}
    keys["type"]["enum"] = types
    return {**section, "properties": keys, "additionalProperties": {}}


def _forget(schema: Any, reference: dict[str, str]) -> None:
    """Take a choice out of every union."""
    if isinstance(schema, list):
        while reference in schema:
            schema.remove(reference)
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            _forget(inner, reference)


def _section(section: dict[str, Any], name: str) -> dict[str, Any]:
    properties = section.get("properties", {})
    required = [key for key in section.get("required", []) if key not in LATE_KEYS.get(name, ())]
    if "const" in properties.get("type", {}):
        required.append("type")
    made: dict[str, Any] = {
        key: value for key, value in section.items() if key not in ("properties", "required")
    }
    made["properties"] = {
        key: _value(value, may_be_empty=key not in required, is_tag=key == "type")
        for key, value in properties.items()
    }
    if required:
        made["required"] = required
    if name == "ModelConfig":
        made["oneOf"] = [{"required": ["path"]}, {"required": ["zoo"]}]
    return made


def _value(schema: dict[str, Any], *, may_be_empty: bool, is_tag: bool) -> dict[str, Any]:
    """Return a property's schema, widened, with its notes outside where editors look for them."""
    notes = {key: schema[key] for key in NOTES if _is_worth_saying(schema.get(key))}
    inner = {key: value for key, value in schema.items() if key not in (*NOTES, "title")}
    if is_tag:
        return notes | inner
    choices = _choices(inner)
    if may_be_empty and {"type": "null"} not in choices:
        choices.append({"type": "null"})
    return notes | _one_of(choices)


def _is_worth_saying(note: object) -> bool:
    """Return False for defaults that say nothing: absent, or a whole section's."""
    return note is not None and note != "" and not isinstance(note, dict)


def _one_of(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _choices(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives that a value may be, those of a variable and of plain text added."""
    for union in ("anyOf", "oneOf"):
        if union in schema:
            nested = [choice for part in schema[union] for choice in _choices(part)]
            return [choice for at, choice in enumerate(nested) if choice not in nested[:at]]
    kind = schema.get("type")
    if kind == "array":
        return [_array(schema)]
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        values = _choices(schema["additionalProperties"])
        return [{**schema, "additionalProperties": _one_of(values)}]
    if kind == "boolean":
        return [schema, FLAG_WORDS, VARIABLE]
    if kind in ("number", "integer") or "enum" in schema or "const" in schema:
        return [schema, VARIABLE]
    if kind == "string" and re.search(schema.get("pattern", ""), "5") is None:
        return [schema, VARIABLE]  # no number could be meant
    if kind == "string":
        return [{**schema, "type": ["string", "number", "boolean"]}, VARIABLE]
    return [schema]


def _array(schema: dict[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    if "items" in made:
        made["items"] = _one_of(_choices(made["items"]))
    if "prefixItems" in made:
        made["prefixItems"] = [_one_of(_choices(item)) for item in made["prefixItems"]]
    return made
