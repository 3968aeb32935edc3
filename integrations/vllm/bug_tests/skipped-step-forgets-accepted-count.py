"""Known bug 48: a request that is skipped for a step forgets how many tokens were accepted.

Needs vLLM and pytest, no GPU.
"""

import inspect
import sys

import pytest
import torch

from vllm.sampling_params import SamplingParams
from vllm.v1.worker.gpu_input_batch import CachedRequestState, InputBatch


@pytest.fixture(autouse=True)
def memory_is_pinned_only_for_a_gpu(monkeypatch):
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and hasattr(module, "PIN_MEMORY"):
            monkeypatch.setattr(module, "PIN_MEMORY", torch.cuda.is_available())


def make_batch(num_spec_tokens):
    arguments = {
        "max_num_reqs": 4,
        "max_model_len": 64,
        "max_num_batched_tokens": 64,
        "device": torch.device("cpu"),
        "pin_memory": False,
        "vocab_size": 100,
        "block_sizes": [8],
        "kernel_block_sizes": [8],
        "max_num_blocks_per_req": [8],
        "num_spec_tokens": num_spec_tokens,
        "num_speculative_tokens": num_spec_tokens,
    }
    known = inspect.signature(InputBatch.__init__).parameters
    return InputBatch(**{name: value for name, value in arguments.items() if name in known})


def test_a_request_that_comes_back_keeps_its_accepted_count():
    batch = make_batch(num_spec_tokens=1)
    request = CachedRequestState(
        req_id="C",
        prompt_token_ids=[1, 2],
        mm_features=[],
        sampling_params=SamplingParams(temperature=0.0),
        generator=None,
        block_ids=([1, 2],),
        num_computed_tokens=2,
        output_token_ids=[3],
    )
    row = batch.add_request(request)
    # The step verified one draft and accepted it: its state is the second of the step.
    batch.num_accepted_tokens_cpu[row] = 2
    request.num_computed_tokens, request.output_token_ids = 4, [3, 4, 5]

    # The next step has no tokens for C, as GPUModelRunner._update_states does it ...
    batch.remove_request("C")
    batch.condense()
    # ... and the one after that has.
    row = batch.add_request(request)

    assert batch.num_accepted_tokens_cpu[row] == 2
