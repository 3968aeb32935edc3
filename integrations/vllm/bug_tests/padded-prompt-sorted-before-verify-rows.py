"""Known bug 12b: a padded prompt of one token is sorted before verify rows.

Needs vLLM and pytest, no GPU.
"""

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from vllm.v1.worker.gpu.model_runner import sort_batch_req_ids  # noqa: E402


def test_a_padded_prompt_stands_behind_the_verify_rows():
    # K = 2. A verifies one draft; B is a new request whose prompt of one token was padded to 1 + K
    # tokens: it has no state, so the builders treat it, and every row behind it, as a prefill.
    order = sort_batch_req_ids(
        {"A": 2, "B": 3}, {"A": [7], "B": [-1, -1]}, 3
    )

    assert order == ["A", "B"]
