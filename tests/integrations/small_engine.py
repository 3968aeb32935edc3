"""Stand-ins with vLLM's attribute names, and two requests that run through them: align, K = 2."""

from types import SimpleNamespace as Object


class Array(list):
    """A numpy array or tensor of whole numbers as far as the writer looks at one."""

    def __init__(self, values, shape=None):
        super().__init__(values)
        self.shape = tuple(shape or (len(values),))

    def tolist(self):
        return list(self)


class FullAttentionSpec(Object):
    pass


class MambaSpec(Object):
    pass


def kv_cache_config():
    attention = FullAttentionSpec(block_size=8)
    mamba = MambaSpec(block_size=8, mamba_type="gdn_attention", num_speculative_blocks=2)
    return Object(num_blocks=46, kv_cache_groups=[
        Object(kv_cache_spec=attention, layer_names=["layers.1"], is_eagle_group=False),
        Object(kv_cache_spec=mamba, layer_names=["layers.0"], is_eagle_group=False)])


def vllm_config(async_scheduling=False):
    return Object(
        cache_config=Object(mamba_cache_mode="align", block_size=8, enable_prefix_caching=True),
        model_config=Object(max_model_len=88),
        scheduler_config=Object(max_num_seqs=4, max_num_batched_tokens=16, policy="fcfs",
                                enable_chunked_prefill=True, long_prefill_token_threshold=0,
                                async_scheduling=async_scheduling),
        speculative_config=Object(num_speculative_tokens=2, method="mtp",
                                  use_eagle=lambda: True),
        compilation_config=Object(cudagraph_mode=Object(name="NONE"),
                                  cudagraph_capture_sizes=[]))


class Pool:
    """Blocks that get and lose hashes by the calls that vLLM makes."""

    hash_block_size = 2

    def __init__(self):
        self.blocks = [Object(block_id=number, block_hash=None, block_hash_num_tokens=None)
                       for number in range(46)]

    def cache_full_blocks(self, request, blocks, num_cached_blocks, num_full_blocks, block_size,
                          kv_cache_group_id):
        for column in range(num_cached_blocks, num_full_blocks):
            if blocks[column].block_id != 0:
                self.set_hash(blocks[column], (column + 1) * block_size)

    def cache_partial_block(self, request, block, num_tokens, kv_cache_group_id, block_size):
        self.set_hash(block, num_tokens)
        return "key"

    def move_block_hashes(self, src_block, dst_block):
        tokens = src_block.block_hash_num_tokens
        self._remove_cached_block_hashes(src_block)
        self.set_hash(dst_block, tokens)

    def _remove_cached_block_hashes(self, block):
        block.block_hash = block.block_hash_num_tokens = None

    def reset_prefix_cache(self):
        for block in self.blocks:
            self._remove_cached_block_hashes(block)
        return True

    @staticmethod
    def set_hash(block, num_tokens):
        block.block_hash, block.block_hash_num_tokens = f"hash of {num_tokens}", num_tokens


class KVCacheManager:
    """Block lists, set by hand before each step; `cached`: columns of each group with a hash."""

    def __init__(self):
        self.blocks = {}  # request -> a list a group
        self.block_pool = Pool()
        self.requests = {}
        self.coordinator = Object(single_type_managers=[Object(), Object()], hash_block_size=8)

    def new_step_starts(self):
        pass

    def allocate_slots(self, request, num_new_tokens):
        pass

    def hold(self, request, attention, mamba, cached=(0, 0)):
        self.blocks[request] = (attention, mamba)
        self.requests.setdefault(request, Request(request))
        self.allocate_slots(self.requests[request], 1)
        for group, count in enumerate(cached):
            blocks = [self.block_pool.blocks[number] for number in self.blocks[request][group]]
            first = next((column for column, block in enumerate(blocks) if block.block_hash is None
                          and block.block_id != 0), count)
            self.block_pool.cache_full_blocks(Object(request_id=request), blocks,
                                              min(first, count), count, 8, group)

    def get_block_ids(self, request):
        return self.blocks.get(request, ([], []))


class Request:
    """A prompt of 21 tokens."""

    def __init__(self, request_id):
        self.request_id = request_id
        self.priority, self.cache_salt, self.num_tokens = 3, "salt", 21

    def is_finished(self):
        return False


def new_request(req_id, prompt, block_ids, max_tokens):
    return Object(req_id=req_id, prompt_token_ids=prompt, block_ids=block_ids,
                  num_computed_tokens=0, sampling_params=Object(max_tokens=max_tokens))


def scheduler_output(tokens, *, new=(), cached=None, drafts=None, finished=()):
    """`cached`: request -> (new block ids, computed tokens, output tokens)."""
    cached = cached or {}
    return Object(
        scheduled_new_reqs=list(new),
        scheduled_cached_reqs=Object(
            req_ids=list(cached), resumed_req_ids=set(),
            new_block_ids=[told[0] for told in cached.values()],
            num_computed_tokens=[told[1] for told in cached.values()],
            num_output_tokens=[told[2] for told in cached.values()]),
        num_scheduled_tokens=tokens, scheduled_spec_decode_tokens=drafts or {},
        finished_req_ids=set(finished), preempted_req_ids=None)


def input_batch(rows, accepted, computed):
    """Arrays of four rows, as long as max_num_seqs."""
    return Object(req_ids=list(rows), num_accepted_tokens_cpu=Array((accepted + [7] * 4)[:4]),
                  num_computed_tokens_cpu=Array((computed + [7] * 4)[:4]))


FORWARD_CONTEXT = Object(cudagraph_runtime_mode=Object(name="NONE"), batch_descriptor=None,
                         attn_metadata=None)


def collect_mamba_copy_meta(copy_bufs, src_block_idx, dest_block_idx, accept_token_bias,
                            req_state, forward_context=None):
    """The worker's function of this name, without the copy."""


def verify_metadata(accepted, states_of_a):
    """GDNAttentionMetadata of step 3: two verify rows of three tokens."""
    return Object(
        num_prefills=0, num_prefill_tokens=0, num_decodes=0, num_decode_tokens=0,
        num_spec_decodes=2, num_spec_decode_tokens=6, num_actual_tokens=6, has_initial_state=None,
        spec_query_start_loc=Array([0, 3, 6]), spec_sequence_masks=Array([True, True]),
        spec_state_indices_tensor=Array([list(states_of_a), [8, 9, 10]], shape=(2, 3)),
        spec_token_indx=Array([0, 1, 2, 3, 4, 5]), non_spec_token_indx=Array([]),
        num_accepted_tokens=Array(accepted))


def run(writer, record_copies, accepted_of_a=2, states_of_a=(3, 4, 6)):
    """Three steps. `a` decodes past token 8 in step 2 and has one of two drafts accepted; `b` comes
    in step 2. `accepted_of_a` and `states_of_a` are what the worker believes in step 3."""
    kv, worker = KVCacheManager(), Object(collect_mamba_copy_meta=collect_mamba_copy_meta)
    writer.header(kv_cache_config(), vllm_config(), name="two requests")

    kv.hold("a", [1], [2, 3, 4])
    writer.step(scheduler_output({"a": 6}, new=[
        new_request("a", [11, 12, 13, 14, 15, 16], ([1], [2, 3, 4]), 10)]), kv)
    batch = input_batch(["a"], [1], [0])
    writer.inputs(batch)
    writer.forward(FORWARD_CONTEXT, batch, {"a": 0}, [])
    writer.finish(Object(req_ids=["a"], sampled_token_ids=[[20]]))

    kv.hold("a", [1, 5], [2, 3, 4, 6])
    kv.hold("b", [7], [8, 9, 10])
    writer.step(scheduler_output({"a": 3, "b": 3},
                                 new=[new_request("b", Array([41, 42, 43]), ([7], [8, 9, 10]), 3)],
                                 cached={"a": (([5], [6]), 6, 1)}, drafts={"a": [21, 90]}), kv)
    batch = input_batch(["a", "b"], [1, 1], [6, 0])
    writer.inputs(batch)
    with record_copies(worker) as copies:
        worker.collect_mamba_copy_meta(None, 0, 1, 0, Object(req_id="a"))
        worker.collect_mamba_copy_meta(None, 0, 0, accept_token_bias=0, req_state=Object(req_id="b"))
        writer.forward(FORWARD_CONTEXT, batch, {"a": 1, "b": 0}, copies)
    writer.finish(Object(req_ids=["a", "b"], sampled_token_ids=[[21, 22], [50]]))

    kv.hold("a", [1, 5], [2, 3, 4, 6], cached=(1, 1))
    writer.step(scheduler_output({"a": 3, "b": 3},
                                 cached={"a": (None, 8, 3), "b": (None, 3, 1)},
                                 drafts={"a": [23, 24], "b": [51, 52]}), kv)
    batch = input_batch(["a", "b"], [accepted_of_a, 1], [8, 3])
    writer.inputs(batch)
    context = Object(**vars(FORWARD_CONTEXT))
    context.attn_metadata = {"layers.0": verify_metadata([accepted_of_a, 1], states_of_a)}
    writer.forward(context, batch, {"a": 1, "b": 0}, [])
    writer.finish(Object(req_ids=["a", "b"], sampled_token_ids=[[23, 24, 25], [51, 60]]))


def run_async(writer, record_copies, device_computed=(0, 6, 7, 10)):
    """Four steps of one request, each finished when the next has begun. Step 2 rejects both drafts,
    step 3 accepts both: the scheduler reports 6, 9, 10 tokens, the device has 6, 7, 10.
    `device_computed`: what the device is said to have in each step."""
    kv, worker = KVCacheManager(), Object(collect_mamba_copy_meta=collect_mamba_copy_meta)
    writer.header(kv_cache_config(), vllm_config(async_scheduling=True), name="in flight")
    # (new block ids, reported tokens, accepted before, column, hashed columns, sampled)
    steps = [(None, 0, 1, 0, 0, [20]), (([5], [6]), 6, 1, 1, 0, [21]),
             (None, 9, 1, 1, 0, [22, 23, 24]), (None, 10, 3, 1, 1, [25])]
    for number, (blocks, computed, accepted, column, hashed, _) in enumerate(steps):
        if number == 0:
            kv.hold("a", [1], [2, 3, 4])
            output = scheduler_output({"a": 6}, new=[
                new_request("a", [11, 12, 13, 14, 15, 16], ([1], [2, 3, 4]), 10)])
        else:
            kv.hold("a", [1, 5], [2, 3, 4, 6], cached=(hashed, hashed))
            output = scheduler_output({"a": 3}, cached={"a": (blocks, computed, number)},
                                      drafts={"a": [-1, -1]})
        writer.step(output, kv)
        batch = input_batch(["a"], [accepted], [computed])
        writer.inputs(batch, num_computed_tokens=Array([device_computed[number]]))
        with record_copies(worker) as copies:
            if number == 1:
                worker.collect_mamba_copy_meta(None, 0, 1, 0, Object(req_id="a"))
            writer.forward(FORWARD_CONTEXT, batch, {"a": column}, copies)
        if number > 0:
            writer.finish(Object(req_ids=["a"], sampled_token_ids=[steps[number - 1][-1]]))
    writer.finish(Object(req_ids=["a"], sampled_token_ids=[steps[-1][-1]]))


def run_shared_tail(writer, copies_of_b=((4, 7), (6, 8))):
    """Blocks of 8 tokens, hashes of 2, no drafts. `a` runs 20 of its 21 prompt tokens, then the last
    one, before which its block 5 is copied to 6 for the prefix cache. `b` hits the 20 tokens."""
    kv = KVCacheManager()
    kv.coordinator = Object(single_type_managers=kv.coordinator.single_type_managers,
                            hash_block_size=2, scheduler_block_size=8,
                            enable_partial_hash_hits=True)
    config, groups = vllm_config(), kv_cache_config()
    config.speculative_config = None
    config.scheduler_config.max_num_batched_tokens = 32
    groups.kv_cache_groups[1].kv_cache_spec.num_speculative_blocks = 0
    writer.header(groups, config, name="shared tail", kv_cache_manager=kv)
    prompt = list(range(20))

    def step(output, rows, computed, sampled, copies=()):
        output.kv_cache_block_copies = [Object(src_block_id=source, dst_block_id=block)
                                        for source, block in copies]
        writer.step(output, kv)
        batch = input_batch(rows, [1] * len(rows), computed)
        writer.inputs(batch)
        writer.forward(FORWARD_CONTEXT, batch)
        writer.finish(Object(req_ids=rows, sampled_token_ids=sampled))
        for row, tokens in zip(rows, sampled):
            kv.requests[row].num_tokens += len(tokens)
        writer.returned(kv)

    kv.hold("a", [1, 2, 4], [0, 0, 5], cached=(2, 0))
    for group, number in ((0, 4), (1, 5)):
        kv.block_pool.cache_partial_block(kv.requests["a"], kv.block_pool.blocks[number], 20, group,
                                          8)
    step(scheduler_output({"a": 20}, new=[new_request("a", prompt + [20], ([1, 2, 4], [0, 0, 5]),
                                                      10)]), ["a"], [0], [[]])
    kv.block_pool.move_block_hashes(kv.block_pool.blocks[5], kv.block_pool.blocks[6])
    step(scheduler_output({"a": 1}, cached={"a": (None, 20, 0)}), ["a"], [20], [[90]], [(5, 6)])
    kv.hold("b", [1, 2, 7], [0, 0, 8])
    admitted = new_request("b", prompt + [70], ([1, 2, 7], [0, 0, 8]), 10)
    admitted.num_computed_tokens = 20
    step(scheduler_output({"a": 1, "b": 1}, new=[admitted], cached={"a": (None, 21, 1)}),
         ["a", "b"], [21, 20], [[91], [92]], copies_of_b)
