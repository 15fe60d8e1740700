"""The ground that every section of the configuration stands on: frozen, closed, and discreet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from vidpipe.config.address import masked
from vidpipe.runtime.logs import redact


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """Stands in for the value of a key that a section doesn't have.

    So the fault knows what would have been allowed, and the value (a password under a mistyped
    key, say) gets into no error.
    """

    allowed: tuple[str, ...]


class Section(BaseModel):
    """A mapping of the file: unknown keys are faults, null is absent, and URLs are shown masked."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False
    )

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = cls.model_fields
        unknown = UnknownKey(tuple(fields))
        return {
            key: value if key in fields else unknown
            for key, value in data.items()
            if value is not None or key not in fields
        }

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what ``repr`` shows: all fields, without the passwords of URLs."""
        for name, value in super().__repr_args__():
            yield name, masked(value) if isinstance(value, str) else value

    def __repr__(self) -> str:
        """Show all fields, without any secret that is known."""
        return redact(super().__repr__())

    def __str__(self) -> str:
        """Show the same."""
        return redact(super().__str__())
