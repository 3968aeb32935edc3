"""Known bug 9: accepted counts are moved with their rows and then gathered once more.

Needs vLLM and pytest, no GPU. The gather stands in the middle of GPUModelRunner._prepare_inputs,
so its lines are cut out of the installed source and run as they are.
"""

import inspect
import re
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from vllm.sampling_params import SamplingParams
from vllm.v1.worker.gpu_input_batch import CachedRequestState, InputBatch
from vllm.v1.worker.gpu_model_runner import GPUModelRunner


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


def gather_of_the_installed_runner():
    source = textwrap.dedent(inspect.getsource(GPUModelRunner._prepare_inputs))
    found = re.search(
        r"^( +)if self\.use_async_scheduling and prev_req_id_to_index:\n((?:\1 .*\n)+)",
        source,
        re.MULTILINE,
    )
    if found is None or "num_accepted_tokens_cpu" not in found[2]:
        pytest.skip("this version gathers the counts in another way")
    return textwrap.dedent(found[2])


def request(name):
    return CachedRequestState(
        req_id=name,
        prompt_token_ids=[1, 2],
        mm_features=[],
        sampling_params=SamplingParams(temperature=0.0),
        generator=None,
        block_ids=([1, 2],),
        num_computed_tokens=2,
        output_token_ids=[3],
    )


def test_each_request_keeps_its_count():
    batch = make_batch(num_spec_tokens=2)
    for name in "ABC":
        batch.add_request(request(name))
    batch.prev_req_id_to_index = dict(batch.req_id_to_index)
    # The copy of the step's counts has arrived before the rows of the next step are moved.
    batch.num_accepted_tokens_cpu[:3] = [1, 3, 2]

    # A has ended, E takes its row, and decodes are put first: rows C, B, E.
    batch.remove_request("A")
    assert batch.add_request(request("E")) == 0
    batch.condense()
    batch.swap_states(0, 2)

    runner = SimpleNamespace(
        input_batch=batch,
        prev_positions=SimpleNamespace(np=np.zeros(4, dtype=np.int64)),
        num_accepted_tokens=SimpleNamespace(np=np.ones(4, dtype=np.int64)),
        use_async_scheduling=True,
    )
    GPUModelRunner._compute_prev_positions(runner, 3)
    exec(gather_of_the_installed_runner(), {"np": np}, {"self": runner, "num_reqs": 3})

    counts = dict(zip(batch.req_ids, runner.num_accepted_tokens.np[:3].tolist()))
    assert counts == {"C": 2, "B": 3, "E": 1}
