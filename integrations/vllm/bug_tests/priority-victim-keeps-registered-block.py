"""Known bug 49: a block is registered for a request that is preempted before it writes it.

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


def known_arguments(function, **arguments):
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}


def make_manager():
    attention = FullAttentionSpec(
        block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
    )
    mamba = MambaSpec(
        block_size=BLOCK, shapes=((1, 1),), dtypes=(torch.float32,), mamba_cache_mode="align"
    )
    groups = [KVCacheGroupSpec(["layer0"], attention), KVCacheGroupSpec(["layer1"], mamba)]
    return KVCacheManager(
        KVCacheConfig(num_blocks=16, kv_cache_tensors=[], kv_cache_groups=groups),
        **known_arguments(
            KVCacheManager.__init__,
            max_model_len=64,
            scheduler_block_size=BLOCK,
            hash_block_size=BLOCK,
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
        block_hasher=get_request_block_hasher(BLOCK, sha256),
    )


def test_a_block_that_was_never_written_is_not_hit():
    init_none_hash(sha256)
    manager = make_manager()
    victim = make_request("L", list(range(9)))

    # A step schedules the first 8 tokens of L; both its blocks are full with them.
    manager.new_step_starts()
    assert manager.allocate_slots(victim, 8) is not None
    victim.status = RequestStatus.RUNNING
    # A request of higher priority needs a block in the same step, and L is the victim
    # (Scheduler._preempt_request): nothing of L runs.
    manager.free(victim)
    victim.status = RequestStatus.PREEMPTED
    victim.num_computed_tokens = 0

    # A prompt that begins alike must not hit what nobody wrote.
    manager.new_step_starts()
    hit = manager.get_computed_blocks(make_request("M", list(range(9))))[1]
    assert hit == 0
