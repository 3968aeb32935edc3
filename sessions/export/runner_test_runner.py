

CPU = torch.device("cpu")
DRAFTS = CONFIG["num_speculative_tokens"]
ALIGN = CONFIG["mamba_cache_mode"] == "align"
WINDOW = CONFIG["conv_kernel"] - 1  # tokens that a row reads from a conv state
TOKEN, DRAFT, PLACEHOLDER = 7, 9, -1


def make_group(number, group):
    if group["type"] == "full_attention":
        spec = FullAttentionSpec(
            block_size=group["block_size"], num_kv_heads=1, head_size=1, dtype=torch.float32
        )
    else:
        spec = MambaSpec(
            block_size=group["block_size"],
            shapes=((WINDOW + DRAFTS, 2), (1, 2)),
            dtypes=(torch.float32, torch.float32),
            mamba_cache_mode=CONFIG["mamba_cache_mode"],
            num_speculative_blocks=group["num_speculative_blocks"],
            **known_arguments(
                MambaSpec,
                num_prefill_checkpoint_blocks=group["num_prefill_checkpoint_blocks"],
                prefill_checkpoint_alignment=group["prefill_checkpoint_alignment"],
            ),
        )
    return KVCacheGroupSpec([f"layer{number}"], spec)


def make_states():
    """A layer a recurrent group: conv states and temporal states, a block each."""
    blocks = CONFIG["num_blocks"]
    return {
        f"layer{number}": SimpleNamespace(
            kv_cache=[torch.zeros(blocks, WINDOW + DRAFTS, 2), torch.zeros(blocks, 1, 2)]
        )
        for number, group in enumerate(GROUPS)
        if group["type"] == "mamba"
    }


def make_batch():
    sizes = [group["block_size"] for group in GROUPS]
    columns = [
        1 + DRAFTS
        if group["type"] == "mamba" and CONFIG["mamba_cache_mode"] == "none"
        else -(-CONFIG["max_model_len"] // group["block_size"]) + 2 + DRAFTS
        for group in GROUPS
    ]
    return InputBatch(
        **known_arguments(
            InputBatch.__init__,
            max_num_reqs=CONFIG["max_num_seqs"],
            max_model_len=CONFIG["max_model_len"] + DRAFTS + 1,
            max_num_batched_tokens=CONFIG["max_num_batched_tokens"] + 64,
            device=CPU,
            vocab_size=100,
            pin_memory=False,
            block_sizes=sizes,
            kernel_block_sizes=sizes,
            max_num_blocks_per_req=columns,
            num_spec_tokens=DRAFTS,
            num_speculative_tokens=DRAFTS,
            is_pooling_model=False,
        )
    )


class Model:
    """Layers with a conv state and a temporal state each."""

    def get_mamba_state_copy_func(self):
        return (get_conv_copy_spec, get_temporal_copy_spec)

    def get_mamba_state_copy_funcs(self, types):
        return {one: self.get_mamba_state_copy_func() for one in types}


class Runner(gpu_model_runner.GPUModelRunner):
    """GPUModelRunner with the attributes that its own methods read here, on CPU tensors. Left out:
    model, sampler, drafter, metadata builders, CUDA graphs and slot mappings."""

    def __init__(self):
        speculative = SimpleNamespace(
            method=CONFIG["method"],
            num_speculative_tokens=DRAFTS,
            parallel_drafting=False,
            use_eagle=lambda: CONFIG["method"] == "mtp",
            uses_draft_model=lambda: CONFIG["method"] == "draft_model",
            use_ngram_gpu=lambda: False,
            use_dflash=lambda: False,
            use_dspark=lambda: False,
        )
        self.device = CPU
        self.model_config = SimpleNamespace(
            max_model_len=CONFIG["max_model_len"], is_hybrid=True, is_encoder_decoder=False,
            uses_mrope=False, is_diffusion=False, enable_return_routed_experts=False,
        )
        self.cache_config = SimpleNamespace(
            mamba_cache_mode=CONFIG["mamba_cache_mode"], enable_prefix_caching=ALIGN,
            block_size=CONFIG["block_size"], mamba_block_size=CONFIG["block_size"],
        )
        self.scheduler_config = SimpleNamespace(
            max_num_seqs=CONFIG["max_num_seqs"],
            max_num_batched_tokens=CONFIG["max_num_batched_tokens"],
            async_scheduling=CONFIG["async_scheduling"],
        )
        self.parallel_config = SimpleNamespace(
            pipeline_parallel_size=1, decode_context_parallel_size=1,
            prefill_context_parallel_size=1, data_parallel_size=1, tensor_parallel_size=1,
        )
        self.speculative_config = speculative if DRAFTS else None
        self.lora_config = None
        self.vllm_config = SimpleNamespace(
            model_config=self.model_config, cache_config=self.cache_config,
            scheduler_config=self.scheduler_config, parallel_config=self.parallel_config,
            speculative_config=self.speculative_config, num_speculative_tokens=DRAFTS,
        )
        self.compilation_config = SimpleNamespace(static_forward_context=make_states())
        self.kv_cache_config = KVCacheConfig(
            num_blocks=CONFIG["num_blocks"],
            kv_cache_tensors=[],
            kv_cache_groups=[make_group(number, group) for number, group in enumerate(GROUPS)],
        )
        self.model = Model()
        self.kv_caches = []
        self.max_num_reqs = CONFIG["max_num_seqs"]
        self.max_num_tokens = CONFIG["max_num_batched_tokens"] + 64
        self.max_model_len = CONFIG["max_model_len"] + DRAFTS + 1
        self.num_spec_tokens = self.prev_num_spec_tokens = DRAFTS
        self.use_async_scheduling = CONFIG["async_scheduling"]
        self.use_async_spec_decode = CONFIG["async_scheduling"] and DRAFTS > 0
        self.reorder_batch_threshold = self.uniform_decode_query_len = 1 + DRAFTS
        self.requests = {}
        self.mamba_state_idx = {}
        self.num_prompt_logprobs = {}
        self.encoder_cache = {}
        self.late_interaction_runner = SimpleNamespace(
            on_requests_finished=lambda *_: None, register_request=lambda *_: None
        )
        for name in (
            "uses_mrope", "uses_xdrope_dim", "is_pooling_model", "enable_prompt_embeds",
            "is_multimodal_raw_input_only_model", "broadcast_pp_output", "is_mm_prefix_lm",
            "supports_mm_inputs", "routed_experts_initialized",
        ):
            setattr(self, name, False)
        self._pp_recv_work = self._draft_token_ids = self._mamba_bufs = None
        self._mamba_state_copy_funcs = self.mamba_prev_last_scheduled_idx = None
        self.valid_sampled_token_count_gpu = None
        event = SimpleNamespace(record=lambda *_: None, synchronize=lambda: None)
        self.num_accepted_tokens_event = event if DRAFTS else None
        self.make_buffers()
        self.input_batch = make_batch()

    def make_buffers(self):
        rows, tokens = self.max_num_reqs, self.max_num_tokens
        self.discard_request_mask = self._make_buffer(rows, dtype=torch.bool)
        for name in (
            "num_accepted_tokens", "num_decode_draft_tokens", "num_scheduled_tokens",
            "prev_positions", "prev_num_draft_tokens",
        ):
            setattr(self, name, self._make_buffer(rows, dtype=torch.int32))
        self.query_start_loc = self._make_buffer(rows + 1, dtype=torch.int32)
        self.input_ids = self._make_buffer(tokens, dtype=torch.int32)
        self.req_indices = self._make_buffer(tokens, dtype=torch.int64)
        self.query_pos = self._make_buffer(tokens, dtype=torch.int64)
        self.arange_np = np.arange(max(rows + 1, self.max_model_len, tokens), dtype=np.int64)
        self._arange_scratch = np.empty(tokens, dtype=np.int64)
        self.positions = torch.zeros(tokens, dtype=torch.int64)
        for name in ("seq_lens", "num_computed_tokens", "optimistic_seq_lens_cpu"):
            setattr(self, name, torch.zeros(rows, dtype=torch.int32))

    def _make_buffer(self, *size, dtype, numpy=True):
        kind = mamba_utils.CpuGpuBuffer
        return kind(
            *size,
            **known_arguments(
                kind.__init__, dtype=dtype, device=CPU, pin_memory=False, with_numpy=numpy
            ),
        )

    def _zero_block_ids(self, block_ids):
        pass

    def _process_encoder_cache_scheduler_output(self, output):
        pass

    def _on_request_state_removed(self, *_):
        pass

    def _get_prompt_logprobs_dict(self, *_):
        return {}

    def _get_valid_sampled_token_count(self):
        return self.valid_counts

    def _to_list(self, sampled):
        return sampled.tolist()

    def get_model(self):
        return self.model

    @contextmanager
    def synchronize_input_prep(self):
        yield

    def copy_before_the_forward_pass(self, output):
        """What execute_model does in mode align between _prepare_inputs and the model."""
        rows = self.input_batch.num_reqs
        buffers = self._get_mamba_bufs()
        by_type = hasattr(gpu_model_runner.GPUModelRunner, "_get_mamba_state_copy_funcs")
        mamba_utils.preprocess_mamba(
            output, self.kv_cache_config, self.cache_config, self.mamba_state_idx,
            self.input_batch, self.requests, self.compilation_config.static_forward_context,
            self._get_mamba_state_copy_funcs() if by_type else Model().get_mamba_state_copy_func(),
            buffers.preprocess,
            **known_arguments(mamba_utils.preprocess_mamba, align_ctx=buffers.postprocess_align),
        )
        self.num_accepted_tokens.np[:rows] = self.input_batch.num_accepted_tokens_cpu[:rows]
        self.num_accepted_tokens.copy_to_gpu(rows)
        if buffers.postprocess_align is not None:
            mamba_utils.stage_postprocess_inputs_to_gpu(
                buffers.postprocess_align, output, self.input_batch.req_ids, rows, self.requests,
                self.mamba_state_idx,
            )

    def finish(self, output, sampled):
        """What sample_tokens does with the tokens that each row accepted."""
        names = list(self.input_batch.req_ids)
        tokens = torch.full((len(names), 1 + DRAFTS), PLACEHOLDER, dtype=torch.int64)
        for row, name in enumerate(names):
            tokens[row, : sampled[name]] = TOKEN
        self._update_states_after_model_execute(tokens, output)
        discarded = self.discard_request_mask.np[: len(names)]
        self.valid_counts = [
            0 if discarded[row] else sampled[name] for row, name in enumerate(names)
        ]
        self.input_batch.prev_sampled_token_ids = None
        if self.use_async_spec_decode:
            self.valid_sampled_token_count_gpu = torch.tensor(self.valid_counts, dtype=torch.int32)
        if self.use_async_scheduling:
            self.input_batch.prev_sampled_token_ids = torch.full(
                (len(names), 1), TOKEN, dtype=torch.int32
            )
        if DRAFTS:
            self._draft_token_ids = torch.full((len(names), DRAFTS), DRAFT, dtype=torch.int32)
        more = [None] * (len(inspect.signature(self._bookkeeping_sync).parameters) - 5)
        self._bookkeeping_sync(
            output,
            SimpleNamespace(sampled_token_ids=tokens.to(torch.int32), logprobs_tensors=None),
            None, torch.zeros(1), output.total_num_scheduled_tokens, *more,
        )
