"""Known bug 8b: a prompt of one token is padded with placeholders, and the state folds them in.

Needs vLLM and pytest, no GPU. The scheduler is the installed one; its configuration is a stand-in.
"""

import inspect
import os
from types import SimpleNamespace

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch  # noqa: E402

from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.utils.hashing import sha256  # noqa: E402
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash  # noqa: E402
from vllm.v1.core.sched.scheduler import Scheduler  # noqa: E402
from vllm.v1.kv_cache_interface import (  # noqa: E402
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
)
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request  # noqa: E402

BLOCK = 8
K = 2


class StandIn(SimpleNamespace):
    """Settings that the scheduler of some version asks for and that this test does not need: off."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def no():
    return False


def make_scheduler():
    attention = FullAttentionSpec(
        block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float16
    )
    mamba = MambaSpec(
        block_size=BLOCK,
        shapes=((1, 8),),
        dtypes=(torch.float16,),
        mamba_cache_mode="align",
        num_speculative_blocks=K,
    )
    groups = [KVCacheGroupSpec(["layer.0"], attention), KVCacheGroupSpec(["layer.1"], mamba)]
    drafts = StandIn(
        method="ngram",
        num_speculative_tokens=K,
        parallel_drafting=False,
        max_num_new_slots_for_drafting=0,
        use_eagle=no,
        needs_eagle_block_drop=no,
        use_eagle_block_drop=no,
        uses_draft_model=no,
        use_dflash=no,
        use_dspark=no,
        use_multi_module_mtp=no,
        use_ngram_gpu=no,
    )
    config = StandIn(
        cache_config=StandIn(
            block_size=BLOCK,
            mamba_block_size=BLOCK,
            num_gpu_blocks=32,
            enable_prefix_caching=True,
            mamba_cache_mode="align",
        ),
        scheduler_config=StandIn(
            max_num_seqs=4,
            max_num_batched_tokens=64,
            long_prefill_token_threshold=0,
            policy="fcfs",
            watermark=0.0,
            enable_chunked_prefill=True,
            prefill_schedule_interval=1,
        ),
        model_config=StandIn(max_model_len=64, runner_type="generate", is_hybrid=True),
        parallel_config=StandIn(
            pipeline_parallel_size=1,
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
            data_parallel_index=0,
            data_parallel_size=1,
            data_parallel_rank=0,
            tensor_parallel_size=1,
        ),
        observability_config=StandIn(kv_cache_metrics_sample=0.0),
        speculative_config=drafts,
        ec_manager_config=StandIn(get_encoder_cache_manager_obj=lambda: None),
        aux_output_config=StandIn(enabled=False),
        max_concurrent_batches=1,
        max_in_flight_tokens=64,
        num_speculative_tokens=K,
        num_lookahead_tokens=0,
        num_prefill_lookahead_tokens=0,
        num_hash_lookahead_tokens=0,
        use_v2_model_runner=False,
    )
    arguments = {
        "vllm_config": config,
        "kv_cache_config": KVCacheConfig(
            num_blocks=32, kv_cache_tensors=[], kv_cache_groups=groups
        ),
        "structured_output_manager": StandIn(
            should_advance=lambda request, **_: False,
            accept_tokens=lambda request, tokens: True,
            validate_tokens=lambda request, tokens: tokens,
        ),
        "block_size": BLOCK,
        "hash_block_size": BLOCK,
        "log_stats": False,
        "mm_registry": StandIn(supports_multimodal_inputs=lambda model: False),
    }
    known = inspect.signature(Scheduler.__init__).parameters
    return Scheduler(**{name: value for name, value in arguments.items() if name in known})


def make_request(name, num_tokens):
    return Request(
        request_id=name,
        prompt_token_ids=list(range(num_tokens)),
        sampling_params=SamplingParams(max_tokens=8, temperature=0.0),
        pooling_params=None,
        block_hasher=get_request_block_hasher(BLOCK, sha256),
    )


def run_step(scheduler):
    """One step in which every request that decodes samples token 7."""
    output = scheduler.schedule()
    names = list(output.num_scheduled_tokens)
    scheduler.update_from_output(
        output,
        ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: row for row, name in enumerate(names)},
            sampled_token_ids=[[7] for _ in names],
        ),
    )
    scheduler.update_draft_token_ids(DraftTokenIds(names, [[8] * K for _ in names]))
    return output


def test_a_prompt_of_one_token_is_not_padded():
    init_none_hash(sha256)
    scheduler = make_scheduler()
    scheduler.add_request(make_request("A", 5))
    run_step(scheduler)
    decode = run_step(scheduler)
    assert decode.num_scheduled_tokens == {"A": 1 + K}

    # B has no state yet: its row is a prefill, which keeps the state after its last position only.
    scheduler.add_request(make_request("B", 1))
    assert scheduler.schedule().num_scheduled_tokens["B"] == 1
