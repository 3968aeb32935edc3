"""Known bug 12c: a prompt chunk of 1 + K tokens is sorted before a decode row without drafts.

Needs vLLM and pytest, no GPU.
"""

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from vllm.v1.worker.gpu.model_runner import sort_batch_req_ids  # noqa: E402


def test_a_chunk_as_long_as_a_verify_row_stands_behind_the_decode_rows():
    # K = 2. A verifies two drafts, P computes a chunk of three tokens of its prompt, T decodes one
    # token without drafts: the builders treat P, and every row behind it, as a prefill.
    order = sort_batch_req_ids(
        {"A": 3, "P": 3, "T": 1}, {"A": [7, 8]}, 3
    )

    assert order == ["A", "T", "P"]
