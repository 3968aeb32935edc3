

def make_group(number, group):
    if group["type"] == "full_attention":
        spec = FullAttentionSpec(
            block_size=group["block_size"], num_kv_heads=1, head_size=1, dtype=torch.float32
        )
    else:
        spec = MambaSpec(
            block_size=group["block_size"],
            shapes=((1, 1),),
            dtypes=(torch.float32,),
            mamba_cache_mode=CONFIG["mamba_cache_mode"],
            num_speculative_blocks=group["num_speculative_blocks"],
            **known_arguments(
                MambaSpec,
                num_prefill_checkpoint_blocks=group["num_prefill_checkpoint_blocks"],
                prefill_checkpoint_alignment=group["prefill_checkpoint_alignment"],
            ),
        )
    flags = known_arguments(KVCacheGroupSpec, is_eagle_group=group["is_eagle_group"])
    return KVCacheGroupSpec([f"layer{number}"], spec, **flags)


def make_manager():
    groups = [make_group(number, group) for number, group in enumerate(GROUPS)]
    interval = CONFIG["prefix_cache_retention_interval"]
    config = KVCacheConfig(
        num_blocks=CONFIG["num_blocks"],
        kv_cache_tensors=[],
        kv_cache_groups=groups,
        **known_arguments(KVCacheConfig, prefix_cache_retention_interval=interval),
    )
    # Before 0.29.0 the interval is an environment variable.
    variable = {"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": str(interval)}
    with mock.patch.dict(os.environ, {} if interval is None else variable):
        return manager_of(config)


def manager_of(config):
    return KVCacheManager(
        config,
        **known_arguments(
            KVCacheManager.__init__,
            max_model_len=CONFIG["max_model_len"],
            scheduler_block_size=CONFIG["scheduler_block_size"],
            hash_block_size=CONFIG["hash_block_size"],
            enable_caching=CONFIG["enable_prefix_caching"],
            use_eagle=CONFIG["use_eagle_block_drop"],
            num_hash_lookahead_tokens=CONFIG["num_hash_lookahead_tokens"],
            watermark=CONFIG["watermark"],
            enable_mamba_shared_prefix_checkpoint=CONFIG["shared_prefix_checkpoint"],
            enable_mamba_fine_grained_prefix_cache=CONFIG["shared_prefix_checkpoint"],
        ),
    )


def make_request(name):
    told = REQUESTS[name]
    return Request(
        request_id=name,
        prompt_token_ids=told["tokens"][: told["num_prompt_tokens"]],
        sampling_params=SamplingParams(max_tokens=told["max_tokens"]),
        pooling_params=None,
        cache_salt=told["cache_salt"],
        block_hasher=get_request_block_hasher(
            CONFIG["hash_block_size"],
            sha256,
            **known_arguments(
                get_request_block_hasher,
                num_hash_lookahead_tokens=CONFIG["num_hash_lookahead_tokens"],
            ),
        ),
    )


def split(request, row):
    """Scheduler._mamba_block_aligned_split of a scheduler that is nothing but its settings."""
    scheduler = SimpleNamespace(
        cache_config=SimpleNamespace(block_size=CONFIG["block_size"]),
        scheduler_config=SimpleNamespace(
            long_prefill_token_threshold=CONFIG["long_prefill_token_threshold"]
        ),
        block_size=CONFIG["scheduler_block_size"],
        hash_block_size=CONFIG["hash_block_size"],
        max_num_scheduled_tokens=CONFIG["max_num_batched_tokens"],
        use_eagle=CONFIG["use_eagle"],
        use_eagle_block_drop=CONFIG["use_eagle_block_drop"],
        num_hash_lookahead_tokens=CONFIG["num_hash_lookahead_tokens"],
        mamba_partial_cache_hit=CONFIG["stops_inside_blocks"],
        mamba_fine_grained_prefix_cache=CONFIG["shared_prefix_checkpoint"],
        mamba_shared_prefix_checkpoint=CONFIG["shared_prefix_checkpoint"],
        mamba_has_prefill_checkpoint_blocks=CONFIG["has_prefill_checkpoint_blocks"],
        mamba_prefill_checkpoint_alignment=CONFIG["prefill_checkpoint_alignment"],
    )
    return Scheduler._mamba_block_aligned_split(
        scheduler,
        request,
        row["wanted"],
        **known_arguments(
            Scheduler._mamba_block_aligned_split,
            num_new_local_computed_tokens=row["hit"] if row["admitted"] else 0,
            num_external_computed_tokens=0,
            num_uncached_common_prefix_tokens=row["uncached"] if row["admitted"] else 0,
        ),
    )


def blocks_of(manager, request):
    return [
        single.req_to_blocks[request.request_id]
        for single in manager.coordinator.single_type_managers
    ]


def preempt(manager, request):
    manager.free(request)
    request.status = RequestStatus.PREEMPTED


def schedule(manager, request, row, where):
    hit_blocks = None
    hit = 0
    if row["admitted"]:
        request.num_computed_tokens = 0
        found = manager.get_computed_blocks(request)
        hit_blocks, hit = found[:2]
        assert hit == row["hit"], f"{where}: tokens of the prefix hit"
        if len(found) > 2:  # from 0.26.0 on: where the longer prefix ends, 0 if there is none
            request.shared_prefix_boundary = found[2]
            uncached = max(found[2] - hit, 0)
        else:
            uncached = getattr(manager.coordinator, "num_uncached_common_prefix_tokens", None)
        if uncached is not None:
            assert uncached == row["uncached"], f"{where}: tokens behind the hit that a group has"
    else:
        request.num_computed_tokens = row["computed"]
    if CONFIG["mamba_cache_mode"] == "align" and not row["placeholders"]:
        assert split(request, row) == row["scheduled"], f"{where}: tokens after the split"
    allocated = manager.allocate_slots(
        request,
        row["scheduled"],
        hit,
        hit_blocks,
        **known_arguments(
            manager.allocate_slots,
            num_lookahead_tokens=CONFIG["num_lookahead_tokens"],
            full_sequence_must_fit=row["admitted"] and CONFIG["scheduler_reserve_full_isl"],
        ),
    )
    assert allocated is not None, f"{where}: no room for its blocks"
    request.status = RequestStatus.RUNNING
    tables = blocks_of(manager, request)
    blocks = [[block.block_id for block in table] for table in tables]
    assert blocks == row["blocks"], f"{where}: block ids (0: null), a list a group"
    keys = [[key_of(block) for block in table] for table in tables]
    assert keys == row["keys"], f"{where}: tokens that the blocks' hashes cover, a list a group"


def key_of(block):
    """The tokens of the prefix that the block's first hash covers; 0 without a hash."""
    return 0 if block.is_null or block.block_hash is None else block.block_hash_num_tokens


def take_block_copies(manager, step):
    """Copies of blocks that a hit or a prompt shares in part; from 0.26.0 on."""
    if not hasattr(manager, "take_kv_cache_block_copies"):
        return
    copies, retained = manager.take_kv_cache_block_copies()
    copies = [[copy.src_block_id, copy.dst_block_id] for copy in copies]
    assert copies == step["block_copies"], f"step {step['step']}: copies of blocks"
    manager.block_pool.free_blocks(retained)


def test_hits_split_blocks_and_labels():
    init_none_hash(sha256)
    manager = make_manager()
    requests = {}
    for step in STEPS:
        if step["reset_prefix_cache"]:
            if step["reset_running_requests"]:
                for name in step["preempted"]:  # in the scheduler's order
                    preempt(manager, requests[name])
                for request in requests.values():
                    manager.free(request)
            assert manager.reset_prefix_cache()
        for name in step["aborted"]:
            if name in requests:
                manager.free(requests[name])
        for name in step["preempted"]:
            preempt(manager, requests[name])
        if hasattr(manager, "new_step_starts"):
            manager.new_step_starts()
        for row in step["rows"]:
            for name in row["preempts"]:
                preempt(manager, requests[name])
            name = row["request"]
            if name not in requests:
                requests[name] = make_request(name)
            schedule(manager, requests[name], row, f"step {step['step']} {name}")
        for name in step["preempted_last"]:
            preempt(manager, requests[name])
        take_block_copies(manager, step)
        for row in step["rows"]:
            request = requests[row["request"]]
            known = request.num_tokens
            sampled = REQUESTS[row["request"]]["tokens"][known : known + row["sampled"]]
            if sampled:
                request.append_output_token_ids(sampled)
            if row["registered"] is not None:
                manager.cache_blocks(request, row["registered"])
            if row["finished"]:
                manager.free(request)
