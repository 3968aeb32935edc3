"""Writes what vLLM decides, step by step, for `hybridscope judge` (docs/trace-format.md).

Plain Python 3.9 without dependencies: arguments are read by vLLM's attribute names, so stand-ins
work too; tensors and numpy arrays are converted with .tolist(). The names are those of the releases
0.24.0 to 0.33.0, scheduler and worker in one process. With asynchronous scheduling a step is
finished after the next one has begun; the calls stay the same.

    recording = Recording(TraceWriter("run.jsonl"), scheduler, runner)   # either runner
    ...
    recording.close()

Or call the writer from hooks of your own: header(), then for each step step() after
Scheduler.schedule, inputs() when the rows are final and no pre-copy has reset a count, forward()
before the forward pass or once it is queued, finish() before Scheduler.update_from_output and
returned() after it.

The writer follows the manager's calls (CacheWatch). Without kv_cache_manager in header() it begins
with the first step(), and does not know what was cached before; without returned() a line is
written when the next step begins.

Runner V2: header(..., runner="v2"); inputs() takes idx_mapping from its InputBatch, and the device's
counts by keyword.
"""

import atexit
import collections
import contextlib
import functools
import inspect
import itertools
import json
import os
import time
import warnings


_NUMBERS = frozenset((int, type(None)))
_PLAIN = frozenset((int, bool, float, str))


def _as_list(array):
    return array.tolist()


def plain(value, array=_as_list):
    """The value as numbers, text, lists and dicts; None for any other type. Tensors and numpy
    arrays, whatever has tolist(), become what `array` makes of them."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return array(value)
    if isinstance(value, dict):
        return {str(key): plain(item, array) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        if _NUMBERS.issuperset(map(type, value)):
            return list(value)
        return [plain(item, array) for item in value]
    return None


def _name(value):
    """The name of an enum member; text is returned unchanged."""
    return value if isinstance(value, str) else value.name


# Member names of MambaAttentionBackendEnum; older versions have the text itself.
_MAMBA_TYPES = {"MAMBA1": "mamba1", "MAMBA2": "mamba2", "SHORT_CONV": "short_conv",
                "LINEAR": "linear_attention", "GDN_ATTN": "gdn_attention"}


def _group(group):
    spec = group.kv_cache_spec
    kinds = {cls.__name__ for cls in type(spec).__mro__}
    record = {"block_size": spec.block_size}
    if "MambaSpec" in kinds:
        mamba_type = _name(spec.mamba_type)
        record.update(type="mamba", mamba_type=_MAMBA_TYPES.get(mamba_type, mamba_type),
                      num_speculative_blocks=spec.num_speculative_blocks)
        if hasattr(spec, "num_prefill_checkpoint_blocks"):
            record.update(num_prefill_checkpoint_blocks=spec.num_prefill_checkpoint_blocks,
                          prefill_checkpoint_alignment=spec.prefill_checkpoint_alignment)
    elif "FullAttentionSpec" in kinds:
        record.update(type="full_attention")
    else:
        raise ValueError(f"{type(spec).__name__} is not modelled by hybridscope")
    return {**record, "is_eagle_group": bool(getattr(group, "is_eagle_group", False))}


def config_of(kv_cache_config, vllm_config):
    cache, scheduler = vllm_config.cache_config, vllm_config.scheduler_config
    record = {
        "mamba_cache_mode": cache.mamba_cache_mode,
        "block_size": cache.block_size,
        "enable_prefix_caching": bool(cache.enable_prefix_caching),
        "num_gpu_blocks": kv_cache_config.num_blocks,
        "kv_cache_groups": [_group(group) for group in kv_cache_config.kv_cache_groups],
        "max_model_len": vllm_config.model_config.max_model_len,
        "max_num_seqs": scheduler.max_num_seqs,
        "max_num_batched_tokens": scheduler.max_num_batched_tokens,
        "enable_chunked_prefill": bool(scheduler.enable_chunked_prefill),
        "long_prefill_token_threshold": scheduler.long_prefill_token_threshold,
        "scheduling_policy": _name(scheduler.policy),
        "async_scheduling": bool(getattr(scheduler, "async_scheduling", False)),
        "runner": "v1",
    }
    for name in ("watermark", "scheduler_reserve_full_isl"):
        if (value := getattr(scheduler, name, None)) is not None:
            record[name] = value
    record["prefix_cache_retention_interval"] = _retention_interval(cache)
    speculative = getattr(vllm_config, "speculative_config", None)
    if speculative is not None:
        method = speculative.method
        record["num_speculative_tokens"] = speculative.num_speculative_tokens
        record["speculative_method"] = method if method in ("ngram", "draft_model") else "mtp"
        record["use_eagle"] = bool(speculative.use_eagle())
    compilation = getattr(vllm_config, "compilation_config", None)
    if compilation is not None and compilation.cudagraph_mode is not None:
        record["cudagraph_mode"] = _name(compilation.cudagraph_mode)
        record["cudagraph_capture_sizes"] = sorted(compilation.cudagraph_capture_sizes or [])
    return record


def _retention_interval(cache_config):
    """None: every state is kept. Until 0.28.0 it is a variable of the environment."""
    if hasattr(cache_config, "prefix_cache_retention_interval"):
        return cache_config.prefix_cache_retention_interval
    value = os.environ.get("VLLM_PREFIX_CACHE_RETENTION_INTERVAL")
    return int(value) if value else None


def _manager_config(kv_cache_manager):
    """What the coordinator of the cache says of block sizes and of hits inside blocks."""
    coordinator = kv_cache_manager.coordinator
    record = {name: getattr(coordinator, name) for name in ("hash_block_size",
                                                            "scheduler_block_size")
              if hasattr(coordinator, name)}
    return {**record, "hits_inside_blocks": bool(getattr(coordinator, "enable_partial_hash_hits",
                                                         False))}


def _wrap(owner, name, wrapper, undo):
    """Replaces owner.name, of this object only, by wrapper(real, *args, **kwargs)."""
    real = getattr(owner, name, None)
    if real is not None:
        _replace(owner, name, functools.wraps(real)(functools.partial(wrapper, real)), undo)


def _replace(owner, name, function, undo):
    """Replaces owner.name, of this object only. The class gets a method that tells the object from
    others: with one more attribute of its own, accesses to the object's others would take longer.
    """
    if name in vars(owner):
        real = getattr(owner, name)
        setattr(owner, name, function)
        undo.append(lambda: setattr(owner, name, real))
        return
    cls, is_replaced = type(owner), [True]
    real, is_own = getattr(cls, name), name in vars(cls)

    @functools.wraps(real)
    def method(self, *args, **kwargs):
        if self is owner and is_replaced:
            return function(*args, **kwargs)
        return real(self, *args, **kwargs)

    def put_back():
        is_replaced.clear()  # who replaced the method later still calls this one
        if vars(cls).get(name) is method:
            setattr(cls, name, real) if is_own else delattr(cls, name)

    setattr(cls, name, method)
    undo.append(put_back)


class CacheWatch:
    """Follows one KVCacheManager: the requests that it gives blocks to, whose blocks changed, and
    which blocks of its pool got and lost hashes since changes() was last called. An error of the
    watch does not reach the engine: it is kept in `error`, and the watch ends."""

    def __init__(self, kv_cache_manager, step_begins, requests=None):
        """step_begins(): called when the scheduler begins a step. `requests`: the scheduler's; without
        them those that get blocks are collected."""
        self._collects_requests = requests is None
        self.requests = {} if requests is None else requests  # request id -> Request
        self.was_reset = False
        self.error = None
        self._changed = set()  # requests whose blocks may have changed
        self._keys = {}  # block id -> [(request, group, column, tokens), ...] of its hashes
        self._before = {}  # block id -> the same when changes() was last called, if it has changed
        self._removed = set()  # blocks that lost their hashes since then
        self._undo = []
        self._manager = kv_cache_manager
        self._step_begins = step_begins
        pool = getattr(kv_cache_manager, "block_pool", None)
        self.has_pool = pool is not None
        self._owners = {}  # block id -> requests that hold the block
        self._knows_changes = hasattr(pool, "free_blocks")
        self._observe(kv_cache_manager, "new_step_starts", self._new_step_starts)
        if self._collects_requests:
            self._observe(kv_cache_manager, "allocate_slots", self._allocate_slots)
        for name in ("free", "pop_blocks_for_free"):
            self._observe(kv_cache_manager, name, self._blocks_leave)
        if self.has_pool:
            self._follow_frees(pool)
            for name in ("cache_full_blocks", "cache_partial_block", "move_block_hashes",
                         "_remove_cached_block_hashes", "reset_prefix_cache"):
                self._observe(pool, name, getattr(self, "_" + name.lstrip("_")))

    def close(self):
        for undo in self._undo:
            undo()
        self._undo = []

    def take_changed(self):
        """The requests that lost blocks since the last call; None: not known."""
        changed, self._changed = self._changed, set()
        return changed if self._knows_changes else None

    def keep_changed(self, requests):
        """take_changed() is to name them again."""
        self._changed.update(requests)

    def num_tokens(self, names):
        """Request id -> its tokens; without finished requests."""
        requests = self.requests
        if self._collects_requests:
            requests = {name: request for name, request in requests.items()
                        if not request.is_finished()}
        return {name: request.num_tokens for name in names
                if (request := requests.get(name)) is not None}

    def forget(self, finished):
        """These requests have finished."""
        if self._collects_requests:
            for request in finished:
                self.requests.pop(request, None)

    def has_blocks(self, request, lists, before):
        """The request's blocks are now `lists`, and were `before`."""
        now = set().union(*lists) - {0}  # 0: the null block
        old = set().union(*before or ()) - {0}
        for number in old - now:
            self._owners[number].discard(request)
        for number in now - old:
            self._owners.setdefault(number, set()).add(request)

    def take_cached(self, request, group, ids):
        """The hashes that the request's blocks already have."""
        for column, number in enumerate(ids):
            block = self._manager.block_pool.blocks[number]
            if number != 0 and block.block_hash is not None and number not in self._keys:
                self._add(number, request, group, column, block.block_hash_num_tokens)

    def changes(self):
        """A member of block_hashes (docs/trace-format.md)."""
        lost, registered = [], []
        for number, before in self._before.items():
            keys = self._keys.get(number, [])
            if number in self._removed:
                lost += [{"block_id": number}] if before else []
                before = []
            registered += [{"req_id": request, "group": group, "column": column,
                            "block_id": number, "num_tokens": tokens}
                           for request, group, column, tokens in keys
                           if (request, group, column, tokens) not in before]
        self._before, self._removed = {}, set()
        changes = {"lost": lost, "registered": registered}
        return {name: entries for name, entries in changes.items() if entries}

    def _observe(self, owner, name, observer):
        """Each call of owner.name runs observer(*args, **kwargs), a generator: until its yield
        before the call, and from there, given the result, after it."""
        real = getattr(owner, name, None)
        if real is None:
            return

        @functools.wraps(real)
        def observed(*args, **kwargs):
            steps = self._begin(observer, args, kwargs)
            result = real(*args, **kwargs)
            if steps is not None:
                self._end(steps, result)
            return result

        _replace(owner, name, observed, self._undo)

    def _begin(self, observer, args, kwargs):
        if self.error is None:
            try:
                steps = observer(*args, **kwargs)
                next(steps)
                return steps
            except Exception as error:
                self.error = error
        return None

    def _end(self, steps, result):
        try:
            steps.send(result)
        except StopIteration:
            pass
        except Exception as error:
            self.error = error

    def _allocate_slots(self, request, *_, **__):
        self.requests[request.request_id] = request
        yield

    def _follow_frees(self, pool):
        real = getattr(pool, "free_blocks", None)
        if real is None:
            return

        @functools.wraps(real)
        def free_blocks(ordered_blocks, *args, **kwargs):
            blocks = list(ordered_blocks)  # may be an iterator
            for block in blocks:
                self._changed.update(self._owners.get(block.block_id, ()))
            return real(blocks, *args, **kwargs)

        _replace(pool, "free_blocks", free_blocks, self._undo)

    def _blocks_leave(self, request, *_, **__):
        self._changed.add(request.request_id)
        yield

    def _touch(self, number):
        self._before.setdefault(number, list(self._keys.get(number, [])))

    def _add(self, number, request, group, column, tokens):
        self._touch(number)
        self._keys.setdefault(number, []).append((request, group, column, tokens))

    def _new_step_starts(self, *_, **__):
        self._step_begins()
        yield

    def _cache_full_blocks(self, request, blocks, num_cached_blocks, num_full_blocks, block_size,
                           kv_cache_group_id, *_, **__):
        columns = range(num_cached_blocks, num_full_blocks)
        before = [blocks[column].block_hash for column in columns]
        yield
        for column, old in zip(columns, before):
            block = blocks[column]
            if block.block_hash is not None and block.block_hash != old:
                self._add(block.block_id, request.request_id, kv_cache_group_id, column,
                          (column + 1) * block_size)

    def _cache_partial_block(self, request, block, num_tokens, kv_cache_group_id, block_size, *_,
                             **__):
        if (yield) is None:
            return
        unit = self._manager.block_pool.hash_block_size
        tokens = num_tokens // unit * unit
        ids = self._manager.get_block_ids(request.request_id)[kv_cache_group_id]
        # A state inside a prefill lies in another column than its last token would. None: only the
        # prefix cache holds the block.
        column = ids.index(block.block_id) if block.block_id in ids else None
        known = [(group, length) for _, group, _, length in self._keys.get(block.block_id, [])]
        if (kv_cache_group_id, tokens) not in known:
            self._add(block.block_id, request.request_id, kv_cache_group_id, column, tokens)

    def _move_block_hashes(self, src_block, dst_block):
        keys = list(self._keys.get(src_block.block_id, []))
        yield
        for request, group, _, tokens in keys:
            self._add(dst_block.block_id, request, group, None, tokens)

    def _remove_cached_block_hashes(self, block, *_, **__):
        if block.block_id in self._keys:
            self._touch(block.block_id)
            self._removed.add(block.block_id)
            del self._keys[block.block_id]
        yield

    def _reset_prefix_cache(self, *_, **__):
        if (yield):
            self._keys, self._before, self._removed, self.was_reset = {}, {}, set(), True


# So many requests of a step have their tokens told each time.
_COUNTED = 16

# Fields that are objects themselves: states stored inside a prefill.
_CHECKPOINTS = ("checkpoint_meta", "checkpoint")


# Of a conv kernel: its programs, cut to those that exist.
_PROGRAMS = ("batch_ptr", "token_chunk_offset_ptr")


def _programs(nums_dict):
    """nums_dict without what the kernel's block size implies."""
    return {str(size): {"nums": plain(of_size["nums"]), "tot": int(of_size["tot"])}
            for size, of_size in nums_dict.items()}


class Values:
    """How a recorder takes what the engine goes on to change: as it is now, arrays as lists."""

    def snapshot(self, value):
        """As plain()."""
        return plain(value)

    def rows(self, array, batch):
        """Of an array with one element for each slot of runner V2, those of the rows of `batch`."""
        return plain(array[batch.idx_mapping])

    def part(self, name, value):
        """Lists, dicts, text and numbers; `name`: the same for what is alike in each step."""
        return plain(value)

    def fields(self, fields, made):
        """A dict of snapshots of `fields`; those in `made` are what is there. Left out: what plain()
        does not know. Matrices without elements tell their shape."""
        record = {}
        for name, value in fields.items():
            if (told := made.get(name, value)) is None or type(told) in _PLAIN:
                record[name] = told
            elif name in made or (told := plain(value, _with_shape)) is not None:
                record[name] = told
        return record


def _with_shape(array):
    if len(shape := getattr(array, "shape", ())) == 2 and 0 in shape:
        return {"shape": list(shape), "data": []}
    return array.tolist()


def _metadata(metadata, values):
    """The fields of one metadata object, None included."""
    fields, made, most = vars(metadata), {}, 0
    if (nums_dict := fields.get("nums_dict")) is not None:
        made["nums_dict"] = programs = _programs(nums_dict)
        most = max((of_size["tot"] for of_size in programs.values()), default=0)
    for name in _PROGRAMS:
        if (array := fields.get(name)) is not None:
            made[name] = values.snapshot(array[:most])
    for name in _CHECKPOINTS:
        if hasattr(value := fields.get(name), "__dict__"):
            made[name] = _metadata(value, values)
    return values.fields(fields, made)


class _BySlot:
    """An array of runner V2 with one element for each slot, which stays until the forward pass is
    queued."""

    def __init__(self, array):
        self.array = array


def _first(array, size):
    """The first `size` elements, without a view of an array that has no more."""
    return array if len(array) == size else array[:size]


def line_of(record):
    """One line of a trace, with snapshots made plain."""
    return json.dumps(record, separators=(",", ":"), default=plain) + "\n"


class RowReader:
    """Reads what the worker adds to a step: rows, graph and metadata."""

    def __init__(self, config, groups, values=None):
        """`config`: members of a header; `groups`: KVCacheConfig.kv_cache_groups; `values`: Values,
        or what takes values otherwise."""
        self.is_async, self._mode = config["async_scheduling"], config["mamba_cache_mode"]
        self._layers = {str(number): group.layer_names[0] for number, group in enumerate(groups)
                        if _group(group)["type"] == "mamba"}
        self._values = values or Values()

    def inputs(self, input_batch, num_computed_tokens=None, num_accepted_tokens=None):
        """Members of a step before the pre-copies."""
        rows = input_batch.req_ids
        arrays = {"idx_mapping": getattr(input_batch, "idx_mapping_np", None),
                  "num_computed_tokens_cpu": getattr(input_batch, "num_computed_tokens_cpu", None),
                  "num_accepted_tokens_cpu": self._host_counts(input_batch),
                  "num_computed_tokens": num_computed_tokens,
                  "num_accepted_tokens": num_accepted_tokens}
        return {"input_batch": {"req_ids": self._values.part("rows", rows), **{
            key: self._of_rows(array, input_batch, len(rows))
            for key, array in arrays.items() if array is not None}}}

    def _of_rows(self, array, input_batch, num_rows):
        if isinstance(array, _BySlot):
            return self._values.rows(array.array, input_batch)
        return self._values.snapshot(_first(array, num_rows))

    def forward(self, record, forward_context, input_batch, mamba_state_idx=None,
                preprocess_copies=None):
        """Adds to `record`, what inputs() made, the members after the pre-copies."""
        batch = record["input_batch"]
        rows = input_batch.req_ids
        if (counts := self._host_counts(input_batch)) is not None:
            batch["num_accepted_tokens_after_preprocess"] = self._values.snapshot(
                _first(counts, len(rows)))
        if isinstance(mamba_state_idx, _BySlot) or hasattr(mamba_state_idx, "tolist"):  # V2
            batch["mamba_state_idx"] = self._of_rows(mamba_state_idx, input_batch, len(rows))
        elif mamba_state_idx and all(request in mamba_state_idx for request in rows):
            batch["mamba_state_idx"] = [mamba_state_idx[request] for request in rows]
        if preprocess_copies is not None and getattr(preprocess_copies, "known", True):
            record["preprocess_copies"] = list(preprocess_copies)
        graph = {"cudagraph_runtime_mode": _name(forward_context.cudagraph_runtime_mode)}
        if (descriptor := forward_context.batch_descriptor) is not None:
            graph.update(num_tokens=descriptor.num_tokens, num_reqs=descriptor.num_reqs)
            if hasattr(descriptor, "uniform"):  # V1
                graph["uniform"] = bool(descriptor.uniform)
        record["cudagraph"] = graph
        if metadata := forward_context.attn_metadata:
            record["attn_metadata"] = {number: _metadata(metadata[layer], self._values)
                                       for number, layer in self._layers.items()}

    def _host_counts(self, input_batch):
        """The host's accepted counts; asynchronously only mode align waits for them."""
        if self.is_async and self._mode != "align":
            return None
        return getattr(input_batch, "num_accepted_tokens_cpu", None)


class _Line(dict):
    """A line of a step that has begun."""

    output = None  # its SchedulerOutput

    @property
    def has_rows(self):
        return bool(self.output.num_scheduled_tokens)


class TraceWriter:
    """Writes one trace: header(), then for each step step(), inputs(), forward(), finish() and
    returned(). With asynchronous scheduling the next step() comes before finish(), which always
    finishes the oldest unfinished step."""

    def __init__(self, file, values=None):
        """`file`: a path, or an object with write() and flush(), which stays open. `values`: of
        RowReader."""
        self._values = values or Values()
        self._owned = open(file, "w", encoding="utf-8") if not hasattr(file, "write") else None
        self._file = self._owned or file
        self._header = None  # not written yet: the manager is not known
        self._lines = []  # steps without finish(), the oldest first
        self._async = False
        self._number = 0
        self._rows = None  # RowReader
        self._block_ids = {}  # request -> its lists as last written
        self._reset = False
        self._watch = None
        self._caches = False  # does the engine have a prefix cache?
        self._finished = None  # a finished line that waits for returned()
        self._frame = ()  # the requests of the frame that finished last, one a row
        self._turn = 0  # of _counted()
        self._returning = collections.deque(maxlen=4)  # requests that left or came back, by step
        self.is_complete = True  # False: close() writes no end mark, the recording broke off
        atexit.register(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def header(self, kv_cache_config, vllm_config, *, name="", engine="vllm",
               kv_cache_manager=None, requests=None, **config):
        """Starts a trace. `requests`: Scheduler.requests. `config` adds or replaces members:
        conv_kernel, chunk_size, ..."""
        self._end_trace()
        self._block_ids, self._number, self._reset, self._frame = {}, 0, False, ()
        self._header = {"hybridscope_trace": 1, "engine": engine, "name": name,
                        "config": {**config_of(kv_cache_config, vllm_config), **config}}
        config = self._header["config"]
        self._async = config["async_scheduling"]
        self._rows = RowReader(config, kv_cache_config.kv_cache_groups, self._values)
        self._caches = config["enable_prefix_caching"]
        if kv_cache_manager is not None:
            self._follow(kv_cache_manager, requests)

    @property
    def is_async(self):
        return self._async

    @property
    def num_steps(self):
        """The number of the last step that began."""
        return self._number

    def _follow(self, kv_cache_manager, requests=None):
        self._watch = CacheWatch(kv_cache_manager, self._step_begins, requests)
        self._caches = self._caches and self._watch.has_pool
        if self._caches:
            for name, value in _manager_config(kv_cache_manager).items():
                self._header["config"].setdefault(name, value)
        self._write_header()

    def _write_header(self):
        header, self._header = self._header, None
        if header is not None:
            self._write(header)

    def reset_prefix_cache(self):
        """Call when all hashes were dropped, unless the manager's own call did it."""
        self._reset = True

    def step(self, scheduler_output, kv_cache_manager):
        """Begins a step, right after Scheduler.schedule made `scheduler_output`."""
        if len(self._lines) > (1 if self._async else 0):
            self._leave_empty_steps()
        if len(self._lines) > (1 if self._async else 0):
            raise ValueError(f"step {self._lines[0]['step']} has no finish()")
        self._write_finished()
        self._frame = ()
        joined = self._watch is None
        if joined:
            self._follow(kv_cache_manager)
        self._number += 1
        if self._watch.error is not None:
            raise self._watch.error
        changed = self._watch.take_changed()
        preempted = set(getattr(scheduler_output, "preempted_req_ids", None) or ())
        preempted.update(self._lost_blocks(scheduler_output, changed, kv_cache_manager))
        self._returning.append(preempted.union(
            scheduler_output.scheduled_cached_reqs.resumed_req_ids))
        line = _Line(step=self._number,
                     scheduler_output=self._scheduler_output(scheduler_output, preempted),
                     scheduler_block_ids=self._changed_block_ids(scheduler_output, preempted,
                                                                 changed, kv_cache_manager))
        line.output = scheduler_output
        if checkpoints := self._checkpoints(scheduler_output, kv_cache_manager):
            line["prefill_checkpoints"] = checkpoints
        if self._reset or self._watch.was_reset:
            line["reset_prefix_cache"] = True
            self._reset = self._watch.was_reset = False
        if self._caches:
            if joined:
                for request, lists in self._block_ids.items():
                    for group, ids in enumerate(lists):
                        self._watch.take_cached(request, group, ids)
            line["block_hashes"] = self._watch.changes()
        self._watch.forget(scheduler_output.finished_req_ids)
        self._lines.append(line)

    def inputs(self, input_batch, *, num_computed_tokens=None, num_accepted_tokens=None):
        """The rows in their final order, before the pre-copies. `num_computed_tokens`,
        `num_accepted_tokens`: the device's, one per row, which nobody changes until forward();
        reading them waits for the device."""
        self._lines[-1].update(
            self._rows.inputs(input_batch, num_computed_tokens, num_accepted_tokens))

    def before_forward(self, attn_metadata):
        """The forward pass is about to be queued, and the copies before it are: time for what looks
        at the device's memory then. Here nothing does. `attn_metadata`: layer -> its metadata."""

    def forward(self, forward_context, input_batch, mamba_state_idx=None, preprocess_copies=None):
        """What the layers are given, after the pre-copies. In mode align `mamba_state_idx` is
        GPUModelRunner's, and `preprocess_copies` what record_copies() collected."""
        self._rows.forward(self._lines[-1], forward_context, input_batch, mamba_state_idx,
                           preprocess_copies)

    def launched(self):
        """The forward pass is queued: time for what can wait. Here nothing can."""

    def finish(self, model_runner_output, postprocess_copies=None, step_time_us=None):
        """Writes the oldest step that is not finished. sampled_token_ids: the valid ones, [] for an
        unfinished prefill. A step without tokens may be left unfinished. `step_time_us`: how long
        the frame took, if it is known already, else it can be given to returned()."""
        if model_runner_output.req_ids:
            self._leave_empty_steps()
        elif not self._lines or self._lines[0].has_rows:
            return  # of a step without tokens, which is written already
        if not self._lines:
            raise ValueError("an output without a step")
        line = self._lines[0]
        if postprocess_copies is not None:
            line["postprocess_copies"] = list(postprocess_copies)
        if step_time_us is not None and line.has_rows:
            line["step_time_us"] = step_time_us
        line["model_runner_output"] = self._values.part("model_runner_output", {
            "req_ids": model_runner_output.req_ids,
            "sampled_token_ids": model_runner_output.sampled_token_ids})
        self._finished = self._lines.pop(0)
        self._frame = model_runner_output.req_ids
        if self._async:
            self._write_finished()

    def _leave_empty_steps(self):
        while self._lines and not self._lines[0].has_rows:
            self._write_finished()
            self._finished = self._lines.pop(0)
        self._write_finished()

    def returned(self, kv_cache_manager=None, step_time_us=None):
        """After Scheduler.update_from_output: what the frame changed when it returned. With
        asynchronous scheduling it is written with the step in flight. Without this call it is
        written when the next step begins. `step_time_us`: how long the frame took, without
        asynchronous scheduling."""
        if step_time_us is not None and self._finished is not None and self._finished.has_rows:
            self._finished["step_time_us"] = step_time_us
        self._step_begins()

    def _step_begins(self):
        line = self._finished or (self._lines[-1] if self._lines else None)
        if line is not None and self._watch is not None and self._frame:
            if self._caches and (changes := self._watch.changes()):
                line["block_hashes_after_output"] = changes
            if tokens := self._watch.num_tokens(self._counted()):
                line["num_tokens_after_output"] = tokens
            self._frame = ()
        self._write_finished()

    def _counted(self):
        """The requests of the frame whose tokens are told: those that were preempted or came back,
        and of a large frame only some of the others, in turn."""
        turns = -(-len(self._frame) // _COUNTED)
        if turns < 2:
            return self._frame
        self._turn = (self._turn + 1) % turns
        told = set(self._frame[self._turn::turns])
        if returning := set().union(*self._returning):
            told |= returning.intersection(self._frame)
        return told

    def close(self):
        """Writes the steps without output whose rows are known, and ends the trace."""
        atexit.unregister(self.close)
        self._end_trace()
        if self._owned:
            self._owned.close()

    def _end_trace(self):
        self._write_finished()
        self._write_header()
        lines = [line for line in self._lines if "input_batch" in line]
        if len(lines) == 2 and lines[0] is self._lines[0] and not self._complete(*lines):
            lines.pop()
        if lines and lines[0] is self._lines[0]:
            for self._finished in lines:
                self._write_finished()
        self._lines = []
        if self._rows is not None and self.is_complete:  # since header()
            self._write({"control": "end", "step": self._number})
        self._rows = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    @staticmethod
    def _complete(line, last):
        """Two frames were in flight when the engine ended: how many tokens the older one sampled
        follows from the counts on the device; their ids did not reach the host (-1)."""
        batches = line["input_batch"], last["input_batch"]
        if any("num_computed_tokens" not in batch for batch in batches):
            return False
        try:
            before, rows = (dict(zip(plain(batch["req_ids"]), plain(batch["num_computed_tokens"])))
                            for batch in batches)
        except Exception:  # the device has failed
            return False
        sampled = {}
        for request, tokens in line.output.num_scheduled_tokens.items():
            drafts = len(line.output.scheduled_spec_decode_tokens.get(request, ()))
            sampled[request] = (rows[request] - before[request] - tokens + drafts + 1
                                if request in rows else 1)
        line["model_runner_output"] = {
            "req_ids": list(sampled),
            "sampled_token_ids": [[-1] * count for count in sampled.values()]}
        return True

    def _scheduler_output(self, output, preempted):
        cached = output.scheduled_cached_reqs
        record = {
            "scheduled_new_reqs": [self._new_request(new) for new in output.scheduled_new_reqs],
            "scheduled_cached_reqs": {
                "req_ids": cached.req_ids,
                "resumed_req_ids": set(cached.resumed_req_ids),
                "new_block_ids": cached.new_block_ids,
                "num_computed_tokens": cached.num_computed_tokens},
            "num_scheduled_tokens": output.num_scheduled_tokens,
            "scheduled_spec_decode_tokens": output.scheduled_spec_decode_tokens,
            "finished_req_ids": set(output.finished_req_ids),
            "preempted_req_ids": preempted}
        if copies := getattr(output, "kv_cache_block_copies", None):
            record["kv_cache_block_copies"] = [
                {"src_block_id": copy.src_block_id, "dst_block_id": copy.dst_block_id}
                for copy in copies]
        if cleared := getattr(output, "new_block_ids_to_zero", None):
            record["new_block_ids_to_zero"] = cleared
        return self._values.part("scheduler_output", record)

    def _new_request(self, new):
        record = {"req_id": new.req_id, "block_ids": new.block_ids,
                  "num_computed_tokens": new.num_computed_tokens}
        parameters = getattr(new, "sampling_params", None)
        request = self._watch.requests.get(new.req_id)
        optional = {"prompt_token_ids": new.prompt_token_ids,
                    "max_tokens": getattr(parameters, "max_tokens", None),
                    "priority": getattr(request, "priority", None),
                    "cache_salt": getattr(request, "cache_salt", None)}
        return {**record, **{key: value for key, value in optional.items() if value is not None}}

    def _lost_blocks(self, output, changed, kv_cache_manager):
        """Preempted requests that nobody may name: they had blocks and have none left. changed: whose
        blocks may have changed; None: anybody's."""
        if not (changed := self._block_ids if changed is None else changed):
            return []
        return sorted(request for request in changed
                      if request not in output.finished_req_ids
                      and request not in output.num_scheduled_tokens
                      and any(self._block_ids.get(request, ()))
                      and not any(kv_cache_manager.get_block_ids(request)))

    def _changed_block_ids(self, output, preempted, changed, kv_cache_manager):
        for request in {*output.finished_req_ids, *preempted}:
            self._watch.has_blocks(request, (), self._block_ids.pop(request, None))
        cached = output.scheduled_cached_reqs
        always = {new.req_id for new in output.scheduled_new_reqs}
        always.update(cached.resumed_req_ids)
        scheduled = output.num_scheduled_tokens
        if changed is None or not self._block_ids:
            changed = scheduled
        else:
            changed = sorted({*changed, *always, *itertools.compress(cached.req_ids,
                                                                     cached.new_block_ids)})
        self._watch.keep_changed(request for request in changed
                                 if request not in scheduled and request in self._block_ids)
        lists_of = {}
        for request in changed:
            if request not in scheduled:
                continue
            before = self._block_ids.get(request)
            lists = kv_cache_manager.get_block_ids(request)  # made anew by each call
            if before != lists:
                self._watch.has_blocks(request, lists, before)
                self._block_ids[request] = lists
            if request in always or before != lists:
                lists_of[request] = lists
        return lists_of

    def _checkpoints(self, output, kv_cache_manager):
        """The states that the scheduler made room for inside the chunks of this step."""
        checkpoints = []
        for group, manager in enumerate(kv_cache_manager.coordinator.single_type_managers):
            stored = getattr(manager, "_checkpoints", None)
            for request in output.num_scheduled_tokens if stored else ():
                if request not in stored:
                    continue
                position, column = stored[request]
                block = kv_cache_manager.get_block_ids(request)[group][column]
                checkpoints.append({"req_id": request, "group": group, "column": column,
                                    "block_id": block, "num_tokens": position})
        return checkpoints

    def _write_finished(self):
        line, self._finished = self._finished, None
        if line is None:
            return
        if not line.has_rows:  # nothing ran
            line["input_batch"] = {"req_ids": [], "num_accepted_tokens_cpu": []}
        self._write(line)

    def _write(self, line):
        self._file.write(line_of(line))
        self._file.flush()


class _Context:
    """What forward() reads of a forward context."""

    def __init__(self, attn_metadata, cudagraph_mode, batch):
        self.attn_metadata, self.cudagraph_runtime_mode = attn_metadata, cudagraph_mode
        self.batch_descriptor = self
        self.num_tokens, self.num_reqs = batch.num_tokens_after_padding, batch.num_reqs_after_padding


class _Hooks:
    """Methods of an engine's objects that also tell a recorder. close() takes them off. An error of
    the recorder takes them off, and the engine goes on."""

    def __init__(self, on_error):
        """on_error(error, what): called after an error of the recorder, with what it was doing."""
        self._undo, self._on_error = [], on_error

    def close(self):
        undone, self._undo = self._undo, []
        for undo in undone:
            undo()

    def _tell(self, call, *args, **kwargs):
        if not self._undo:
            return
        try:
            call(*args, **kwargs)
        except Exception as error:
            with contextlib.suppress(Exception):
                self.close()
            with contextlib.suppress(Exception):
                self._on_error(error, call.__name__)


def _microseconds(nanoseconds):
    return None if nanoseconds is None else nanoseconds // 1000


class _FrameTimes:
    """How long frames take (docs/trace-format.md, "Step times"); times are in nanoseconds."""

    def __init__(self):
        self._begun = []  # (SchedulerOutput, when schedule() was called, the recorder's own time)
        self._last_output = 0  # when the last output came

    def begin(self, output, called, own):
        """schedule() made `output`, and the recorder then took `own`."""
        self._begun = self._begun[-7:] + [(output, called, own)]

    def end(self, output, came, is_async):
        """update_from_output() was called for `output` at `came`. None: not known."""
        numbers = [at for at, begun in enumerate(self._begun) if begun[0] is output]
        last, self._last_output = self._last_output, came
        if not numbers:
            return None
        _, called, own = self._begun[numbers[0]]
        del self._begun[:numbers[0] + 1]
        return came - max(called, last) if is_async else came - called - own

    def forget(self):
        """Somebody holds the engine: how long the frames in flight take is not known."""
        self._begun = []


class SchedulerHooks(_Hooks):
    """Tells `writer` of each step that `scheduler` makes, of what returns from it, and of the time
    that it took."""

    def __init__(self, writer, scheduler, on_error):
        super().__init__(on_error)
        self._writer, self._scheduler, self._times = writer, scheduler, _FrameTimes()
        _wrap(scheduler, "schedule", self._schedule, self._undo)
        _wrap(scheduler, "update_from_output", self._update, self._undo)

    def _schedule(self, real, *args, **kwargs):
        called = time.perf_counter_ns()
        output = real(*args, **kwargs)
        scheduled = time.perf_counter_ns()
        self._tell(self._writer.step, output, self._scheduler.kv_cache_manager)
        self._times.begin(output, called, time.perf_counter_ns() - scheduled)
        return output

    def _update(self, real, scheduler_output, output, *args, **kwargs):
        is_async = self._writer.is_async
        took = self._times.end(scheduler_output, time.perf_counter_ns(), is_async)
        known = took if is_async else None
        self._tell(self._writer.finish, output, step_time_us=_microseconds(known))
        updates = time.perf_counter_ns()
        result = real(scheduler_output, output, *args, **kwargs)
        if is_async or took is None:
            self._tell(self._writer.returned)
        else:
            took += time.perf_counter_ns() - updates
            self._tell(self._writer.returned, step_time_us=_microseconds(took))
        if not self._scheduler.has_unfinished_requests():
            self._tell(self._writer.launched)  # no forward pass is to come
        return result


class RunnerHooks(_Hooks):
    """Tells `rows` (its inputs(), before_forward(), forward() and launched()) what either runner
    gives to the layers. before_forward() is called when the copies before the forward pass are
    queued, and forward() once the pass is: the device is busy then, and the pass does not change
    what it was given. Dummy runs are left out: no inputs are prepared for them."""

    def __init__(self, rows, runner, on_error):
        super().__init__(on_error)
        self._rows, self._runner = rows, runner
        self._state = getattr(runner, "model_state", None)  # of V2
        self._batch = None  # of the step that is being prepared
        self._given = None  # V2: arguments of _forward_of_v2 for this step
        _wrap(runner, "execute_model", self._execute_model, self._undo)
        if self._state is None:
            _wrap(runner, "_prepare_inputs", self._prepare_inputs, self._undo)
            _wrap(runner, "_model_forward", self._model_forward, self._undo)
        else:
            _wrap(runner, "prepare_attn", self._begin_v2, self._undo)
            _wrap(self._state, "preprocess_state", self._preprocess_state, self._undo)
            _wrap(self._state, "prepare_attn", self._prepare_attn, self._undo)

    def _execute_model(self, real, *args, **kwargs):
        result = real(*args, **kwargs)
        given, self._given = self._given, None
        if given is not None:
            self._tell(self._forward_of_v2, *given)
        self._tell(self._rows.launched)
        return result

    def _prepare_inputs(self, real, *args, **kwargs):
        result = real(*args, **kwargs)
        self._batch = self._runner.input_batch
        self._tell(self._inputs_of_v1, self._batch)
        return result

    def _inputs_of_v1(self, batch):
        counts, rows = {}, len(batch.req_ids)
        if self._rows.is_async:
            counts["num_computed_tokens"] = self._runner.num_computed_tokens[:rows].clone()
            if self._runner.vllm_config.speculative_config is not None:
                counts["num_accepted_tokens"] = self._runner.num_accepted_tokens.gpu[:rows].clone()
        self._rows.inputs(batch, **counts)

    def _model_forward(self, real, *args, **kwargs):
        if self._batch is not None:
            self._tell(self._before_forward_of_v1)
        result = real(*args, **kwargs)
        batch, self._batch = self._batch, None
        if batch is not None:
            self._tell(self._forward_of_v1, batch)
        return result

    def _before_forward_of_v1(self):
        from vllm.forward_context import get_forward_context
        if metadata := get_forward_context().attn_metadata:
            self._rows.before_forward(metadata)

    def _forward_of_v1(self, batch):
        from vllm.forward_context import get_forward_context
        self._rows.forward(get_forward_context(), batch, self._runner.mamba_state_idx)

    def _begin_v2(self, real, input_batch, *args, **kwargs):
        self._batch = input_batch
        return real(input_batch, *args, **kwargs)

    def _preprocess_state(self, real, input_batch, *args, **kwargs):
        if self._batch is input_batch:
            self._tell(self._inputs_of_v2, input_batch)
        return real(input_batch, *args, **kwargs)

    def _inputs_of_v2(self, batch):
        slots = batch.idx_mapping
        computed = self._runner.req_states.num_computed_tokens.gpu  # until sample_tokens()
        counts = {"num_computed_tokens": _BySlot(computed)}
        if self._runner.vllm_config.speculative_config is not None:
            counts["num_accepted_tokens"] = self._state.num_accepted_tokens_gpu[slots]
        self._rows.inputs(batch, **counts)

    def _prepare_attn(self, real, input_batch, cudagraph_mode, *args, **kwargs):
        is_step, self._batch = self._batch is input_batch, None
        if is_step and not hasattr(self._state, "preprocess_state"):  # 0.24.0
            self._tell(self._inputs_of_v2, input_batch)
        metadata = real(input_batch, cudagraph_mode, *args, **kwargs)
        if is_step:
            self._given = metadata, cudagraph_mode, input_batch
            if metadata:
                self._tell(self._rows.before_forward, metadata)
        return metadata

    def _forward_of_v2(self, metadata, cudagraph_mode, batch):
        columns = getattr(self._state, "_mamba_state_idx_gpu", None)
        if columns is not None:
            columns = _BySlot(columns)
        self._rows.forward(_Context(metadata, cudagraph_mode, batch), batch, columns)


class Recording:
    """Records the engine that `scheduler` and `runner` belong to, from its next step on. close()
    ends it. An error of the recorder ends the recording with a warning; the engine goes on."""

    def __init__(self, writer, scheduler, runner, **header):
        """`header`: members of TraceWriter.header(): name, engine, conv_kernel, chunk_size, ..."""
        self._writer = writer
        is_v1 = getattr(runner, "model_state", None) is None
        writer.header(scheduler.kv_cache_config, runner.vllm_config,
                      kv_cache_manager=scheduler.kv_cache_manager,
                      requests=scheduler.requests,
                      runner="v1" if is_v1 else "v2", **header)
        self._hooks = (SchedulerHooks(writer, scheduler, self._failed),
                       RunnerHooks(writer, runner, self._failed))

    def close(self):
        for hooks in self._hooks:
            hooks.close()
        self._writer.close()

    def _failed(self, error, what):
        warnings.warn(f"hybridscope stops recording: {what}: {error!r}")
        self._writer.is_complete = False
        self.close()


class Copies(list):
    """What record_copies() collected. known: is it all? A fused kernel copies without a call for
    each request (0.27.1 and later); the judge then computes its copies."""

    known = True


@contextlib.contextmanager
def record_copies(module, function="collect_mamba_copy_meta"):
    """Yields Copies. While the context is open, each call of `module.function` appends its copy
    (docs/trace-format.md). clear() the list before each step."""
    real = getattr(module, function)
    signature = inspect.signature(real)
    copies = Copies()
    resolve = getattr(module, "_resolve_fused_precopy", None)

    @functools.wraps(real)
    def recorded(*args, **kwargs):
        call = signature.bind(*args, **kwargs).arguments
        copy = {key: int(call[key])
                for key in ("src_block_idx", "dest_block_idx", "accept_token_bias")}
        if copy["src_block_idx"] != copy["dest_block_idx"] or copy["accept_token_bias"] != 0:
            copies.append({"req_id": call["req_state"].req_id, **copy})
        return real(*args, **kwargs)

    def resolved(*args, **kwargs):
        fused = resolve(*args, **kwargs)
        copies.known = fused is None
        return fused

    setattr(module, function, recorded)
    if resolve is not None:
        module._resolve_fused_precopy = resolved
    try:
        yield copies
    finally:
        setattr(module, function, real)
        if resolve is not None:
            module._resolve_fused_precopy = resolve
