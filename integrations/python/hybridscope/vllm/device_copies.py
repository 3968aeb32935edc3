"""Values that an engine's thread hands over without waiting for the device."""

import numpy
import torch

from hybridscope import _native
from hybridscope.errors import Device, NotAvailable
from hybridscope.hybridscope_trace import Values, plain

_NUMPY_TYPES = {torch.bool: numpy.dtype(bool), torch.uint8: numpy.dtype("uint8"),
                torch.int8: numpy.dtype("int8"), torch.int16: numpy.dtype("int16"),
                torch.int32: numpy.dtype("int32"), torch.int64: numpy.dtype("int64"),
                torch.float32: numpy.dtype("float32"), torch.float64: numpy.dtype("float64")}


class _TorchCopies:
    """Copies tensors with torch: several calls, each of which lets other threads in."""

    alignment = 1

    def launch(self, tensors, _):
        """Queues the copies behind the work that the current stream has."""
        return _TorchCopied([tensor.contiguous().reshape(-1).view(torch.uint8)
                             for tensor, _ in tensors])


class _TorchCopied:
    def __init__(self, parts):
        on_device = torch.cat(parts)
        self._bytes = torch.empty(len(on_device), dtype=torch.uint8, pin_memory=True)
        self._bytes.copy_(on_device, non_blocking=True)
        self._event = torch.cuda.Event(blocking=True)
        self._event.record()

    def wait(self):
        self._event.synchronize()

    def numpy(self):
        return self._bytes.numpy()


class _KernelCopies:
    """Copies tensors with one launch of a kernel of ours."""

    alignment = 16

    def __init__(self, device):
        self._device, self._copies = device, _native.ArrayCopies(device.index)

    def launch(self, tensors, num_bytes):
        """Queues the copies behind the work that the current stream has."""
        tensors = [(tensor.contiguous(), begin) for tensor, begin in tensors]
        arrays = [(tensor.data_ptr(), tensor.nbytes, begin) for tensor, begin in tensors]
        stream = torch.cuda.current_stream(self._device).cuda_stream
        return _KernelCopied(self._copies.launch(arrays, num_bytes, stream))


class _KernelCopied:
    def __init__(self, copied):
        self._copied, self.wait = copied, copied.wait

    def numpy(self):
        return numpy.frombuffer(self._copied, numpy.uint8)


def _copies_of(device):
    try:
        return _KernelCopies(device)
    except (Device, NotAvailable):
        return _TorchCopies()


class _Batch:
    """Tensors of one moment that are copied to the host together."""

    def __init__(self, copies):
        self._copies = copies
        self._tensors = []  # with the begin of their copy, in bytes
        self._num_bytes = 0
        self._arrays = {}  # (address, shape, strides, dtype) -> DeviceArray
        self._copied = self._bytes = None

    def add(self, tensor):
        """A DeviceArray, the same for the same elements."""
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        array = self._arrays.get(key)
        if array is None:
            begin = self._num_bytes
            array = self._arrays[key] = DeviceArray(self, begin, tensor.shape, tensor.dtype)
            self._tensors.append((tensor, begin))  # its memory is nobody else's until launch()
            alignment = self._copies.alignment
            self._num_bytes = begin + -(-tensor.nbytes // alignment) * alignment
        return array

    def launch(self):
        """Queues the copies behind the work that the current stream has."""
        self._copied = self._copies.launch(self._tensors, self._num_bytes)
        self._tensors, self._arrays = [], {}

    def bytes(self):
        """The copies, once they are made."""
        if self._bytes is None:
            self._copied.wait()
            self._bytes = self._copied.numpy()
        return self._bytes


class DeviceArray:
    """A tensor of the device as it was when it was handed over."""

    def __init__(self, batch, begin, shape, dtype):
        self._batch, self._begin, self._shape, self._dtype = batch, begin, shape, dtype
        self._array = None

    def host_array(self):
        """The tensor as a numpy array; waits for the device."""
        if self._array is None:
            self._array = numpy.ndarray(self._shape, _NUMPY_TYPES[self._dtype],
                                        self._batch.bytes(), self._begin)
        return self._array

    def tolist(self):
        """Its numbers."""
        return self.host_array().tolist()


class _Rows:
    """Some elements of a DeviceArray."""

    def __init__(self, array, rows):
        self._array, self._rows = array, rows

    def host_array(self):
        """A numpy array; waits for the device."""
        return self._array.host_array()[self._rows]

    def tolist(self):
        """Their numbers."""
        return self.host_array().tolist()


class DeviceCopies(Values):
    """Arrays of the host are copied at once, tensors of the device by the next launch(), until when
    they must not change, as far as the current stream goes. Other values become text at once."""

    def __init__(self):
        self._parts = _native.JsonParts()
        self._copies = None  # of the device, once it is known
        self._batch = None

    def snapshot(self, value):
        """The value with its arrays replaced by what stays as it is."""
        if isinstance(value, torch.Tensor):
            return self._take(value)
        return plain(value, self._take)

    def rows(self, array, batch):
        """As DeviceArray, where the array is on a device."""
        taken = self.snapshot(array)
        rows = batch.idx_mapping_np.copy()
        return _Rows(taken, rows) if isinstance(taken, DeviceArray) else taken[rows]

    def part(self, name, value):
        """Its text."""
        return self._parts.part(name, value)

    def fields(self, fields, member):
        """Text, and the arrays to come."""
        return self._parts.of_fields(fields, member)

    def launch(self):
        """Begins the copies."""
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.launch()

    def _take(self, array):
        if isinstance(array, numpy.ndarray):
            return array.copy()
        if not isinstance(array, torch.Tensor):
            return array.tolist()
        if array.dtype not in _NUMPY_TYPES:
            return None  # no index and no count
        if array.is_cpu:
            return array.detach().numpy().copy()
        if 0 in array.shape:
            return numpy.empty(array.shape, _NUMPY_TYPES[array.dtype])
        if self._batch is None:
            self._copies = self._copies or _copies_of(array.device)
            self._batch = _Batch(self._copies)
        return self._batch.add(array)
