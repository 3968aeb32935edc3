"""Known bug 55: a block in which a chunk starts gets the key of a whole one, and keeps its state.

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
        num_prefill_checkpoint_blocks=1,
        prefill_checkpoint_alignment=1,
    )
    groups = [KVCacheGroupSpec(["layer0"], attention), KVCacheGroupSpec(["layer1"], mamba)]
    return KVCacheManager(
        KVCacheConfig(num_blocks=64, kv_cache_tensors=[], kv_cache_groups=groups),
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
    blocks, hit = manager.get_computed_blocks(request)[:2]
    assert manager.allocate_slots(request, end - hit, hit, blocks) is not None
    request.status = RequestStatus.RUNNING
    request.num_computed_tokens = end
    copies, _ = manager.take_kv_cache_block_copies()
    return hit, copies


def test_a_hit_ends_where_its_state_does():
    init_none_hash(sha256)
    manager = make_manager()
    # The first chunk of A ends where a resend could hit (Scheduler._mamba_block_aligned_split).
    # B begins with the same 4 tokens and starts from a copy of A's block. Its only chunk runs on
    # to token 29, and stores its state after 28 tokens on its way.
    schedule(manager, make_request("A", list(range(7))), 4)
    prompt = [0, 1, 2, 3] + list(range(100, 125))
    hit, copies = schedule(manager, make_request("B", prompt), 29)
    assert hit == 4
    copied = {copy.dst_block_id for copy in copies}

    # C begins like B. The copy holds the state after 4 tokens, so a hit of 8 must not end there.
    manager.new_step_starts()
    blocks, hit = manager.get_computed_blocks(make_request("C", prompt[:12]))[:2]
    state_block = blocks.get_block_ids()[1][-1]
    assert hit == 4 or state_block not in copied
