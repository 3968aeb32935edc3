"""Hashes of recurrent states in the device's memory, before and after each forward pass: member
`states` of a step (docs/trace-format.md). Everything is queued on the current stream, and nobody
waits for it."""

import collections

import numpy
import torch

from hybridscope import _native
from hybridscope.errors import Device, NotAvailable

from .engine_facts import conv_kernel_of, mamba_type
from .state_views import views_of
from .torch_sums import shifted, torch_sums


class _Hasher:
    """Sums of a group's states."""

    def __init__(self, views, num_blocks):
        self._views, self._num_blocks = views, num_blocks
        self.device = views[0].tensor.device
        self._native, self._why_torch = None, ""
        if self.device.type in ("cuda", "cpu"):
            try:
                self._native = _native.StateHasher([view.as_dict() for view in views], num_blocks,
                                                   self.device.type == "cuda")
            except (Device, NotAvailable) as error:
                self._why_torch = str(error)
        else:
            self._why_torch = f"the states are on {self.device.type}"

    @property
    def how(self):
        """In words."""
        if self._native is None:
            return f"torch ({self._why_torch})"
        return "a kernel" if self.device.type == "cuda" else "the processor"

    def sums(self, blocks):
        """int64 [n, 1 + positions] of int32 `blocks` [n]."""
        if self._native is None:
            return torch_sums(self._views, blocks, self._num_blocks)
        width = self._native.width
        sums = torch.empty((len(blocks), width), dtype=torch.int64, device=self.device)
        stream = 0
        if self.device.type == "cuda":
            stream = torch.cuda.current_stream(self.device).cuda_stream
        self._native.hash(blocks.data_ptr(), len(blocks), sums.data_ptr(), stream)
        return sums


def _index_tensors(metadata):
    """(name, tensor) of the fields that name blocks, those of states inside a prefill too."""
    for name, value in vars(metadata).items():
        if "state_indices" in name and isinstance(value, torch.Tensor):
            yield name, value
        elif "checkpoint" in name and hasattr(value, "__dict__") \
                and not isinstance(value, torch.Tensor):
            yield from _index_tensors(value)


def _touched(name, table, metadata, num_drafts, num_prefill_columns):
    """The blocks of a table that the step may touch. Mode all of releases that have it gives whole
    block tables, of which a row's columns begin with that of its last computed token."""
    computed = getattr(metadata, "block_idx_last_computed_token", None)
    if computed is None or table.dim() < 2:
        return table
    is_prefill = name.endswith("_p")
    first_row = metadata.num_decodes if is_prefill else 0
    rows = slice(first_row, first_row + len(table))
    width = min(table.shape[1], num_prefill_columns if is_prefill else 2 + num_drafts)
    columns = computed[rows, None].long() + torch.arange(width, device=table.device)
    last = metadata.block_idx_last_scheduled_token[rows, None] + num_drafts
    return table.gather(1, columns.clamp(max=table.shape[1] - 1)) * (columns <= last)


def _on_host(taken):
    return taken.host_array() if hasattr(taken, "host_array") else numpy.asarray(taken)


class _Rows:
    """What a snapshot took, one row a block, without the rows that have none."""

    def __init__(self, taken, blocks):
        self._taken, self._blocks = taken, blocks

    def host_array(self):
        """A numpy array; waits for the device."""
        return _on_host(self._taken)[_on_host(self._blocks) > 0]

    def tolist(self):
        """Its numbers."""
        return self.host_array().tolist()


class _Group:
    """The recurrent layers of a KV-cache group, and the blocks that its last steps named."""

    def __init__(self, group, views, num_blocks, max_tokens):
        spec = group.kv_cache_spec
        self.layer, self.hasher = group.layer_names[0], _Hasher(views, num_blocks)
        self.has_conv = any(view.num_positions for view in views)
        self.has_temporal = not all(view.num_positions for view in views)
        self._num_drafts = spec.num_speculative_blocks
        self._num_prefill_columns = -(-max_tokens // spec.block_size) + 2
        # A copy after the forward pass may go to the block that a row had before its drafts reached
        # the next one, one accepted token a step; it is seen in the step after.
        self._before = collections.deque(maxlen=1 + spec.num_speculative_blocks)

    def blocks_of_step(self, metadata, more):
        """int32 [n]: the blocks of this step, of some before it, and `more`; 0 in the place of
        one that is there already."""
        device = self.hasher.device
        tables = [_touched(name, table, metadata, self._num_drafts, self._num_prefill_columns)
                  for name, table in _index_tensors(metadata) if table.device == device]
        now = torch.cat([more[:0], *(table.reshape(-1).int() for table in tables)])
        blocks = torch.cat((now, *self._before, more)).sort().values
        self._before.append(now)
        blocks[1:].masked_fill_(blocks[1:] == blocks[:-1], 0)
        return blocks

    def told(self, sums, snapshot):
        """Snapshots of the members of a moment: 48 bits of each sum."""
        numbers = shifted(sums, 16)
        record = {"conv": numbers[:, 1:]} if self.has_conv else {}
        if self.has_temporal:
            record["temporal"] = numbers[:, 0]
        return {name: snapshot(value) for name, value in record.items()}


class StateHashes:
    """Hashes the states of the blocks that a step reads, writes, copies and registers: those that
    its metadata names, those of the last steps, and some of the pool in turn."""

    def __init__(self, kv_cache_groups, layer_of, *, conv_positions, num_blocks, num_more,
                 max_tokens, snapshot):
        """kv_cache_groups  KVCacheConfig.kv_cache_groups
        layer_of(name)   tensors of a layer, a state each: [num_blocks, ...]
        conv_positions   positions of a conv state; None: its positions are not told apart
        num_more         blocks of the pool that are hashed besides, each step others
        max_tokens       of a step
        snapshot         of RowReader
        Raises ValueError: no recurrent layers, or some that are not known."""
        self._snapshot, self._num_blocks = snapshot, num_blocks
        self._groups = {}
        for number, group in enumerate(kv_cache_groups):
            if kind := mamba_type(group):
                views = views_of(kind, [layer_of(name) for name in group.layer_names],
                                 conv_positions)
                self._groups[str(number)] = _Group(group, views, num_blocks, max_tokens)
        if not self._groups:
            raise ValueError("no recurrent layers whose states could be hashed")
        self._count = min(num_more, num_blocks - 1)
        self._next = 0  # of the pool's blocks, which begin with 1
        self._offsets = torch.arange(self._count, dtype=torch.int32, device=self._a_hasher.device)
        self._begun = {}  # group -> blocks and their sums before the forward pass

    @property
    def how(self):
        """What makes the hashes, in words."""
        return self._a_hasher.how

    @property
    def _a_hasher(self):
        return next(iter(self._groups.values())).hasher

    def before_forward(self, attn_metadata):
        """`attn_metadata`: layer -> its metadata. Call once the copies before the forward pass are
        queued."""
        more = self._blocks_in_turn()
        for number, group in self._groups.items():
            blocks = group.blocks_of_step(attn_metadata[group.layer], more)
            self._begun[number] = blocks, group.hasher.sums(blocks)

    def after_forward(self):
        """Member `states` of the step, or None without before_forward(). Call once the forward pass
        is queued, before later copies are."""
        begun, self._begun = self._begun, {}
        record = {}
        for number, (blocks, before) in begun.items():
            group, ids = self._groups[number], self._snapshot(blocks)
            moments = {"before_forward": before, "after_forward": group.hasher.sums(blocks)}
            record[number] = {"block_ids": _Rows(ids, ids)} | {
                moment: {name: _Rows(taken, ids)
                         for name, taken in group.told(sums, self._snapshot).items()}
                for moment, sums in moments.items()}
        return record or None

    def _blocks_in_turn(self):
        in_pool = self._num_blocks - 1
        blocks = (self._offsets + self._next) % in_pool + 1
        self._next = (self._next + self._count) % in_pool
        return blocks


def hashes_of(runner, num_more, snapshot):
    """StateHashes of a runner whose caches are allocated."""
    config, cache = runner.vllm_config, runner.kv_cache_config
    layers = config.compilation_config.static_forward_context
    speculative, width = config.speculative_config, conv_kernel_of(config.model_config)
    positions = None  # without drafts no window is shifted
    if speculative is not None and width is not None:
        positions = width - 1 + speculative.num_speculative_tokens
    return StateHashes(cache.kv_cache_groups, lambda name: layers[name].kv_cache,
                       conv_positions=positions, num_blocks=cache.num_blocks, num_more=num_more,
                       max_tokens=config.scheduler_config.max_num_batched_tokens,
                       snapshot=snapshot)
