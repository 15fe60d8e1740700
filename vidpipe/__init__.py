"""vidpipe watches many video streams at once through one shared pool of OpenVINO requests."""

__version__ = "0.1.0"
