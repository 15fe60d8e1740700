"""What a configuration says of the pictures that a run shows."""

from __future__ import annotations

from vidpipe.config.schema import Config, WallConfig
from vidpipe.shots import Exhibition, Gallery


def wall_of(config: Config) -> WallConfig | None:
    """Return how pictures are shown; None where nobody could look at them."""
    if config.wall is None and config.server is not None:
        return WallConfig()
    return config.wall


def exhibition_of(config: Config, gallery: Gallery | None) -> Exhibition | None:
    """Return what a server shows of a run's gallery."""
    wall = wall_of(config)
    if wall is None or gallery is None:
        return None
    return Exhibition(gallery, wall.fps, wall.groups)
