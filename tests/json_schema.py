"""A small JSON Schema checker: just the keywords that vidpipe's schema uses, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
NOTES = {"title", "description", "default", "$schema", "$defs", "format", "writeOnly"}


def errors_in(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    """Return what a JSON Schema finds wrong with a value.

    Raises:
        AssertionError: The schema has a keyword that is not understood here.
    """
    return list(_errors(value, schema, root))


def _is_type(value: Any, names: str | list[str]) -> bool:
    wanted = [names] if isinstance(names, str) else names
    if isinstance(value, bool):
        return "boolean" in wanted
    return any(isinstance(value, TYPES[name]) for name in wanted if name != "boolean")


def _errors(  # noqa: C901
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[str]:
    for word, rule in schema.items():
        if word in NOTES:
            continue
        if word == "$ref":
            yield from _errors(value, root["$defs"][rule.removeprefix("#/$defs/")], root)
        elif word == "anyOf":
            if all(errors_in(value, choice, root) for choice in rule):
                yield f"{value!r} is none of the choices"
        elif word == "oneOf":
            if sum(not errors_in(value, choice, root) for choice in rule) != 1:
                yield f"{value!r} is not exactly one of the choices"
        elif not _holds(word, rule, value):
            yield f"{value!r}: {word} {rule}"
        elif isinstance(value, dict):
            yield from _of_mapping(value, word, rule, schema, root)
        elif isinstance(value, list):
            yield from _of_list(value, word, rule, root)


def _holds(word: str, rule: Any, value: Any) -> bool:  # noqa: C901
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match word:
        case "type":
            return _is_type(value, rule)
        case "const":
            return bool(value == rule)
        case "enum":
            return value in rule
        case "pattern":
            return not isinstance(value, str) or re.search(rule, value) is not None
        case "minimum":
            return not is_number or value >= rule
        case "maximum":
            return not is_number or value <= rule
        case "exclusiveMinimum":
            return not is_number or value > rule
        case "minLength" | "minItems" | "minProperties":
            return not isinstance(value, str | list | dict) or len(value) >= rule
        case "maxLength" | "maxItems":
            return not isinstance(value, str | list | dict) or len(value) <= rule
        case "required":
            return not isinstance(value, dict) or all(key in value for key in rule)
        case "properties" | "additionalProperties" | "propertyNames" | "items" | "prefixItems":
            return True
    raise AssertionError(f"the schema has the keyword {word}")


def _of_mapping(
    value: dict[str, Any], word: str, rule: Any, schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[str]:
    if word == "properties":
        for key in rule.keys() & value.keys():
            yield from _errors(value[key], rule[key], root)
    elif word == "additionalProperties":
        for key in value.keys() - schema.get("properties", {}).keys():
            if rule is False:
                yield f"the key {key} is unknown"
            else:
                yield from _errors(value[key], rule, root)


def _of_list(value: list[Any], word: str, rule: Any, root: Mapping[str, Any]) -> Iterator[str]:
    if word == "items":
        for item in value:
            yield from _errors(item, rule, root)
    elif word == "prefixItems":
        for item, inner in zip(value, rule, strict=False):
            yield from _errors(item, inner, root)
