"""Runner V2 of the installed release without its model: real execute_model and sample_tokens with
RequestState, BlockTables, InputBatch and MambaHybridModelState on CPU tensors, their kernels as
plain Python (with VLLM_DRIVER_TRITON=1 in Triton's interpreter). Used by vllm_driver_worker.py.

Stand-ins: the model and its sampler (how many tokens each row accepts is given), drafters, the
choice of a graph, token ids, slot mappings, builders, encoders, connectors and LoRA. Sets of
request ids, whose order is arbitrary, are in order of their text.
"""

import copy
import inspect
import os
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from vllm.config.compilation import CUDAGraphMode
from vllm.model_executor.layers.mamba.mamba_utils import (
    get_conv_copy_spec,
    get_temporal_copy_spec,
)
from vllm.v1.kv_cache_interface import MambaSpec
from vllm.v1.worker import mamba_utils
from vllm.v1.worker.gpu import block_table, buffer_utils, input_batch, model_runner, states
from vllm.v1.worker.gpu.cudagraph_utils import BatchExecutionDescriptor
from vllm.v1.worker.gpu.model_states import mamba_hybrid
from vllm_kernels import replace_kernels

CPU = torch.device("cpu")
COPY_FUNCS = (get_conv_copy_spec, get_temporal_copy_spec)
CONV_KERNEL = 4


def known_arguments(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in names}


def nothing(*_: Any, **__: Any) -> None:
    return None


class Nothing:
    """A part that is switched off: every method does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing


class SortedNames(set[str]):
    """A set that is walked through in one order."""

    def __iter__(self) -> Any:
        return iter(sorted(super().__iter__()))

    def union(self, *others: Any) -> Any:
        return SortedNames(super().union(*others))


class HostBuffer:
    """Memory that host and device share: here all of it is the host's."""

    def __init__(self, size: Any, dtype: Any) -> None:
        self.cpu = torch.zeros(size, dtype=dtype)
        self.np = self.cpu.numpy()
        self._uva = self.cpu
        if not hasattr(buffer_utils, "NonUvaBuffer"):  # until 0.28 no method
            self.uva: Any = self.cpu

    def uva(self, n: int | None = None) -> Any:
        return self.cpu if n is None else self.cpu[:n]


def copied(x: Any, out: Any = None, device: Any = None) -> Any:
    x = torch.as_tensor(x)
    return x.clone() if out is None else out.copy_(x)


class Model:
    """Layers with a conv window and a temporal state each; the forward pass is left out."""

    def __call__(self, **_: Any) -> Any:
        return torch.zeros(1)

    def get_mamba_state_copy_func(self) -> Any:
        return COPY_FUNCS

    def get_mamba_state_copy_funcs(self, types: Any) -> Any:
        return {kind: COPY_FUNCS for kind in types}

    def compute_logits(self, *_: Any) -> None:
        return None


class States:
    """The state tensors. Before a launch every position says where it is, so that what a block
    holds afterwards says where it came from."""

    def __init__(self, config: dict[str, Any], cache: Any) -> None:
        self.width = CONV_KERNEL - 1 + config["num_spec_tokens"]
        self.groups: dict[int, tuple[Any, Any]] = {}
        self.context: dict[str, Any] = {}
        blocks = cache.num_blocks
        positions = torch.arange(blocks * self.width, dtype=torch.int32)
        self.conv_before = positions.reshape(blocks, self.width, 1)
        self.temporal_before = torch.arange(blocks, dtype=torch.int32).reshape(blocks, 1)
        for number, group in enumerate(cache.kv_cache_groups):
            if isinstance(group.kv_cache_spec, MambaSpec):
                group.kv_cache_spec = replace(
                    group.kv_cache_spec, shapes=((self.width, 1), (1,)),
                    dtypes=(torch.int32, torch.int32))
                states = (self.conv_before.clone(), self.temporal_before.clone())
                self.groups[number] = states
                for name in group.layer_names:
                    self.context[name] = SimpleNamespace(kv_cache=list(states))

    def moved(self) -> list[list[int]]:
        """[group, destination, source of the temporal state, source of the conv window, its first
        position] of each block that is not as before; then all are as before."""
        found = []
        for group, (conv, temporal) in self.groups.items():
            changed = (conv != self.conv_before).flatten(1).any(1)
            changed |= (temporal != self.temporal_before).flatten(1).any(1)
            for block in changed.nonzero().flatten().tolist():
                first = int(conv[block, 0, 0])
                source, position = divmod(first, self.width)
                self.check_window(conv, block, first, position)
                found.append([group, block, int(temporal[block, 0]), source, position])
            conv.copy_(self.conv_before)
            temporal.copy_(self.temporal_before)
        return found

    # The positions from the source's on, then what the block held there.
    def check_window(self, conv: Any, block: int, first: int, position: int) -> None:
        taken = self.width - position
        expected = list(range(first, first + taken))
        expected += self.conv_before[block, taken:, 0].tolist()
        assert conv[block, :, 0].tolist() == expected, "a conv window is copied in another way"


class Runner(model_runner.GPUModelRunner):
    """The attributes that the methods used here read; nothing of the model is made."""

    main_stream = None
    dp_size = 1
    dp_rank = 0

    def __init__(self, config: dict[str, Any], given: Any, cache: Any) -> None:
        self.config = config
        self.device = CPU
        self.vllm_config = given
        complete(given, config, cache)
        for name in ("model_config", "cache_config", "scheduler_config", "parallel_config",
                     "compilation_config", "observability_config", "speculative_config"):
            setattr(self, name, getattr(given, name))
        self.kv_cache_config = cache
        self.states = States(config, cache)
        given.compilation_config.static_forward_context = self.states.context
        self.max_num_reqs = config["max_num_seqs"]
        self.max_num_tokens = config["max_num_batched_tokens"] + 64
        self.max_model_len = config["max_model_len"]
        self.num_speculative_steps = config["num_spec_tokens"]
        self.decode_query_len = 1 + self.num_speculative_steps
        self.model = Model()
        self.lora_config = self.encoder_cache = self.pooling_runner = self.pp_handler = None
        self.pcp_manager = self.adaptive_verification = self.aux_output_connector = None
        self.batch_sharder = self.fast_prefill = self.ubatch_runner = self.kv_block_zeroer = None
        self.structured_outputs_worker = self.intermediate_tensors = None
        self.routed_experts_capturer = None
        self.is_first_pp_rank = self.is_last_pp_rank = True
        for name in ("use_pp", "use_dcp", "is_encoder_decoder", "supports_mm_inputs",
                     "uses_inputs_embeds", "use_aux_hidden_state_outputs", "check_ep_fault",
                     "is_pooling_model", "is_encoder_only", "routed_experts_initialized"):
            setattr(self, name, False)
        self.dcp_size, self.dcp_rank, self.cp_interleave = 1, 0, 1
        self._draft_workspace_lane = 0
        self.output_copy_stream = None
        for name in ("lora_state", "prompt_logprobs_worker", "draft_tokens_handler", "eplb",
                     "step_timing", "kv_connector", "ec_connector", "cudagraph_manager"):
            setattr(self, name, Nothing())
        self.kv_caches: list[Any] = []
        self.attn_groups: list[list[Any]] = [[] for _ in cache.kv_cache_groups]
        off = SimpleNamespace(gpu=None)
        self.sampler = SimpleNamespace(
            add_request=nothing, apply_staged_writes=nothing,
            penalties_state=SimpleNamespace(output_bin_counts=None),
            sampling_states=SimpleNamespace(temperature=off, seeds=off))
        self.speculator = Drafter(self) if self.num_speculative_steps else None
        self.make_buffers()

    def make_buffers(self) -> None:
        sizes = [group["block_size"] for group in self.config["groups"]]
        arguments = dict(
            max_num_reqs=self.max_num_reqs, max_model_len=self.max_model_len + 64,
            max_num_batched_tokens=self.max_num_tokens, device=CPU, vocab_size=2000,
            num_speculative_steps=self.num_speculative_steps, num_prefill_lookahead=1,
            block_sizes=sizes, kernel_block_sizes=sizes, max_num_blocks_per_group=self.columns())
        kind = states.RequestState
        self.req_states = kind(**known_arguments(kind.__init__, arguments))
        kind = block_table.BlockTables
        self.block_tables = kind(**known_arguments(kind.__init__, arguments))
        self.input_buffers = input_batch.InputBuffers(self.max_num_reqs, self.max_num_tokens, CPU)
        self.model_state = mamba_hybrid.MambaHybridModelState(self.vllm_config, self.model, None,
                                                              CPU)
        if hasattr(self.model_state, "initialize_kv_cache"):
            self.model_state.initialize_kv_cache(self.kv_cache_config, self.block_tables)

    def columns(self) -> list[int]:
        drafts = self.num_speculative_steps
        one = self.config["mamba_cache_mode"] == "none"
        return [1 + drafts if group["type"] == "mamba" and one
                else -(-self.max_model_len // group["block_size"]) + 1 + drafts
                for group in self.config["groups"]]

    # -- what needs a GPU or a model --

    def _merge_ec_connector_no_forward(self, *_: Any) -> None:
        return None

    def sample(self, hidden_states: Any, batch: Any, grammar_output: Any) -> Any:
        rows = batch.req_ids
        tokens = torch.full((len(rows), 1 + self.num_speculative_steps), 7, dtype=torch.int64)
        counts = torch.tensor([self.accepted.get(name, 1) for name in rows], dtype=torch.int32)
        sampled, rejected = input_batch.get_num_sampled_and_rejected(
            counts, batch.seq_lens, batch.cu_num_logits, batch.idx_mapping,
            self.req_states.prefill_len.gpu)
        return SimpleNamespace(sampled_token_ids=tokens, num_sampled=sampled), sampled, rejected

    # -- one step --

    def step(self, output: Any) -> dict[str, Any]:
        """What execute_model decides before the forward."""
        output = copy.copy(output)
        output.finished_req_ids = SortedNames(output.finished_req_ids)
        output.new_block_ids_to_zero = None
        RECORD.clear()
        RECORD.runner = self
        self.execute_model(output)
        if not output.total_num_scheduled_tokens:
            return {"rows": []}
        answer = self.described(self.execute_model_state.input_batch)
        answer["uniform"] = int(RECORD.uniform == self.decode_query_len)
        return answer

    def described(self, batch: Any) -> dict[str, Any]:
        number = batch.num_reqs
        slots = batch.idx_mapping_np.tolist()
        metadata = RECORD.metadata
        answer: dict[str, Any] = {
            "rows": list(batch.req_ids), "slots": slots,
            "computed": (batch.seq_lens[:number] - torch.diff(batch.query_start_loc)[:number]
                         ).tolist(),
            "prefilling": metadata.is_prefilling[:number].to(torch.int32).tolist(),
            "tables": [table[row, :int(self.block_tables.num_blocks.np[group, slot])].tolist()
                       for row, slot in enumerate(slots)
                       for group, table in enumerate(self.block_tables.input_block_tables)]}
        if self.num_speculative_steps:
            answer["counts"] = metadata.num_accepted_tokens[:number].tolist()
            answer["draft_counts"] = metadata.num_decode_draft_tokens_cpu[:number].tolist()
        if self.config["mamba_cache_mode"] == "align":
            columns = self.model_state._mamba_state_idx_gpu[slots].tolist()
            sources = self.model_state._mamba_src_col_gpu[slots].tolist()
            biases = self.model_state._mamba_src_off_gpu[slots].tolist()
            answer["columns"] = columns
            answer["copies"] = [[row, source, column, bias] for row, (source, column, bias)
                                in enumerate(zip(sources, columns, biases))
                                if source not in (-1, column)]
            answer["moved"] = self.states.moved()
        return answer

    def lost_drafts(self, _: Any) -> set[str]:
        return set()

    def sampled(self, _: Any, accepted: dict[str, int]) -> dict[str, Any]:
        """What sample_tokens leaves behind."""
        self.accepted = accepted
        slots = self.execute_model_state.input_batch.idx_mapping_np.tolist()
        self.sample_tokens(None)
        answer = {"after": self.model_state.num_accepted_tokens_gpu[slots].tolist()}
        if self.config["mamba_cache_mode"] == "align":
            answer["moved_after"] = self.states.moved()
        return answer


class Drafter:
    supports_mm_inputs = False
    draft_logits = None

    def __init__(self, runner: Runner) -> None:
        self.drafts = runner.num_speculative_steps

    def propose(self, batch: Any, *_: Any, **__: Any) -> Any:
        return torch.full((batch.num_reqs, self.drafts), 900, dtype=torch.int64)


def complete(given: Any, config: dict[str, Any], cache: Any) -> None:
    """What the runner asks of VllmConfig beyond the scheduler."""
    given.compilation_config = SimpleNamespace(static_forward_context={})
    given.cache_config.block_size = config["cache_block_size"]
    given.cache_config.mamba_block_size = next(
        group.kv_cache_spec.block_size for group in cache.kv_cache_groups
        if isinstance(group.kv_cache_spec, MambaSpec))
    for name in ("use_kda_recoverssm", "use_replayssm"):
        setattr(given.cache_config, name, False)
    model = given.model_config
    model.get_inputs_embeds_size = lambda: 8
    model.dtype, model.rswa_window, model.uses_xdrope_dim = torch.float16, None, 0
    model.enable_prompt_embeds, model.enforce_eager = False, True
    given.observability_config.cudagraph_metrics = False


class Record:
    """What was handed to functions that are left out."""

    runner: Any
    uniform: int | None
    metadata: Any

    def clear(self) -> None:
        self.uniform = self.metadata = None

    def dispatched(self, manager: Any, num_reqs: int, num_tokens: int, uniform: int | None,
                   *_: Any, **__: Any) -> Any:
        self.uniform = uniform
        return BatchExecutionDescriptor(CUDAGraphMode.NONE, num_tokens, None), None

    def built(self, **given: Any) -> dict[str, Any]:
        self.metadata = given["model_specific_attn_metadata"]
        return {}


RECORD = Record()


def check_columns(context: Any, num_reqs: int, _: Any, columns: Any, biases: Any,
                  slots: Any) -> None:
    """Beyond its table vllm reads memory of something else (known bug 11)."""
    width = context.block_table_stride_req
    chosen = slots[:num_reqs]
    if (columns[chosen] + biases[chosen]).max() >= width:
        raise IndexError("a state column outside of the block table")


def check_before_copies() -> None:
    kind = mamba_utils.MambaSpecDecodeGPUContext
    precopy = getattr(kind, "run_fused_precopy", None)  # 0.24: runner V2 has no copies

    def checked(context: Any, *given: Any) -> None:
        check_columns(context, *given)
        precopy(context, *given)

    kind.run_fused_precopy = checked


def start() -> None:
    check_before_copies()
    mamba_utils._TEMPORAL_TILES = 1  # one program a state of a row
    if not os.environ.get("VLLM_DRIVER_TRITON"):
        replace_kernels([block_table, buffer_utils, input_batch, mamba_hybrid, mamba_utils])
    buffer_utils.is_uva_available = lambda: True
    buffer_utils.UvaBuffer = HostBuffer
    for module in (buffer_utils, model_runner, states, block_table):
        if hasattr(module, "async_copy_to_gpu"):
            module.async_copy_to_gpu = copied
    model_runner.dispatch_cg_and_sync_dp = RECORD.dispatched
    model_runner.set_forward_context = lambda *_, **__: nullcontext()
    model_runner.build_slot_mappings_by_layer = nothing
    model_runner.AsyncOutput = nothing
    model_runner.prepare_prefill_inputs = nothing
    model_runner.combine_sampled_and_draft_tokens = nothing
    mamba_hybrid.build_attn_metadata = RECORD.built
    if hasattr(mamba_hybrid, "CpuGpuBuffer"):
        mamba_hybrid.CpuGpuBuffer = partial(mamba_hybrid.CpuGpuBuffer, pin_memory=False)
    block_table.BlockTables.compute_slot_mappings = lambda *_, **__: torch.zeros(0)
