"""What a recorded file says of itself, read from its header alone: nothing is decoded."""

from __future__ import annotations

from pathlib import Path

from vidpipe.sources.addresses import connect_file
from vidpipe.sources.container import LibraryError
from vidpipe.sources.declared import Place, choose_stream, info_of, promise_of
from vidpipe.sources.files import file_error, require_file, shown
from vidpipe.types import SourceInfo, SourceKind


def read_header(path: Path) -> SourceInfo:
    """Return what a file declares; its rotation isn't known then.

    Raises:
        SourceError: It can't be opened, or has no video.
    """
    require_file(path)
    try:
        container = connect_file(path)
    except LibraryError as exc:
        raise file_error(path, exc, exc.reason) from None
    except OSError as exc:
        raise file_error(path, exc) from None
    try:
        stream = choose_stream(container, shown(path))
        place = Place(shown(path), SourceKind.FILE, is_live=False, path=path, is_local=True)
        return info_of(container, stream, place, promise_of(container, stream, path))
    finally:
        container.close()


def expected_frames(info: SourceInfo) -> float | None:
    """Return about how many frames there are, as far as a header knows."""
    if info.frame_count:
        return float(info.frame_count)
    if info.duration_s and info.rate_fps:
        return info.duration_s * info.rate_fps
    return None
