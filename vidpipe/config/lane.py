"""What every output has in common: the lane in front of it, and how a URL is taken."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from vidpipe.config.address import PORTS, split_port, split_url
from vidpipe.config.section import Section
from vidpipe.config.values import AS_TEXT, AS_WHOLE, fault, filled_text


def url_of(*schemes: str) -> BeforeValidator:
    """Return what takes URLs of some schemes; credentials in them are percent-encoded."""

    def check(value: object) -> object:
        text = str(filled_text(value))
        url = split_url(text)
        if url is None or url.scheme.lower() not in schemes or not url.host:
            raise fault("expected a URL of " + " or ".join(f"{scheme}://" for scheme in schemes))
        host, port = split_port(url.host)
        if not host or (port and not (port.isdecimal() and 0 < int(port[:6]) < PORTS)):
            raise fault(
                "the URL's port is not a number from 1 to 65535; where a user or password holds "
                "/ ? # @ or :, percent-encode it, or use the keys of that name where there are any"
            )
        if not text.isprintable() or " " in url.host:
            raise fault("the URL holds a space or a control character where none may be")
        return text

    return BeforeValidator(check, json_schema_input_type=str)


class OutputLaneConfig(Section):
    """The bounded lane in front of one output. Absent keys: chosen from the output's type."""

    size: Annotated[
        int | None, Field(ge=1, le=4096, description="Results that may wait."), AS_WHOLE
    ] = None
    overflow: Annotated[
        Literal["drop-oldest", "block"] | None,
        Field(description="What a full lane does: lose the oldest result, or make the chain wait."),
        AS_TEXT,
    ] = None


class OutputConfig(Section):
    """What every output has."""

    lane: Annotated[
        OutputLaneConfig, Field(description="The bounded lane in front of this output.")
    ] = OutputLaneConfig()
