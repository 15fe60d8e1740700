"""What a recorded file says of itself, read from its header alone: nothing is decoded."""

from __future__ import annotations

from pathlib import Path

from vidpipe.sources.addresses import connect_file
from vidpipe.sources.declared import Place, choose_stream, info_of, promise_of
from vidpipe.sources.files import shown
from vidpipe.types import SourceInfo, SourceKind


def read_header(path: Path) -> SourceInfo:
    """Return what a file declares; its rotation isn't known then.

    Raises:
        SourceError: It can't be opened, or has no video.
    """
    container = connect_file(path)
    try:
        stream = choose_stream(container, shown(path))
        place = Place(shown(path), SourceKind.FILE, is_live=False, path=path, is_local=True)
        # Whether it is cut off is nothing that its header says.
        return info_of(container, stream, place, promise_of(container, stream, None))
    finally:
        container.close()


def expected_frames(info: SourceInfo) -> float | None:
    """Return about how many frames there are, as far as a header knows."""
    if info.frame_count:
        return float(info.frame_count)
    if info.duration_s and info.rate_fps:
        return info.duration_s * info.rate_fps
    return None
