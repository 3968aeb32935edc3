"""Values that an engine's thread hands over without waiting for the device."""

import math

import numpy
import torch

from hybridscope.hybridscope_trace import plain


class _Batch:
    """Tensors of one moment that are copied to the host together."""

    def __init__(self):
        self.tensors = {}  # (address, shape, strides, dtype) -> (tensor, offset in bytes)
        self.num_bytes = 0
        self._host = self._event = None

    def add(self, tensor):
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        known = self.tensors.get(key)
        if known is None:
            known = self.tensors[key] = (tensor, self.num_bytes)
            self.num_bytes += tensor.numel() * tensor.element_size()
        return DeviceArray(self, tensor, known[1])

    def launch(self):
        """Queues the copies behind the work that the current stream has."""
        if not self.num_bytes:
            return
        parts = [tensor.contiguous().view(-1).view(torch.uint8)
                 for tensor, _ in self.tensors.values() if tensor.numel()]
        on_device = parts[0] if len(parts) == 1 else torch.cat(parts)
        self._host = torch.empty(self.num_bytes, dtype=torch.uint8, pin_memory=True)
        self._host.copy_(on_device, non_blocking=True)
        self._event = torch.cuda.Event(blocking=True)
        self._event.record()
        self.tensors = {}

    def read(self, offset, num_bytes):
        """Waits for the copies."""
        if not num_bytes:
            return b""
        self._event.synchronize()
        return self._host.numpy()[offset:offset + num_bytes].tobytes()


class DeviceArray:
    """A tensor of the device as it was when it was handed over. tolist() waits for the device."""

    def __init__(self, batch, tensor, offset):
        self._batch, self._offset = batch, offset
        self._shape, self._element_size = tuple(tensor.shape), tensor.element_size()
        self._dtype = str(tensor.dtype).removeprefix("torch.")

    def tolist(self):
        num_bytes = math.prod(self._shape) * self._element_size
        values = numpy.frombuffer(self._batch.read(self._offset, num_bytes), dtype=self._dtype)
        return values.reshape(self._shape).tolist()


class DeviceCopies:
    """Takes snapshots (RowReader): arrays of the host are copied at once, tensors of the device by
    the next launch()."""

    def __init__(self):
        self._batch = _Batch()

    def snapshot(self, value):
        return plain(value, self._take)

    def launch(self):
        """Call while the device's tensors are unchanged, as far as the current stream goes."""
        batch, self._batch = self._batch, _Batch()
        batch.launch()

    def _take(self, array):
        if isinstance(array, numpy.ndarray):
            return array.copy()
        if not isinstance(array, torch.Tensor):
            return array.tolist()
        if array.device.type == "cpu":
            return array.detach().numpy().copy()
        return self._batch.add(array.detach())
