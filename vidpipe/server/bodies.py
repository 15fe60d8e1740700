"""A file in a request: the whole body, or one part of a form (``multipart/form-data``)."""

from __future__ import annotations

from email.message import Message


class FormError(ValueError):
    """The body is not the form that its head promises, or has no file in it."""


def file_of(body: bytes, content_type: str) -> bytes:
    """Return the file of a request.

    Of a form it is the first part that has a file's name, or the only part there is; of anything
    else the body.

    Raises:
        FormError: The form is broken, or has no file.
    """
    head = Message()
    head["content-type"] = content_type
    if head.get_content_type() != "multipart/form-data":
        return body
    try:
        boundary = head.get_boundary()
    except (ValueError, TypeError):  # the library's, at parameters in odd pieces
        boundary = None
    if not boundary:
        raise FormError("the form doesn't say by what its parts are divided (boundary)")
    parts = _parts_of(body, b"--" + boundary.encode("latin-1", "replace"))
    files = [content for headers, content in parts if b"filename" in headers]
    if files:
        return files[0]
    if len(parts) == 1:
        return parts[0][1]
    raise FormError("the form has no file in it")


def _parts_of(body: bytes, divider: bytes) -> list[tuple[bytes, bytes]]:
    """Return each part's head, in small letters, and its content (RFC 2046, 5.1.1)."""
    if not body.startswith(divider):
        start = body.find(b"\r\n" + divider)
        if start < 0:
            raise FormError("the form has no parts")
        body = body[start + 2 :]
    parts = []
    place = len(divider)
    while not body.startswith(b"--", place):
        end = body.find(b"\r\n" + divider, place)
        head_end = body.find(b"\r\n\r\n", place, end + 2 if end >= 0 else len(body))
        if end < 0 or head_end < 0:
            raise FormError("the form ends in the middle of a part")
        parts.append((body[place:head_end].lower(), body[head_end + 4 : end]))
        place = end + 2 + len(divider)
    return parts
