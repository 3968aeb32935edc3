"""Known bug 50: the recomputed rest of an answer runs as a verify row.

Needs vLLM and pytest, no GPU. The flag is set in the middle of
GPUModelRunner._build_attention_metadata, so its line is cut out of the installed source and run as
it is.
"""

import inspect
import re
from types import SimpleNamespace

import pytest
import torch

from vllm.v1.attention.backends.utils import split_decodes_and_prefills
from vllm.v1.worker.gpu_model_runner import GPUModelRunner


def is_prefilling_of_the_installed_runner(**values):
    source = inspect.getsource(GPUModelRunner._build_attention_metadata)
    found = re.search(r"^ +is_prefilling = (.+)$", source, re.MULTILINE)
    if found is None:
        pytest.skip("this version sets the flag in another way")
    return eval(found[1], {}, values)


def test_a_resumed_request_prefills_what_it_recomputes():
    # K = 1. A had a prompt of 8 and 2 more known tokens when it was preempted; it comes back with a
    # prefix hit of 8, and its tokens 8 and 9 are computed again.
    prefilling = is_prefilling_of_the_installed_runner(
        num_computed_tokens_cpu=torch.tensor([8]),
        num_prompt_tokens_cpu=torch.tensor([8]),
        num_tokens_no_spec_cpu=torch.tensor([10]),
    )
    batch = SimpleNamespace(
        max_query_len=2,
        num_reqs=1,
        num_actual_tokens=2,
        query_start_loc_cpu=torch.tensor([0, 2], dtype=torch.int32),
        seq_lens_cpu_upper_bound=torch.tensor([10], dtype=torch.int32),
        is_prefilling=prefilling,
    )
    num_decodes, num_prefills, _, _ = split_decodes_and_prefills(
        batch, decode_threshold=2, treat_short_extends_as_decodes=False
    )

    assert (num_decodes, num_prefills) == (0, 1)
