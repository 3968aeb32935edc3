#!/usr/bin/env python3
"""bench_upstream.py [PREFIX]: times vLLM's own layer kernels at the shapes of
hybridscope_numeric_bench, so that the two tables can be laid side by side (docs/gpu.md).

Needs a GPU and a Python with torch, triton and the vllm package. As there, a figure is the median
of 15 replays of a CUDA graph of 5 launches (convolutions: 32, over 16 batches in turn or over one),
states are distinct blocks in random order, and inputs are random. PREFIX: only kernels whose names begin so.
"""
import sys

import torch
from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_update
from vllm.model_executor.layers.mamba.ops.mamba_ssm import selective_state_update
from vllm.model_executor.layers.mamba.ops.ssd_combined import mamba_chunk_scan_combined_varlen
from vllm.third_party.flash_linear_attention.ops import chunk_gated_delta_rule
from vllm.third_party.flash_linear_attention.ops.fused_sigmoid_gating import (
    fused_sigmoid_gating_delta_rule_update,
)
from vllm.third_party.flash_linear_attention.ops.index import (
    prepare_chunk_indices,
    prepare_chunk_offsets,
)

ROWS = 256
BF16, F32, I32 = torch.bfloat16, torch.float32, torch.int32


def random(*shape, dtype=BF16):
    return torch.rand(shape, device="cuda", dtype=F32).mul_(2).sub_(1).to(dtype)


def numbers(values):
    return torch.tensor(values, device="cuda", dtype=I32)


class Rows:
    """256 decode rows, or verify rows with accepted counts, whose columns are distinct blocks."""

    def __init__(self, drafts, first=1):
        columns = 1 + drafts
        blocks = first + torch.randperm(ROWS * columns, device="cuda").to(I32)
        self.columns = columns
        self.blocks = blocks.view(ROWS, columns)
        self.starts = numbers(list(range(0, ROWS * columns + 1, columns)))
        self.accepted = torch.randint(1, columns + 1, (ROWS,), device="cuda", dtype=I32)


def graph_us(launches, work):
    """Median microseconds of one launch of `work` in replays of a graph of `launches`."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # the inputs are made there
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            work()
    times = []
    for _ in range(18):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / launches)
    return sorted(times[3:])[7]


def selective_state(dtype, drafts):
    heads, dim, size = 128, 64, 128
    rows = Rows(drafts)
    tokens = ROWS * rows.columns
    states = random(1 + tokens, heads, dim, size, dtype=dtype)
    x, out = random(tokens, heads, dim), random(tokens, heads, dim)
    dt = random(tokens, heads)[:, :, None].expand(-1, -1, dim)
    B, C = random(tokens, 1, size), random(tokens, 1, size)
    A = -torch.rand(heads, device="cuda")[:, None, None].expand(-1, dim, size)
    D = random(heads, dtype=F32)[:, None].expand(-1, dim)
    bias = random(heads, dtype=F32)[:, None].expand(-1, dim)
    several = {} if drafts == 0 else {
        "num_accepted_tokens": rows.accepted, "cu_seqlens": rows.starts}
    blocks = rows.blocks if drafts else rows.blocks[:, 0].contiguous()
    return lambda: selective_state_update(
        states, x, dt, A, B, C, D, dt_bias=bias, dt_softplus=True, state_batch_indices=blocks,
        dst_state_batch_indices=blocks, out=out, **several)


def delta_rule(dtype, drafts):
    key_heads, heads, dim = 16, 32, 128
    rows = Rows(drafts)
    tokens = ROWS * rows.columns
    states = random(1 + tokens, heads, dim, dim, dtype=dtype)
    q, k = random(1, tokens, key_heads, dim), random(1, tokens, key_heads, dim)
    v = random(1, tokens, heads, dim)
    a, b = random(tokens, heads), random(tokens, heads)
    A_log, bias = random(heads, dtype=F32), random(heads, dtype=F32)
    several = {"num_accepted_tokens": rows.accepted} if drafts else {}
    blocks = rows.blocks if drafts else rows.blocks[:, 0].contiguous()
    return lambda: fused_sigmoid_gating_delta_rule_update(
        A_log, a, b, bias, q, k, v, initial_state=states, inplace_final_state=True,
        cu_seqlens=rows.starts, ssm_state_indices=blocks, use_qk_l2norm_in_kernel=True, **several)


def conv(dim, drafts, batches=16):
    width = 4
    state_len = width - 1 + drafts
    tokens = ROWS * (1 + drafts)
    weight, bias = random(dim, width), random(dim)
    states = random(1 + batches * tokens, state_len, dim).transpose(1, 2)
    inputs = [random(tokens, dim) for _ in range(batches)]
    rows = [Rows(drafts, 1 + i * tokens) for i in range(batches)]
    blocks = [each.blocks[:, 0].contiguous() for each in rows]
    calls = [0]

    def work():
        i = calls[0] % batches
        calls[0] += 1
        several = {} if drafts == 0 else {
            "num_accepted_tokens": rows[i].accepted, "query_start_loc": rows[i].starts,
            "max_query_len": 1 + drafts}
        causal_conv1d_update(inputs[i], states, weight, bias, "silu",
                             conv_state_indices=blocks[i], **several)

    return work


def chunked_delta_rule(sequences):
    key_heads, heads, dim, tokens = 16, 32, 128, 8192
    starts = numbers(list(range(0, tokens + 1, tokens // sequences)))
    q, k = random(1, tokens, key_heads, dim), random(1, tokens, key_heads, dim)
    v = random(1, tokens, heads, dim)
    g, beta = -torch.rand(1, tokens, heads, device="cuda"), torch.rand(1, tokens, heads,
                                                                       device="cuda")
    states = random(sequences, heads, dim, dim, dtype=F32)
    indices, offsets = prepare_chunk_indices(starts, 64), prepare_chunk_offsets(starts, 64)
    return lambda: chunk_gated_delta_rule(
        q=q, k=k, v=v, g=g, beta=beta, initial_state=states, output_final_state=True,
        cu_seqlens=starts, chunk_indices=indices, chunk_offsets=offsets,
        use_qk_l2norm_in_kernel=True)


def chunked_mamba2(sequences):
    heads, dim, size, chunk, tokens = 128, 64, 128, 256, 8192
    starts = numbers(list(range(0, tokens + 1, tokens // sequences)))
    cuts = numbers(list(range(0, tokens + 1, chunk)))
    chunks_each = tokens // sequences // chunk
    seq_idx = numbers([i // chunks_each for i in range(tokens // chunk)])
    last = numbers([(i + 1) * chunks_each - 1 for i in range(sequences)])
    x, out = random(tokens, heads, dim), random(tokens, heads, dim)
    dt = random(tokens, heads)
    B, C = random(tokens, 1, size), random(tokens, 1, size)
    A, D = -torch.rand(heads, device="cuda"), random(heads, dtype=F32)
    bias = random(heads, dtype=F32)
    states = random(sequences, heads, dim, size, dtype=F32)
    return lambda: mamba_chunk_scan_combined_varlen(
        x, dt, A, B, C, chunk, starts, cuts, last, seq_idx, out, D=D, dt_bias=bias,
        initial_states=states, dt_softplus=True, state_dtype=F32)


KERNELS = [
    ("selective_state_update H128 P64 N128 fp32", 5, lambda: selective_state(F32, 0)),
    ("selective_state_update H128 P64 N128 fp32, K = 2", 5, lambda: selective_state(F32, 2)),
    ("selective_state_update, bf16 state", 5, lambda: selective_state(BF16, 0)),
    ("selective_state_update, bf16 state, K = 2", 5, lambda: selective_state(BF16, 2)),
    ("gated delta rule Hv32 128x128 fp32", 5, lambda: delta_rule(F32, 0)),
    ("gated delta rule Hv32 128x128 fp32, K = 2", 5, lambda: delta_rule(F32, 2)),
    ("gated delta rule, bf16 state", 5, lambda: delta_rule(BF16, 0)),
    ("gated delta rule, bf16 state, K = 2", 5, lambda: delta_rule(BF16, 2)),
    ("causal_conv1d_update 8192 channels bf16", 32, lambda: conv(8192, 0)),
    ("causal_conv1d_update 8192 channels bf16, K = 2", 32, lambda: conv(8192, 2)),
    ("causal_conv1d_update 8448 channels bf16", 32, lambda: conv(8448, 0)),
    ("causal_conv1d_update 8192 channels bf16, in the L2", 32, lambda: conv(8192, 0, 1)),
    ("causal_conv1d_update 8192 channels bf16, K = 2, in the L2", 32, lambda: conv(8192, 2, 1)),
    ("causal_conv1d_update 8448 channels bf16, in the L2", 32, lambda: conv(8448, 0, 1)),
    ("chunked gated delta rule, 1 x 8192 tokens", 5, lambda: chunked_delta_rule(1)),
    ("chunked gated delta rule, 8 x 1024 tokens", 5, lambda: chunked_delta_rule(8)),
    ("chunked Mamba2, 1 x 8192 tokens", 5, lambda: chunked_mamba2(1)),
    ("chunked Mamba2, 8 x 1024 tokens", 5, lambda: chunked_mamba2(8)),
]


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return 2 if len(sys.argv) > 2 else 0
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{torch.cuda.get_device_name()}; graph replays, medians of 15\n")
    print("| kernel | us |\n|---|---|")
    failed = 0
    for name, launches, make in KERNELS:
        if not name.startswith(prefix):
            continue
        torch.manual_seed(20261127)
        try:
            print(f"| {name} | {graph_us(launches, make()):.1f} |", flush=True)
        except Exception as error:  # one kernel that cannot run must not hide the others
            failed += 1
            print(f"| {name} | {type(error).__name__}: {str(error)[:200]} |", flush=True)
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
