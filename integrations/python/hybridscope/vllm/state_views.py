"""Which states of a KV-cache group are hashed, and how their memory lies (docs/trace-format.md)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StateView:
    """One state of one layer. Of a conv state [positions, channels] the sizes and strides in
    elements; num_positions 0: a temporal state, contiguous in each block."""

    tensor: Any  # [num_blocks, ...]
    ordinal: int
    num_positions: int = 0
    num_channels: int = 0
    position_stride: int = 0
    channel_stride: int = 0

    def as_dict(self):
        """A view of _native.StateHasher."""
        tensor = self.tensor
        return {"data": tensor.data_ptr(), "ordinal": self.ordinal,
                "block_stride": tensor.stride(0) * tensor.element_size(),
                "num_bytes": 0 if self.num_positions else tensor[0].numel() * tensor.element_size(),
                "num_positions": self.num_positions, "num_channels": self.num_channels,
                "position_stride": self.position_stride, "channel_stride": self.channel_stride,
                "elem_size": tensor.element_size()}


def _kinds(mamba_type, num_states):
    """For each state of a layer that is hashed: is it a conv state? The rings of ReplaySSM, behind
    the first two states, are not."""
    if mamba_type in ("mamba1", "mamba2", "gdn_attention", "gdn_attn"):
        return (True, False)[:num_states]
    if mamba_type == "short_conv":
        return (True,) * num_states
    if mamba_type in ("linear_attention", "linear"):
        return (False,) * num_states
    if mamba_type == "kda":
        return (True,) * (num_states - 1) + (False,)
    raise ValueError(f"states of {mamba_type} layers are not hashed")


def _position_axis(tensor, num_positions):
    """1 or 2, of a conv state; None: not known."""
    if tensor.dim() != 3:
        return None
    return next((axis for axis in (1, 2) if tensor.shape[axis] == num_positions), None)


def _conv_view(tensor, ordinal, axis):
    if axis is None:
        return StateView(tensor, ordinal, 1, tensor[0].numel(), 0, 1)
    return StateView(tensor, ordinal, tensor.shape[axis], tensor.shape[3 - axis],
                     tensor.stride(axis), tensor.stride(3 - axis))


def views_of(mamba_type, layers, conv_positions):
    """Views of a group's states. `layers`: of each layer its tensors [num_blocks, ...], a state
    each. `conv_positions`: of a conv state; None: each conv state is one position, and so it is
    where one has another number. Raises ValueError: layers that are not known, a state in pieces.
    """
    states = [(tensor, is_conv) for tensors in layers
              for tensor, is_conv in zip(tensors, _kinds(mamba_type, len(tensors)))]
    axes = [_position_axis(tensor, conv_positions) for tensor, is_conv in states if is_conv]
    has_positions = conv_positions is not None and None not in axes
    views = []
    for ordinal, (tensor, is_conv) in enumerate(states):
        axis = _position_axis(tensor, conv_positions) if is_conv and has_positions else None
        if axis is None and not tensor[0].is_contiguous():
            raise ValueError(f"state {ordinal} of {mamba_type} layers is not contiguous")
        views.append(_conv_view(tensor, ordinal, axis) if is_conv else StateView(tensor, ordinal))
    return views
