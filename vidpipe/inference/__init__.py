"""Everything that touches OpenVINO: models, the request pool, families of outputs, the zoo.

Importing OpenVINO reports the import to its makers over the network. What watches cameras tells
nobody: the reporting package is hidden from it, and OpenVINO falls back on its own silent stand-in.
"""

import sys

sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type] # None: not importable
