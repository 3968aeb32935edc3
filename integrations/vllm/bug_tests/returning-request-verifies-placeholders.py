"""Known bug 53: a request that comes back verifies placeholders instead of its drafts.

Needs vLLM and pytest, no GPU.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from vllm.v1.worker.gpu_model_runner import GPUModelRunner


@pytest.fixture(autouse=True)
def memory_is_pinned_only_for_a_gpu(monkeypatch):
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and hasattr(module, "PIN_MEMORY"):
            monkeypatch.setattr(module, "PIN_MEMORY", torch.cuda.is_available())


class Buffer:
    """As much of CpuGpuBuffer as the function uses."""

    def __init__(self, values, dtype):
        self.cpu = torch.tensor(values, dtype=dtype)
        self.np = self.cpu.numpy()
        self.gpu = torch.zeros_like(self.cpu)

    def copy_to_gpu(self, count):
        self.gpu[:count] = self.cpu[:count]


def test_no_draft_is_a_placeholder():
    # K = 2. A ran in the step before, in row 0; C was skipped in it and comes back in row 1.
    # Rows of the step: A has the tokens 0..2, C those of 3..5. Under asynchronous scheduling
    # their drafts are -1 until they are scattered.
    runner = SimpleNamespace(
        _pp_recv_work=None,
        input_batch=SimpleNamespace(
            prev_sampled_token_ids=torch.tensor([[11]], dtype=torch.int32), req_ids=["A", "C"]
        ),
        prev_positions=Buffer([0, -1], torch.int64),
        prev_num_spec_tokens=2,
        input_ids=Buffer([0, -1, -1, 31, -1, -1], torch.int32),
        enable_prompt_embeds=False,
        device=torch.device("cpu"),
        _draft_token_ids=torch.tensor([[12, 13]]),
    )
    output = SimpleNamespace(scheduled_spec_decode_tokens={"A": [-1, -1], "C": [-1, -1]})

    GPUModelRunner._prepare_input_ids(
        runner, output, num_reqs=2, total_num_scheduled_tokens=6, cu_num_tokens=np.array([3, 6])
    )

    assert runner.input_ids.gpu[:3].tolist() == [11, 12, 13]
    assert all(token >= 0 for token in runner.input_ids.gpu[3:].tolist())
