"""Values that an engine's thread hands over without waiting for the device."""

import numpy
import torch

from hybridscope.hybridscope_trace import plain

_NUMPY_TYPES = {torch.bool: numpy.dtype(bool), torch.uint8: numpy.dtype("uint8"),
                torch.int8: numpy.dtype("int8"), torch.int16: numpy.dtype("int16"),
                torch.int32: numpy.dtype("int32"), torch.int64: numpy.dtype("int64"),
                torch.float32: numpy.dtype("float32"), torch.float64: numpy.dtype("float64")}


def _as_bytes(tensor):
    flat = tensor.reshape(-1)
    if flat.stride(0) != 1:
        flat = flat.clone(memory_format=torch.contiguous_format)
    return flat.view(torch.uint8)


class _Batch:
    """Tensors of one moment that are copied to the host together."""

    def __init__(self):
        self.tensors = []
        self.offsets = {}  # (address, shape, strides, dtype) -> of the tensor's copy, in bytes
        self.num_bytes = 0
        self._host = self._event = None

    def add(self, tensor):
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        offset = self.offsets.setdefault(key, self.num_bytes)
        if offset == self.num_bytes and tensor.numel():
            self.tensors.append(tensor)
            self.num_bytes += tensor.numel() * tensor.element_size()
        return DeviceArray(self, offset, tensor)

    def launch(self):
        """Queues the copies behind the work that the current stream has."""
        if not self.tensors:
            return
        parts = [_as_bytes(tensor) for tensor in self.tensors]
        on_device = parts[0] if len(parts) == 1 else torch.cat(parts)
        self._host = torch.empty(self.num_bytes, dtype=torch.uint8, pin_memory=True)
        self._host.copy_(on_device, non_blocking=True)
        self._event = torch.cuda.Event(blocking=True)
        self._event.record()
        self.tensors, self.offsets = [], {}

    def keep(self):
        """Copies the tensors on the device: they may change before launch()."""
        self.tensors = [tensor.clone() for tensor in self.tensors]
        self.offsets = {}

    def host(self):
        """The copies, once they are made."""
        if self._event is not None:
            self._event.synchronize()
            self._host, self._event = self._host.numpy(), None
        return self._host


class DeviceArray:
    """A tensor of the device as it was when it was handed over."""

    def __init__(self, batch, offset, tensor):
        self._batch, self._offset = batch, offset
        self._shape, self._type = tensor.shape, _NUMPY_TYPES[tensor.dtype]

    def host_array(self):
        """The tensor as a numpy array; waits for the device."""
        if 0 in self._shape:
            return numpy.empty(self._shape, self._type)
        return numpy.ndarray(self._shape, self._type, self._batch.host(), self._offset)

    def tolist(self):
        """Its numbers."""
        return self.host_array().tolist()


class DeviceCopies:
    """Takes snapshots (RowReader): arrays of the host are copied at once, tensors of the device by
    the next launch()."""

    def __init__(self):
        self._batch = _Batch()

    def snapshot(self, value):
        """The value with its arrays replaced by what stays as it is."""
        return plain(value, self._take)

    def keep(self):
        """Call before the device's tensors may change, as far as the current stream goes."""
        self._batch.keep()

    def launch(self):
        """Begins the copies. Call while the tensors taken since keep() are unchanged."""
        batch, self._batch = self._batch, _Batch()
        batch.launch()

    def _take(self, array):
        if isinstance(array, numpy.ndarray):
            return array.copy()
        if not isinstance(array, torch.Tensor):
            return array.tolist()
        if array.dtype not in _NUMPY_TYPES:
            return None  # no index and no count
        if array.device.type == "cpu":
            return array.detach().numpy().copy()
        return self._batch.add(array.detach())
