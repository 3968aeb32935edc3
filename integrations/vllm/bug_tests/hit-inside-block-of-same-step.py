"""Known bug 57: a hit ends inside a block that the same step writes, and its copy comes first.

Needs vLLM and pytest, no GPU.
"""

import inspect

import torch

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
)
from vllm.v1.request import Request, RequestStatus

BLOCK = 8
MATCH_UNIT = 4


def known_arguments(function, **arguments):
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}


def make_manager():
    attention = FullAttentionSpec(
        block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
    )
    mamba = MambaSpec(
        block_size=BLOCK,
        shapes=((1, 1),),
        dtypes=(torch.float32,),
        mamba_cache_mode="align",
    )
    groups = [KVCacheGroupSpec(["layer0"], attention), KVCacheGroupSpec(["layer1"], mamba)]
    return KVCacheManager(
        KVCacheConfig(
            num_blocks=64,
            kv_cache_tensors=[],
            kv_cache_groups=groups,
            **known_arguments(KVCacheConfig.__init__, prefix_cache_retention_interval=0),
        ),
        **known_arguments(
            KVCacheManager.__init__,
            max_model_len=64,
            scheduler_block_size=BLOCK,
            hash_block_size=MATCH_UNIT,
            max_num_batched_tokens=64,
            enable_caching=True,
        ),
    )


def make_request(name, tokens):
    return Request(
        request_id=name,
        prompt_token_ids=tokens,
        sampling_params=SamplingParams(max_tokens=4),
        pooling_params=None,
        block_hasher=get_request_block_hasher(MATCH_UNIT, sha256),
    )


def schedule(manager, request, end):
    """A step's chunk of the request, from where its hit ends to `end`; returns hit and copies."""
    manager.new_step_starts()
    computed = request.num_computed_tokens
    blocks, hit = manager.get_computed_blocks(request)[:2] if computed == 0 else (None, 0)
    assert manager.allocate_slots(request, end - computed - hit, hit, blocks) is not None
    request.status = RequestStatus.RUNNING
    request.num_computed_tokens = end
    copies, _ = manager.take_kv_cache_block_copies()
    return hit, copies


def test_no_copy_reads_what_the_step_writes():
    init_none_hash(sha256)
    manager = make_manager()
    # A's prompt of 22 tokens stops after 20, where a resend can hit. A is preempted with two more.
    first = make_request("A", list(range(22)))
    for end in (16, 20):
        first_hit, _ = schedule(manager, first, end)
    manager.free(first)

    # In one step A comes back and fills its third block, and B begins like it. Both hit 20 tokens
    # and get copies of the third block; that of B is a copy of A's copy.
    manager.new_step_starts()
    again = make_request("again", list(range(22)))
    again.append_output_token_ids([22, 23])
    for request in (again, make_request("B", list(range(30)))):
        blocks, hit = manager.get_computed_blocks(request)[:2]
        assert manager.allocate_slots(request, request.num_tokens - hit, hit, blocks) is not None
    copies, _ = manager.take_kv_cache_block_copies()
    # copy_kv_cache_blocks_inplace gathers every source before it writes a destination.
    written = {copy.dst_block_id for copy in copies}
    assert not written & {copy.src_block_id for copy in copies}
