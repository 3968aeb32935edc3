"""Known bug 5: a prompt of K + 1 tokens replays the graph that was captured for verification.

Needs vLLM and pytest, no GPU.
"""

import inspect

from vllm.v1.worker.gpu_model_runner import GPUModelRunner


def test_a_prompt_of_k_plus_1_tokens_is_no_uniform_decode():
    # K = 2, and one new request with a prompt of 3 tokens.
    step = {
        "max_num_scheduled_tokens": 3,
        "uniform_decode_query_len": 3,
        "num_tokens": 3,
        "num_reqs": 1,
        # What a version may want to know besides shapes.
        "is_prefilling": [True],
        "has_prefill": True,
    }
    known = inspect.signature(GPUModelRunner._is_uniform_decode).parameters
    told = {name: value for name, value in step.items() if name in known}

    assert not GPUModelRunner._is_uniform_decode(**told)
