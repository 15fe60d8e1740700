"""One inference request with tensors of its own.

OpenVINO's rules, as measured: the callback is not called when the inference itself fails (`wait`
raises then, and the request can be used again); `wait` returns True only once the callback has
returned; dropping the last reference to a running request blocks until it ends, so cancel it
first and wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import openvino as ov

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.family import Output
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.graph import reason_of
from vidpipe.types import Pixels

_LONGEST_WAIT_S = 1e6
"""The runtime counts milliseconds in 64 bits, but infinity is no number of them."""


class BoundRequest:
    """A request, its input tensor and its output tensors, made once and used over and over.

    One thread at a time may touch it: whoever holds it. `cancel` may come from any thread.

    Attributes:
        tensor: (H, W, 3) uint8 BGR, contiguous: what the next inference sees.
        geometry: Where the last filled picture lies in the tensor, or None before the first.
    """

    __slots__ = ("_outputs", "_request", "_tensors", "geometry", "tensor")

    def __init__(self, compiled: ov.CompiledModel) -> None:
        """Make the request and its tensors."""
        self._request = compiled.create_infer_request()
        entry = ov.Tensor(ov.Type.u8, compiled.input(0).shape)
        self._request.set_input_tensor(0, entry)
        self.tensor: Pixels = entry.data[0]
        self.geometry: Geometry | None = None
        self._tensors = [entry]
        self._outputs: list[Output | None] = []
        for index, port in enumerate(compiled.outputs):
            if port.partial_shape.is_dynamic:
                self._outputs.append(None)
                continue
            tensor = ov.Tensor(port.element_type, port.shape)
            self._request.set_output_tensor(index, tensor)
            self._tensors.append(tensor)
            self._outputs.append(tensor.data)

    def set_callback(self, callback: Callable[[], None]) -> None:
        """Have a function called in a thread of the device after each inference that succeeds.

        It must not raise, block, or start a request.
        """
        self._request.set_callback(lambda _: callback(), None)

    def start(self) -> None:
        """Start the inference and return at once.

        Raises:
            InferenceError: It is still running, or the device refuses.
        """
        try:
            self._request.start_async()
        except RuntimeError as error:
            raise InferenceError(f"the device refused a picture: {reason_of(error)}") from error

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the inference; False if it still runs after the time.

        Raises:
            InferenceError: The inference failed or was cancelled.
        """
        try:
            return bool(
                self._request.wait_for(int(min(max(timeout_s, 0.0), _LONGEST_WAIT_S) * 1000))
            )
        except RuntimeError as error:
            raise InferenceError(f"the device failed: {reason_of(error)}") from error

    def cancel(self) -> None:
        """Ask the device to stop; returns at once; `wait` raises soon after."""
        self._request.cancel()

    def outputs(self) -> Sequence[Output]:
        """Return views of the outputs, valid until the next start, in the model's order."""
        return [
            np.asarray(self._request.get_output_tensor(index).data) if output is None else output
            for index, output in enumerate(self._outputs)
        ]
