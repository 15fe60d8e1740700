"""Where else the catalogue's files may be taken from: a folder, or another server.

A mirror is laid out as the user finds it convenient: as Open Model Zoo's own downloader does
(``MODEL/PRECISION/FILE``), with a folder a model, or flat; or it is a copy of vidpipe's own cache,
as another machine has it. In a folder that holds several files of
one name, the one with the right checksum is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from vidpipe.errors import FetchError
from vidpipe.inference.catalogue import RemoteFile, WheelFile, ZooEntry
from vidpipe.inference.checksum import sha256_of
from vidpipe.runtime.logs import redact

_WEB = ("https", "http")
_PRECISIONS = {"INT8": ("FP16-INT8", "INT8")}
"""How the folders are called in which Open Model Zoo keeps a precision."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A place that the user names.

    Attributes:
        place: A folder, or the address of one.
    """

    place: str

    def sources(self, entry: ZooEntry) -> tuple[tuple[RemoteFile, ...], ...]:
        """Return, for each file of an entry, from where it may be taken, the best first.

        Raises:
            FetchError: The folder isn't there, or lacks a file.
        """
        source = entry.source
        if isinstance(source, WheelFile):
            wheel = RemoteFile(source.file, source.size, source.sha256)
            return (self._candidates(wheel, ("", "wheels")),)
        folders = [f"{entry.model}/{name}" for name in _precisions(entry)]
        return tuple(self._candidates(file, (*folders, entry.model, "")) for file in source)

    def kept(self, folder: Path) -> Path | None:
        """Return a folder of a cache that was copied here, such as ``NAME/VERSION``; None: no such.

        The place may be the cache or its folder of models.
        """
        if urlsplit(self.place).scheme in _WEB:
            return None
        places = (self._folder() / "models" / folder, self._folder() / folder)
        return next((place for place in places if place.is_dir()), None)

    def _candidates(self, file: RemoteFile, folders: Iterable[str]) -> tuple[RemoteFile, ...]:
        paths = [str(PurePosixPath(folder) / file.name) for folder in folders]
        if urlsplit(self.place).scheme in _WEB:
            base = self.place.rstrip("/")
            return tuple(replace(file, url=f"{base}/{path}") for path in paths)
        return (replace(file, url=self._find(file, paths).as_uri()),)

    def _find(self, file: RemoteFile, paths: list[str]) -> Path:
        folder = self._folder()
        found = [path for path in (folder / name for name in paths) if path.is_file()]
        for path in found:
            if path.stat().st_size == file.size and sha256_of(path) == file.sha256:
                return path
        if found:
            raise FetchError(
                f"{found[0]} is not what it should be: it is damaged, or of another precision or"
                f" release; wanted are {file.size} bytes with SHA-256 {file.sha256}"
            )
        raise FetchError(f"{self.place} has no {file.name}: it is looked for as {', '.join(paths)}")

    def _folder(self) -> Path:
        parts = urlsplit(self.place)
        path = url2pathname(parts.path) if parts.scheme == "file" else self.place
        folder = Path(path).expanduser().absolute()
        if not folder.is_dir():
            raise FetchError(
                f"{redact(self.place)} is neither a folder nor an https: address: name the folder"
                " that holds the model's files"
            )
        return folder


def _precisions(entry: ZooEntry) -> tuple[str, ...]:
    return _PRECISIONS.get(entry.precision, (entry.precision,))
