"""Known bug 54: a chunk stores a state that nobody reserved a block for, in its running block.

Needs vLLM and pytest, no GPU.
"""

import inspect

import torch

from vllm.model_executor.layers.mamba.checkpoint import compute_mamba_prefill_checkpoints
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
PROMPT = 60
CHUNKS = (16, 16)  # a step runs 16 tokens
MAMBA = MambaSpec(
    block_size=BLOCK,
    shapes=((1, 1),),
    dtypes=(torch.float32,),
    mamba_cache_mode="align",
    num_speculative_blocks=1,
    num_prefill_checkpoint_blocks=1,
    prefill_checkpoint_alignment=1,
)


def known_arguments(function, **arguments):
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}


def make_manager():
    attention = FullAttentionSpec(
        block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
    )
    groups = [KVCacheGroupSpec(["layer0"], attention), KVCacheGroupSpec(["layer1"], MAMBA)]
    return KVCacheManager(
        KVCacheConfig(
            num_blocks=64,
            kv_cache_tensors=[],
            kv_cache_groups=groups,
            prefix_cache_retention_interval=0,
        ),
        **known_arguments(
            KVCacheManager.__init__,
            max_model_len=64,
            scheduler_block_size=BLOCK,
            hash_block_size=BLOCK,
            max_num_batched_tokens=64,
            enable_caching=True,
        ),
    )


def stored_blocks(row, seq_len, query_len):
    """The blocks that the worker's row names where its builders let the chunk store a state."""
    _, columns = compute_mamba_prefill_checkpoints(
        [seq_len],
        [query_len],
        hash_block_size=BLOCK,
        mamba_block_size=BLOCK,
        checkpoint_alignment=MAMBA.prefill_checkpoint_alignment,
        drop_eagle_block=False,
        cache_hit_alignment_tokens=BLOCK,
    )
    return [row[column] for column in columns if column >= 0]


def test_a_chunk_stores_no_state_in_its_running_block():
    init_none_hash(sha256)
    manager = make_manager()
    request = Request(
        request_id="A",
        prompt_token_ids=list(range(PROMPT)),
        sampling_params=SamplingParams(max_tokens=4),
        pooling_params=None,
        block_hasher=get_request_block_hasher(BLOCK, sha256),
    )
    row = []  # the worker's row of the block table, to which it only appends
    computed = 0
    spoilt = []  # chunks that store a state in their running block, by their end
    for chunk in CHUNKS:
        manager.new_step_starts()
        new_blocks = manager.allocate_slots(request, chunk, num_lookahead_tokens=0)
        request.status = RequestStatus.RUNNING
        row += new_blocks.get_block_ids()[1]
        computed += chunk
        running_block = row[(computed - 1) // BLOCK]
        if running_block in stored_blocks(row, computed, chunk):
            spoilt.append(computed)
        request.num_computed_tokens = computed
    assert spoilt == []
