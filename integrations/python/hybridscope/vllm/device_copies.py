"""Values that an engine's thread hands over without waiting for the device."""

import numpy
import torch

from hybridscope import _native
from hybridscope.errors import Device, NotAvailable
from hybridscope.hybridscope_trace import Values

_NUMPY_TYPES = {torch.bool: numpy.dtype(bool), torch.uint8: numpy.dtype("uint8"),
                torch.int8: numpy.dtype("int8"), torch.int16: numpy.dtype("int16"),
                torch.int32: numpy.dtype("int32"), torch.int64: numpy.dtype("int64"),
                torch.float32: numpy.dtype("float32"), torch.float64: numpy.dtype("float64")}


class _TorchBatch:
    """The bytes of tensors that torch copies."""

    def __init__(self, parts):
        on_device = torch.cat(parts)
        self._bytes = torch.empty(len(on_device), dtype=torch.uint8, pin_memory=True)
        self._bytes.copy_(on_device, non_blocking=True)
        self._event = torch.cuda.Event(blocking=True)
        self._event.record()

    def bytes(self):
        """A numpy array; waits for the device."""
        self._event.synchronize()
        return self._bytes.numpy()


class TorchCopies:
    """Copies tensors with torch: several calls, each of which lets other threads in."""

    def launch(self, tensors):
        """Queues the copies behind the work that the current stream has."""
        return _TorchBatch([tensor.reshape(-1).view(torch.uint8) for tensor in tensors])


def copies_of(device):
    """What copies tensors of a device: one launch of a kernel of ours, or torch."""
    raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # as compiled kernels do

    def stream():
        if raw_stream is not None:
            return raw_stream(device.index)
        return torch.cuda.current_stream(device).cuda_stream
    try:
        return _native.ArrayCopies(device.index, stream)
    except (Device, NotAvailable):
        return TorchCopies()


class DeviceCopies(Values):
    """Arrays of the host are copied at once, tensors of the device by the next launch(), until when
    they must not change, as far as the current stream goes. Other values become text at once."""

    def __init__(self, copies=copies_of):
        values = _native.StepValues(torch.Tensor, _NUMPY_TYPES, copies)
        self._rows = values.rows
        self.snapshot, self.part, self.fields = values.snapshot, values.part, values.fields
        self.launch = values.launch

    def rows(self, array, batch):
        """Their text, once the device has been there."""
        return self._rows(array, batch.idx_mapping_np)
