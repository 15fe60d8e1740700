"""vidpipe watches many video streams at once through one shared pool of OpenVINO requests.

As a library::

    from vidpipe import Pipeline

    for result in Pipeline("cameras.yml"):
        print(result.frame.stream, result.frame.pts_s, result.detections.labels)

What is exported here is the public API; ``docs/library.md`` shows its use. Each name is loaded from
its home when it is first asked for, so that the command line, and whoever needs only an error's
class, don't wait for OpenVINO and OpenCV.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from vidpipe.version import __version__

if TYPE_CHECKING:
    from vidpipe.apps.outcome import Failure
    from vidpipe.apps.pipeline import Pipeline
    from vidpipe.config.load import load_config
    from vidpipe.config.schema import Config
    from vidpipe.errors import (
        ConfigError,
        Fault,
        FetchError,
        InferenceError,
        ModelError,
        PluginError,
        SinkError,
        SourceCause,
        SourceError,
        StopForcedError,
        UsageError,
        VidpipeError,
    )
    from vidpipe.inference.decoders.family import (
        Decoder,
        DecodeRule,
        Family,
        Signature,
        TensorSpec,
    )
    from vidpipe.inference.geometry import Geometry
    from vidpipe.inference.settings import InputRecipe
    from vidpipe.interfaces import Reader, Sink, SinkPlugin, SourcePlugin
    from vidpipe.outputs.lines import line_from_result
    from vidpipe.outputs.naming import claim_path
    from vidpipe.pixels import bgr_from_picture, bgr_resized, picture_from_bgr
    from vidpipe.runtime.meters import StreamStats
    from vidpipe.types import (
        CaptureReport,
        Decoded,
        Detections,
        DropCause,
        Frame,
        FrameResult,
        Picture,
        SinkRequest,
        SourceInfo,
        SourceKind,
        SourceRequest,
        StreamState,
        Verdict,
    )

__all__ = [
    "CaptureReport",
    "Config",
    "ConfigError",
    "DecodeRule",
    "Decoded",
    "Decoder",
    "Detections",
    "DropCause",
    "Failure",
    "Family",
    "Fault",
    "FetchError",
    "Frame",
    "FrameResult",
    "Geometry",
    "InferenceError",
    "InputRecipe",
    "ModelError",
    "Picture",
    "Pipeline",
    "PluginError",
    "Reader",
    "Signature",
    "Sink",
    "SinkError",
    "SinkPlugin",
    "SinkRequest",
    "SourceCause",
    "SourceError",
    "SourceInfo",
    "SourceKind",
    "SourcePlugin",
    "SourceRequest",
    "StopForcedError",
    "StreamState",
    "StreamStats",
    "TensorSpec",
    "UsageError",
    "Verdict",
    "VidpipeError",
    "__version__",
    "bgr_from_picture",
    "bgr_resized",
    "claim_path",
    "line_from_result",
    "load_config",
    "picture_from_bgr",
]

_HOMES = {
    "vidpipe.apps.outcome": ("Failure",),
    "vidpipe.apps.pipeline": ("Pipeline",),
    "vidpipe.config.load": ("load_config",),
    "vidpipe.config.schema": ("Config",),
    "vidpipe.errors": (
        "ConfigError",
        "Fault",
        "FetchError",
        "InferenceError",
        "ModelError",
        "PluginError",
        "SinkError",
        "SourceCause",
        "SourceError",
        "StopForcedError",
        "UsageError",
        "VidpipeError",
    ),
    "vidpipe.interfaces": (
        "Reader",
        "Sink",
        "SinkPlugin",
        "SourcePlugin",
    ),
    "vidpipe.inference.decoders.family": (
        "DecodeRule",
        "Decoder",
        "Family",
        "Signature",
        "TensorSpec",
    ),
    "vidpipe.inference.geometry": ("Geometry",),
    "vidpipe.inference.settings": ("InputRecipe",),
    "vidpipe.outputs.lines": ("line_from_result",),
    "vidpipe.outputs.naming": ("claim_path",),
    "vidpipe.pixels": (
        "bgr_from_picture",
        "bgr_resized",
        "picture_from_bgr",
    ),
    "vidpipe.runtime.meters": ("StreamStats",),
    "vidpipe.types": (
        "CaptureReport",
        "Decoded",
        "Detections",
        "DropCause",
        "Frame",
        "FrameResult",
        "Picture",
        "SinkRequest",
        "SourceInfo",
        "SourceKind",
        "SourceRequest",
        "StreamState",
        "Verdict",
    ),
}
"""Where each name lives: the imports above, once more for a program that runs."""

if not TYPE_CHECKING:  # a type checker is to know which names there are, and which not

    def __getattr__(name: str) -> object:
        """Import what is asked for (PEP 562)."""
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(_import_module(home), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List what there is, loaded or not."""
        return sorted({*globals(), *__all__})
