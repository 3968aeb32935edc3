"""Sums of states (kernels/state_hash.h) with torch alone, for devices that have no kernel of ours."""

import torch

_INT_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_CHUNK_BYTES = 64 << 20


def _signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


_GOLDEN, _ADDED, _MULTIPLIED = map(
    _signed, (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0xD6E8FEB86659FD93))


def shifted(x, count):
    """x >> count of int64 as if it were unsigned."""
    return (x >> count) & ((1 << (64 - count)) - 1)


def _mix(state, value):
    x = state ^ (value * _GOLDEN + _ADDED)
    x = (x ^ shifted(x, 32)) * _MULTIPLIED
    x = x ^ shifted(x, 29)
    return x + (x == 0)


def _numbered(view, numbers):
    """Sums over the last axis of int64 `numbers`, each mixed with its place in it."""
    places = torch.arange(numbers.shape[-1], device=numbers.device) + (view.ordinal << 40)
    return _mix(places, numbers).sum(-1)


def _add(view, blocks, sums):
    """Adds the state of `blocks` [n] to `sums` [n, 1 + positions]."""
    tensor = view.tensor
    state = tensor.view(_INT_TYPES[tensor.element_size()])[blocks]
    if not view.num_positions:
        data = state.reshape(len(blocks), -1).view(torch.uint8)
        data = torch.nn.functional.pad(data, (0, -data.shape[1] % 8))
        sums[:, 0] += _numbered(view, data.view(torch.int64))
        return
    shape = view.num_positions, view.num_channels
    if state.shape[1:] != shape and state[0].numel() == view.num_channels:
        state = state.reshape(len(blocks), *shape)
    elif view.position_stride != tensor.stride(1):
        state = state.transpose(1, 2)
    elements = state.long() & ((1 << 8 * tensor.element_size()) - 1)
    sums[:, 1:1 + view.num_positions] += _numbered(view, elements)


def torch_sums(views, blocks, num_blocks):
    """int64 [n, 1 + positions]: the bits of what _native.StateHasher writes for the int32 `blocks`
    [n]. Takes some hundred MB beside it."""
    width = 1 + max((view.num_positions for view in views), default=0)
    sums = torch.zeros((len(blocks), width), dtype=torch.int64, device=blocks.device)
    exists = (blocks > 0) & (blocks < num_blocks)
    found = torch.where(exists, blocks, 0).long()
    for view in views:
        size = view.tensor[0].numel() * view.tensor.element_size()
        step = max(1, _CHUNK_BYTES // max(1, size if not view.num_positions else 8 * size))
        for first in range(0, len(blocks), step):
            _add(view, found[first:first + step], sums[first:first + step])
    return sums * exists[:, None]
