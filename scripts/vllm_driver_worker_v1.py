"""Runner V1 of the installed release without its model: real InputBatch, _update_states,
_prepare_inputs, state copies and _bookkeeping_sync on CPU tensors. Used by vllm_driver_worker.py.

Stand-ins: the model and its sampler (how many tokens each row accepts is given), drafters, slot
mappings, encoders, connectors and LoRA. The copies of accepted counts to the host land before the
next step moves its rows.
"""

import inspect
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from vllm.model_executor.layers.mamba.mamba_utils import get_temporal_copy_spec
from vllm.v1.kv_cache_interface import MambaSpec
from vllm.v1.worker import block_table as block_tables
from vllm.v1.worker import gpu_input_batch, gpu_model_runner, mamba_utils

CPU = torch.device("cpu")
DRAFT_TOKEN = 900
PLACEHOLDER = -1


class Model:
    """Layers with one recurrent state each."""

    def get_mamba_state_copy_func(self) -> Any:
        return (get_temporal_copy_spec,)

    def get_mamba_state_copy_funcs(self, types: Any) -> Any:
        return {kind: (get_temporal_copy_spec,) for kind in types}


class Event:
    def record(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass


def known_arguments(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in names}


def input_batch(config: dict[str, Any]) -> Any:
    sizes = [group["block_size"] for group in config["groups"]]
    drafts = config["num_spec_tokens"]
    none_mode = config["mamba_cache_mode"] == "none"
    columns = [1 + drafts if group["type"] == "mamba" and none_mode
               else -(-config["max_model_len"] // group["block_size"]) + 1 + drafts
               for group in config["groups"]]
    arguments = dict(
        max_num_reqs=config["max_num_seqs"], max_model_len=config["max_model_len"] + drafts + 1,
        max_num_batched_tokens=config["max_num_batched_tokens"] + 64, device=CPU, vocab_size=2000,
        pin_memory=False, block_sizes=sizes, kernel_block_sizes=sizes,
        max_num_blocks_per_req=columns, num_spec_tokens=drafts, is_pooling_model=False)
    kind = gpu_input_batch.InputBatch
    return kind(**known_arguments(kind.__init__, arguments))


class Runner(gpu_model_runner.GPUModelRunner):
    """The attributes that the methods above read; nothing of the model is made."""

    def __init__(self, config: dict[str, Any], given: Any, cache: Any) -> None:
        self.config = config
        self.device = CPU
        self.vllm_config = given
        self.model_config = given.model_config
        self.cache_config = given.cache_config
        self.scheduler_config = given.scheduler_config
        self.parallel_config = given.parallel_config
        self.speculative_config = given.speculative_config
        self.compilation_config = SimpleNamespace(static_forward_context=states_of(cache))
        self.observability_config = given.observability_config
        self.kv_cache_config = cache
        self.kv_caches: list[Any] = []
        self.lora_config = None
        self.model = Model()
        self.max_num_reqs = config["max_num_seqs"]
        self.max_num_tokens = config["max_num_batched_tokens"] + 64
        self.max_model_len = config["max_model_len"] + config["num_spec_tokens"] + 1
        self.num_spec_tokens = self.prev_num_spec_tokens = config["num_spec_tokens"]
        self.use_async_scheduling = config["async"]
        self.use_async_spec_decode = config["async"] and self.num_spec_tokens > 0
        self.reorder_batch_threshold = 1 + self.num_spec_tokens
        self.uniform_decode_query_len = 1 + self.num_spec_tokens
        self.requests: dict[str, Any] = {}
        self.mamba_state_idx: dict[str, int] = {}
        self.num_prompt_logprobs: dict[str, int] = {}
        self.late_interaction_runner = SimpleNamespace(
            on_requests_finished=lambda *_: None, register_request=lambda *_: None)
        self.encoder_cache: dict[str, Any] = {}
        for name in ("uses_mrope", "uses_xdrope_dim", "is_pooling_model", "enable_prompt_embeds",
                     "is_multimodal_raw_input_only_model", "broadcast_pp_output",
                     "is_mm_prefix_lm", "supports_mm_inputs", "routed_experts_initialized"):
            setattr(self, name, False)
        self._pp_recv_work = self._draft_token_ids = self._mamba_bufs = None
        self._mamba_state_copy_funcs = None
        self.mamba_prev_last_scheduled_idx = None  # of mode all
        self.valid_sampled_token_count_gpu = None
        self.num_accepted_tokens_event = Event() if self.num_spec_tokens else None
        self.copies: list[list[int]] = []
        self.make_buffers()
        self.input_batch = input_batch(config)

    def make_buffers(self) -> None:
        rows, tokens = self.max_num_reqs, self.max_num_tokens
        for name in ("discard_request_mask",):
            setattr(self, name, self._make_buffer(rows, dtype=torch.bool))
        for name in ("num_accepted_tokens", "num_decode_draft_tokens", "num_scheduled_tokens",
                     "prev_positions", "prev_num_draft_tokens"):
            setattr(self, name, self._make_buffer(rows, dtype=torch.int32))
        self.query_start_loc = self._make_buffer(rows + 1, dtype=torch.int32)
        for name in ("input_ids", "req_indices", "query_pos"):
            kind = torch.int32 if name == "input_ids" else torch.int64
            setattr(self, name, self._make_buffer(tokens, dtype=kind))
        self.arange_np = np.arange(max(rows + 1, self.max_model_len, tokens), dtype=np.int64)
        self._arange_scratch = np.empty(tokens, dtype=np.int64)
        self.positions = torch.zeros(tokens, dtype=torch.int64)
        self.seq_lens = torch.zeros(rows, dtype=torch.int32)
        self.num_computed_tokens = torch.zeros(rows, dtype=torch.int32)
        self.optimistic_seq_lens_cpu = torch.zeros(rows, dtype=torch.int32)

    # -- what needs a GPU or a model --

    def _make_buffer(self, *size: Any, dtype: Any, numpy: bool = True) -> Any:
        kind = mamba_utils.CpuGpuBuffer
        return kind(*size, **known_arguments(kind.__init__, dict(
            dtype=dtype, device=CPU, pin_memory=False, with_numpy=numpy)))

    def _zero_block_ids(self, block_ids: Any) -> None:
        pass

    def _process_encoder_cache_scheduler_output(self, output: Any) -> None:
        pass

    def _on_request_state_removed(self, *_: Any) -> None:
        pass

    def _get_prompt_logprobs_dict(self, *_: Any) -> dict[str, Any]:
        return {}

    def _get_valid_sampled_token_count(self) -> list[int]:
        return self.valid_counts

    def get_model(self) -> Any:
        return self.model

    # -- one step --

    def step(self, output: Any) -> dict[str, Any]:
        """What execute_model decides before the forward."""
        self.copies = []
        correct = self._update_states(output)
        rows = list(self.input_batch.req_ids)
        if not output.total_num_scheduled_tokens:
            return {"rows": []}
        tokens = np.array([output.num_scheduled_tokens[name] for name in rows], dtype=np.int32)
        self._prepare_inputs(output, tokens)
        uniform = self._is_uniform_decode(
            **known_arguments(self._is_uniform_decode, dict(
                max_num_scheduled_tokens=int(tokens.max()), num_tokens=int(tokens.sum()),
                uniform_decode_query_len=self.uniform_decode_query_len, num_reqs=len(rows))))
        if correct and self.cache_config.mamba_cache_mode == "align":
            correct()
            correct = None
        if self.cache_config.mamba_cache_mode == "align":
            self.pre_copy(output, len(rows))
        answer = self.described(output, rows)
        answer["uniform"] = int(uniform)
        if correct:
            correct()
        return answer

    def pre_copy(self, output: Any, num_reqs: int) -> None:
        bufs = self._get_mamba_bufs()
        if bufs.postprocess_align is not None and bufs.postprocess_align.is_initialized:
            bufs.postprocess_align.num_states = 1
        before = dict(self.mamba_state_idx)
        counts = self.input_batch.num_accepted_tokens_cpu[:num_reqs].copy()
        preprocess = mamba_utils.preprocess_mamba
        funcs = (self._get_mamba_state_copy_funcs()
                 if hasattr(gpu_model_runner.GPUModelRunner, "_get_mamba_state_copy_funcs")
                 else self.model.get_mamba_state_copy_func())
        context = self.compilation_config.static_forward_context
        more = known_arguments(preprocess, {"align_ctx": bufs.postprocess_align})
        preprocess(output, self.kv_cache_config, self.cache_config, self.mamba_state_idx,
                   self.input_batch, self.requests, context, funcs, bufs.preprocess, **more)
        self.note_copies(output, before, counts)
        self.num_accepted_tokens.np[:num_reqs] = self.input_batch.num_accepted_tokens_cpu[:num_reqs]
        self.num_accepted_tokens.copy_to_gpu(num_reqs)
        if bufs.postprocess_align is not None:
            mamba_utils.stage_postprocess_inputs_to_gpu(
                bufs.postprocess_align, output, self.input_batch.req_ids, num_reqs, self.requests,
                self.mamba_state_idx)

    # Rows whose column changed: a copy from the old one, as far as the count reached beyond it.
    def note_copies(self, output: Any, before: dict[str, int], counts: Any) -> None:
        gone = set(output.finished_req_ids) | set(output.preempted_req_ids or ())
        gone |= set(output.scheduled_cached_reqs.resumed_req_ids)
        block = next(g["block_size"] for g in self.config["groups"] if g["type"] == "mamba")
        for row, name in enumerate(self.input_batch.req_ids):
            old = None if name in gone else before.get(name)
            if old is None:
                old = (self.requests[name].num_computed_tokens - 1) // block
            new = self.mamba_state_idx[name]
            if old not in (-1, new):
                self.copies.append([row, old, new, int(counts[row]) - 1])

    def described(self, output: Any, rows: list[str]) -> dict[str, Any]:
        number = len(rows)
        computed = self.input_batch.num_computed_tokens_cpu[:number]
        answer = {
            "rows": rows, "computed": self.num_computed_tokens[:number].tolist(),
            # As _build_attention_metadata has it.
            "prefilling": (computed < self.input_batch.num_prompt_tokens[:number]).astype(
                int).tolist(),
            "copies": self.copies,
            "tables": [self.input_batch.block_table[g].get_numpy_array()[
                row, :self.input_batch.block_table[g].num_blocks_per_row[row]].tolist()
                for row in range(number) for g in range(len(self.config["groups"]))]}
        if self.passes_counts(output):
            answer["counts"] = self.num_accepted_tokens.gpu[:number].tolist()
            answer["draft_counts"] = self.num_decode_draft_tokens.np[:number].tolist()
        if self.cache_config.mamba_cache_mode == "align":
            answer["columns"] = [self.mamba_state_idx[name] for name in rows]
        return answer

    # execute_model hands them on if use_spec_decode.
    def passes_counts(self, output: Any) -> bool:
        source = inspect.getsource(gpu_model_runner.GPUModelRunner.execute_model)
        always = "use_spec_decode = self.speculative_config is not None" in source
        return bool(self.speculative_config if always else output.scheduled_spec_decode_tokens)

    def lost_drafts(self, output: Any) -> set[str]:
        """Rows whose drafts are placeholders, as _prepare_input_ids left them."""
        lost = set()
        for row, name in enumerate(self.input_batch.req_ids):
            drafts = len(output.scheduled_spec_decode_tokens.get(name, ()))
            end = int(self.query_start_loc.np[row + 1])
            if drafts and (self.input_ids.gpu[end - drafts:end] == PLACEHOLDER).any():
                lost.add(name)
        return lost

    def sampled(self, output: Any, accepted: dict[str, int]) -> dict[str, list[int]]:
        """What sample_tokens leaves behind; the counts that the next step may find."""
        rows = list(self.input_batch.req_ids)
        width = 1 + self.num_spec_tokens
        tokens = torch.full((len(rows), width), -1, dtype=torch.int64)
        for row, name in enumerate(rows):
            tokens[row, :accepted.get(name, 1)] = 7
        self._update_states_after_model_execute(tokens, output)
        self.input_batch.prev_sampled_token_ids = None
        discarded = self.discard_request_mask.np[:len(rows)]
        self.valid_counts = [0 if discarded[row] else accepted.get(name, 1)
                             for row, name in enumerate(rows)]
        if self.use_async_spec_decode:
            self.valid_sampled_token_count_gpu = torch.tensor(self.valid_counts, dtype=torch.int32)
        if self.use_async_scheduling:
            self.input_batch.prev_sampled_token_ids = torch.full((len(rows), 1), 7,
                                                                 dtype=torch.int32)
        if self.num_spec_tokens:
            self._draft_token_ids = torch.full((len(rows), self.num_spec_tokens), DRAFT_TOKEN,
                                               dtype=torch.int32)
        sampled = SimpleNamespace(sampled_token_ids=tokens.to(torch.int32), logprobs_tensors=None)
        self._bookkeeping_sync(output, sampled, None, torch.zeros(1),
                               output.total_num_scheduled_tokens, *self.more_bookkeeping())
        return {"after": self.input_batch.num_accepted_tokens_cpu[:len(rows)].tolist()}

    def more_bookkeeping(self) -> list[Any]:
        names = list(inspect.signature(self._bookkeeping_sync).parameters)
        return [None] * (len(names) - 5)

    def _to_list(self, sampled: Any) -> list[list[int]]:
        return sampled.tolist()

    @contextmanager
    def synchronize_input_prep(self) -> Any:
        yield


def states_of(cache: Any) -> dict[str, Any]:
    layers = {}
    for group in cache.kv_cache_groups:
        if isinstance(group.kv_cache_spec, MambaSpec):
            for name in group.layer_names:
                states = torch.zeros((cache.num_blocks, 1, 8), dtype=torch.float16)
                layers[name] = SimpleNamespace(kv_cache=[states])
    return layers


def start() -> None:
    # The bytes that are copied do not matter here: one program a row of a launch is enough.
    context = mamba_utils.MambaSpecDecodeGPUContext
    context.run_fused_precopy = lambda *_, **__: None
    mamba_utils.do_mamba_copy_block = lambda *_: None
    mamba_utils._TEMPORAL_TILES = 1
    pipeline = SimpleNamespace(is_last_rank=True, is_first_rank=True, world_size=1)
    gpu_model_runner.get_pp_group = lambda: pipeline
    block_tables.MultiGroupBlockTable.compute_slot_mapping = lambda *_, **__: None
