"""One inference request with tensors of its own.

OpenVINO's rules, as measured: the callback is not called when the inference itself fails (`wait`
raises then, and the request can be used again); `wait` returns True only once the callback has
returned; dropping the last reference to a running request blocks until it ends, so cancel it
first and wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from weakref import ref

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
        pixels: (N, H, W, 3) uint8 BGR, contiguous: what the next inference sees; black at first.
        rows: The pictures of the batch, (H, W, 3) each: views of ``pixels``.
        geometry: Where the last filled picture lies in the first row, or None before the first.
    """

    __slots__ = ("_called", "_outputs", "_request", "_tensors", "geometry", "pixels", "rows")

    def __init__(self, compiled: ov.CompiledModel, pixels: Pixels | None = None) -> None:
        """Make the request and its tensors.

        Args:
            compiled: The model.
            pixels: The input of another request, of at least as many rows, to be shared; None: its
                own.
        """
        self._request = compiled.create_infer_request()
        shape = compiled.input(0).shape
        if pixels is None:
            pixels = np.zeros(tuple(shape), np.uint8)
        self.pixels: Pixels = pixels[: shape[0]]
        entry = ov.Tensor(self.pixels, shared_memory=True)
        self._request.set_input_tensor(0, entry)
        self.rows: list[Pixels] = list(self.pixels)
        self.geometry: Geometry | None = None
        self._called: ref[Callable[[object], None]] | None = None
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

    @property
    def tensor(self) -> Pixels:
        """The first row: all of the input, but for a batch."""
        return self.rows[0]

    def set_callback(self, callback: Callable[[], None]) -> None:
        """Have a function called in a thread of the device after each inference that succeeds.

        It must not raise, block, or start a request.
        """

        def call_back(_: object) -> None:
            callback()

        self._called = ref(call_back)
        self._request.set_callback(call_back, None)

    def forget_callback(self) -> None:
        """Call nobody any more; only while no inference runs."""
        if not self.is_forgotten:
            with suppress(RuntimeError):  # it runs still, and so isn't forgotten
                self._request.set_callback(_call_nobody, None)

    @property
    def is_forgotten(self) -> bool:
        """True once no thread of the device holds the callback, for which it needs Python.

        Each holds it for some moments after `wait` has returned. One that lets it go while the
        interpreter ends, which gives nobody its lock any more, aborts the process.
        """
        return self._called is None or self._called() is None

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


def _call_nobody(_: object) -> None:
    pass
