"""The scheduler and the cache of the installed release, call by call. Used by vllm_driver.py.

A plan is answered with what the installed Scheduler decided, as one line of a
scheduler_<release>.jsonl. Nothing is modelled here: only the configuration, the model (which tokens
come back), structured output and connectors are stand-ins.

A plan has `id`, `config` and either `calls` (the calls of an existing vector: their inputs are
given again) or what a random run needs: `requests`, `events`, `seed`, `acceptance`, `stop`,
`max_steps`. An answer has `id`, `config`, `calls` and, where vllm raised an exception, `error`
(without `calls`: the configuration was refused).
"""

import hashlib
import os
import random
import traceback
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from vllm import __version__ as RELEASE
from vllm.sampling_params import SamplingParams
from vllm.v1.core import block_pool, kv_cache_utils
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
)
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

VERSION = tuple(int(part) for part in RELEASE.split("+")[0].split(".")[:2])
EAGLE_LIKE = ("mtp", "eagle3")
FIRST_DRAFT_TOKEN = 900
LARGEST_RECORDED_QUEUE = 40
FRAMES_IN_FLIGHT = 2
EMPTY_STEPS_BEFORE_GIVING_UP = 3

# ---- keys that tell how long their prefix is ----

ROOT_KEY = b"root".ljust(32, b"\0")


def length_of_key(key: bytes) -> int:
    return 0 if key == ROOT_KEY else int.from_bytes(key[-4:], "big")


def key_with_length(value: tuple[bytes, tuple[int, ...], Any]) -> bytes:
    """The key of a hash block: a digest, then the length of the prefix that it stands for."""
    parent, tokens, _ = value
    length = length_of_key(parent) + len(tokens)
    return hashlib.sha256(repr(value).encode()).digest()[:28] + length.to_bytes(4, "big")


def split_group_key(key: bytes) -> tuple[int, int]:
    """Group and prefix length of a key of the pool's map: the group is its last four bytes."""
    return int.from_bytes(key[-4:], "big"), length_of_key(key[:-4])


# ---- what happens inside a call ----


class Observer:
    """Notes the keys and lookups of one call; patched into vllm's classes once."""

    def __init__(self) -> None:
        self.scheduler: Any = None
        self.clear()

    def clear(self) -> None:
        self.put: list[list[Any]] = []
        self.moved: list[list[int]] = []
        self.lookups: list[list[Any]] = []
        self.registering: str | None = None
        self.moving = False

    def column(self, request: str, group: int, block: Any) -> int | None:
        managers = self.scheduler.kv_cache_manager.coordinator.single_type_managers
        blocks = managers[group].req_to_blocks.get(request, ())
        return next((i for i, known in enumerate(blocks) if known is block), None)

    def key_put(self, key: bytes, block: Any) -> None:
        if self.moving:
            return
        group, length = split_group_key(key)
        assert self.registering is not None, "a key is registered outside of cache_*_block"
        column = self.column(self.registering, group, block)
        self.put.append([self.registering, group, column, block.block_id, length])

    def looked_up(self, request: Any, answer: tuple[Any, ...], coordinator: Any) -> None:
        blocks, hit = answer[:2]
        if len(answer) > 2:
            junction = answer[2]
        else:
            uncached = getattr(coordinator, "num_uncached_common_prefix_tokens", 0)
            junction = hit + uncached if uncached else 0
        entry: list[Any] = [request.request_id, hit, junction]
        if hit:
            entry.append([[block.block_id for block in group] for group in blocks.blocks])
        self.lookups.append(entry)


OBSERVER = Observer()


def keys_of(pool: Any) -> set[tuple[bytes, int]]:
    """Every key with a block that carries it."""
    return {(key, block)
            for key, blocks in pool.cached_block_hash_to_block._cache.items()
            for block in (blocks if isinstance(blocks, dict) else (blocks.block_id,))}


def observe_map() -> None:
    kind = block_pool.BlockHashToBlockMap
    insert = kind.insert

    def observed(self: Any, key: bytes, block: Any) -> None:
        OBSERVER.key_put(key, block)
        insert(self, key, block)

    kind.insert = observed


def observe_pool() -> None:
    pool = block_pool.BlockPool

    def registering(name: str) -> None:
        original = getattr(pool, name)

        def observed(self: Any, request: Any, *args: Any, **named: Any) -> Any:
            OBSERVER.registering = request.request_id
            try:
                return original(self, request, *args, **named)
            finally:
                OBSERVER.registering = None

        setattr(pool, name, observed)

    registering("cache_full_blocks")
    registering("cache_partial_block")

    if hasattr(pool, "move_block_hashes"):
        move = pool.move_block_hashes

        def observed_move(self: Any, src_block: Any, dst_block: Any) -> None:
            OBSERVER.moved.append([src_block.block_id, dst_block.block_id])
            OBSERVER.moving = True
            try:
                move(self, src_block, dst_block)
            finally:
                OBSERVER.moving = False

        pool.move_block_hashes = observed_move


def observe_lookups() -> None:
    lookup = KVCacheManager.get_computed_blocks

    def observed(self: Any, request: Any, *args: Any, **named: Any) -> Any:
        answer = lookup(self, request, *args, **named)
        OBSERVER.looked_up(request, answer, self.coordinator)
        return answer

    KVCacheManager.get_computed_blocks = observed


# ---- stand-ins of the configuration ----


def group_spec(group: dict[str, Any], config: dict[str, Any]) -> Any:
    if group["type"] == "full":
        return FullAttentionSpec(block_size=group["block_size"], num_kv_heads=1, head_size=8,
                                 dtype=torch.float16)
    named: dict[str, Any] = {}
    if config["num_prefill_checkpoint_blocks"]:
        named = {"num_prefill_checkpoint_blocks": config["num_prefill_checkpoint_blocks"],
                 "prefill_checkpoint_alignment": config["prefill_checkpoint_alignment"]}
    return MambaSpec(block_size=group["block_size"], shapes=((1, 8),), dtypes=(torch.float16,),
                     mamba_cache_mode=config["mamba_cache_mode"],
                     num_speculative_blocks=config["num_spec_tokens"], **named)


def kv_cache_config(config: dict[str, Any]) -> Any:
    groups = [KVCacheGroupSpec([f"layer.{number}"], group_spec(group, config),
                               is_eagle_group=group["is_eagle_group"])
              for number, group in enumerate(config["groups"])]
    made = KVCacheConfig(num_blocks=config["num_blocks"], kv_cache_tensors=[],
                         kv_cache_groups=groups)
    # Until 0.28 an environment variable; later the engine copies the setting to here.
    retention = "VLLM_PREFIX_CACHE_RETENTION_INTERVAL"
    os.environ.pop(retention, None)
    if VERSION >= (0, 29):
        made.prefix_cache_retention_interval = config["retention_interval"]
    elif config["retention_interval"] is not None:
        os.environ[retention] = str(config["retention_interval"])
    return made


def speculative_config(config: dict[str, Any]) -> Any:
    method = config["method"]
    if method is None:
        return None
    eagle = method in EAGLE_LIKE
    drops = eagle and not config["disable_eagle_block_drop"]
    return SimpleNamespace(
        method=method, num_speculative_tokens=config["num_spec_tokens"],
        num_speculative_tokens_per_batch_size=None, parallel_drafting=False,
        max_num_new_slots_for_drafting=config["draft_slots"],
        disable_eagle_block_drop=config["disable_eagle_block_drop"],
        use_eagle=lambda: eagle, needs_eagle_block_drop=lambda: eagle,
        use_eagle_block_drop=lambda: drops, uses_draft_model=lambda: method == "draft_model",
        use_dflash=lambda: False, use_dspark=lambda: False, use_multi_module_mtp=lambda: False,
        use_ngram_gpu=lambda: False)


def vllm_config(config: dict[str, Any]) -> Any:
    frames = FRAMES_IN_FLIGHT if config["async"] else 1
    batched = config["max_num_batched_tokens"]
    # The match unit had another name, the shared-prefix setting too.
    cache = SimpleNamespace(
        block_size=config["block_size"], num_gpu_blocks=config["num_blocks"],
        enable_prefix_caching=config["enable_caching"],
        mamba_cache_mode=config["mamba_cache_mode"], mamba_block_size=config["block_size"],
        prefix_match_unit=config["prefix_match_unit"],
        hash_block_size=config["prefix_match_unit"],
        prefix_cache_retention_interval=config["retention_interval"],
        enable_mamba_fine_grained_prefix_cache=config["shared_prefix_checkpoint"],
        enable_mamba_shared_prefix_checkpoint=config["shared_prefix_checkpoint"])
    scheduler = SimpleNamespace(
        max_num_seqs=config["max_num_seqs"], max_num_active_seqs=None,
        max_num_scheduled_tokens=None, max_num_batched_tokens=batched,
        long_prefill_token_threshold=config["long_prefill_token_threshold"],
        long_prefill_token_threshold_adaptive=False, policy=config["policy"],
        watermark=config["watermark"], scheduler_reserve_full_isl=config["reserve_full_isl"],
        enable_chunked_prefill=config["enable_chunked_prefill"],
        async_scheduling=config["async"], prefill_schedule_interval=1,
        disable_chunked_mm_input=False, disable_hybrid_kv_cache_manager=False)
    model = SimpleNamespace(
        max_model_len=config["max_model_len"], is_encoder_decoder=False, is_diffusion=False,
        uses_mrope=False, runner_type="generate", supports_multimodal_inputs=False,
        enable_return_routed_experts=False, return_sampling_mask=False, is_hybrid=True)
    parallel = SimpleNamespace(
        pipeline_parallel_size=1, decode_context_parallel_size=1,
        prefill_context_parallel_size=1, data_parallel_index=0, data_parallel_size=1,
        data_parallel_rank=0, tensor_parallel_size=1)
    observability = SimpleNamespace(
        kv_cache_metrics=False, kv_cache_metrics_sample=0.0, enable_mfu_metrics=False,
        enable_logging_iteration_details=False, per_request_spec_decode_metrics=None)
    return SimpleNamespace(
        cache_config=cache, scheduler_config=scheduler, model_config=model,
        parallel_config=parallel, observability_config=observability,
        speculative_config=speculative_config(config), lora_config=None, kv_events_config=None,
        kv_transfer_config=None, ec_transfer_config=None, diffusion_config=None,
        ec_manager_config=SimpleNamespace(get_encoder_cache_manager_obj=lambda: None),
        aux_output_config=SimpleNamespace(enabled=False), is_mm_encoder_only=False,
        is_encoder_only=False, max_concurrent_batches=frames,
        max_in_flight_tokens=frames * batched,
        num_speculative_tokens=config["num_spec_tokens"],
        num_lookahead_tokens=config["num_lookahead_tokens"],
        num_prefill_lookahead_tokens=config["num_prefill_lookahead_tokens"],
        num_hash_lookahead_tokens=config["num_hash_lookahead_tokens"],
        use_v2_model_runner=config["runner"] == "v2")


def block_hasher(config: dict[str, Any]) -> Any:
    more = (config["num_hash_lookahead_tokens"],) if VERSION >= (0, 33) else ()
    return kv_cache_utils.get_request_block_hasher(config["hash_block_size"], key_with_length,
                                                   *more)


# ---- one run ----


class Run:
    """One scheduler; every method makes a call and answers with its line of the vector."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = dict(config)
        cache = kv_cache_config(config)
        given = vllm_config(config)
        scheduler_block, hash_block = kv_cache_utils.resolve_kv_cache_block_sizes(cache, given)
        self.config["scheduler_block_size"] = scheduler_block
        self.config["hash_block_size"] = hash_block
        structured_output = SimpleNamespace(should_advance=lambda request, **_: False,
                                            accept_tokens=lambda request, tokens: True,
                                            validate_tokens=lambda request, tokens: tokens)
        kind = AsyncScheduler if config["async"] else Scheduler
        self.scheduler = kind(
            vllm_config=given, kv_cache_config=cache, structured_output_manager=structured_output,
            block_size=scheduler_block, hash_block_size=hash_block, log_stats=False,
            mm_registry=SimpleNamespace(supports_multimodal_inputs=lambda model: False))
        manager = self.scheduler.kv_cache_manager
        self.config["fine"] = bool(getattr(manager.coordinator, "enable_partial_hash_hits", False))
        self.managers = manager.coordinator.single_type_managers
        self.pool = manager.block_pool
        self.hasher = block_hasher(self.config)
        self.frames: dict[int, Any] = {}
        self.sampling_rows: dict[int, dict[str, int]] = {}
        self.steps = 0
        self.keys: set[tuple[bytes, int]] = set()
        self.before: dict[str, Any] = {"tables": {}, "req": {}}
        OBSERVER.scheduler = self.scheduler
        OBSERVER.clear()

    # -- the state after a call --

    def tables(self) -> dict[str, Any]:
        ids = {request for manager in self.managers for request in manager.req_to_blocks}
        tables = {}
        for request in sorted(ids):
            table = [[block.block_id for block in manager.req_to_blocks.get(request, ())]
                     for manager in self.managers]
            if any(table):
                tables[request] = table
        return tables

    def requests(self) -> dict[str, Any]:
        known = {}
        for name, request in self.scheduler.requests.items():
            counts = [request.num_computed_tokens, request.num_tokens,
                      request.num_output_placeholders,
                      getattr(request, "num_in_flight_tokens", 0),
                      getattr(request, "num_stale_output_tokens", 0)]
            while len(counts) > 2 and counts[-1] == 0:
                counts.pop()
            known[name] = counts
        return known

    def waiting(self) -> Any:
        first = [request.request_id for request in self.scheduler.waiting]
        for name in ("skipped_waiting", "kv_holding_waiting"):
            second = [request.request_id for request in getattr(self.scheduler, name, ())]
            if second:
                return {"waiting": first, name: second}
        return first

    def free_queue(self) -> list[int]:
        return [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]

    def changes(self, with_queue: bool) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        after: dict[str, Any] = {"tables": self.tables(), "req": self.requests()}
        for name in ("tables", "req"):
            old, new = self.before[name], after[name]
            different = {key: new.get(key) for key in {**old, **new}
                         if old.get(key) != new.get(key)}
            if different:
                changed[name] = different
        after["running"] = [request.request_id for request in self.scheduler.running]
        after["waiting"] = self.waiting()
        after["free"] = self.pool.get_num_free_blocks()
        names = ["running", "waiting", "free"]
        if with_queue and self.config["num_blocks"] <= LARGEST_RECORDED_QUEUE:
            after["free_queue"] = self.free_queue()
            names.append("free_queue")
        for name in names:
            if self.before.get(name) != after[name]:
                changed[name] = after[name]
        self.before.update(after)
        return changed

    def finish(self, call: dict[str, Any]) -> dict[str, Any]:
        for name in ("put", "moved"):
            if getattr(OBSERVER, name):
                call[name] = getattr(OBSERVER, name)
        OBSERVER.clear()
        # A key that left a block and came back within the call is not gone.
        keys = keys_of(self.pool)
        gone = sorted([block, *split_group_key(key)] for key, block in self.keys - keys)
        if gone:
            call["gone"] = gone
        self.keys = keys
        call.update(self.changes(with_queue=call["op"] != "add"))
        return call

    # -- the calls --

    def add(self, given: dict[str, Any]) -> dict[str, Any]:
        tokens = [token for first, length in given["prompt"]
                  for token in range(first, first + length)]
        params = SamplingParams(max_tokens=given["max_tokens"], temperature=0.0,
                                stop_token_ids=[self.config["stop_token"]])
        self.scheduler.add_request(
            Request(request_id=given["id"], prompt_token_ids=tokens, sampling_params=params,
                    pooling_params=None, arrival_time=given["arrival"],
                    priority=given["priority"], block_hasher=self.hasher))
        names = ("id", "prompt", "max_tokens", "priority", "arrival")
        return self.finish({"op": "add", **{name: given[name] for name in names}})

    def abort(self, name: str) -> dict[str, Any]:
        self.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        return self.finish({"op": "abort", "id": name})

    def reset(self, running: bool) -> dict[str, Any]:
        result = self.scheduler.reset_prefix_cache(reset_running_requests=running)
        return self.finish({"op": "reset", "reset_running_requests": running,
                            "result": bool(result)})

    def schedule(self) -> dict[str, Any]:
        output = self.scheduler.schedule()
        self.steps += 1
        self.frames[self.steps] = output
        call: dict[str, Any] = {"op": "schedule", "step": self.steps}
        if OBSERVER.lookups:
            call["lookups"] = OBSERVER.lookups
        call["rows"] = self.rows(output)
        call.update(self.reported(output))
        self.sampling_rows[self.steps] = {
            name: 0 if padded else drafts for name, _, _, drafts, padded in call["rows"]
            if not self.scheduler.requests[name].is_prefill_chunk}
        return self.finish(call)

    def rows(self, output: Any) -> list[list[Any]]:
        cached = output.scheduled_cached_reqs
        computed = {new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs}
        admitted = set(computed) | set(cached.resumed_req_ids)
        computed.update(zip(cached.req_ids, cached.num_computed_tokens))
        rows = []
        for name, tokens in output.num_scheduled_tokens.items():
            drafts = len(output.scheduled_spec_decode_tokens.get(name, ()))
            rows.append([name, computed[name], tokens, drafts,
                         int(drafts > 0 and name in admitted)])
        return rows

    def reported(self, output: Any) -> dict[str, Any]:
        cached = output.scheduled_cached_reqs
        blocks = {new.req_id: new.block_ids for new in output.scheduled_new_reqs}
        blocks.update(zip(cached.req_ids, cached.new_block_ids))
        copies = getattr(output, "kv_cache_block_copies", None) or ()
        common = list(getattr(output, "num_common_prefix_blocks", None) or ())
        found = {
            "new_blocks": {name: [list(group) for group in groups]
                           for name, groups in blocks.items() if groups is not None},
            "new": [new.req_id for new in output.scheduled_new_reqs],
            "resumed": sorted(cached.resumed_req_ids),
            "preempted": sorted(output.preempted_req_ids or ()),
            "finished": sorted(output.finished_req_ids),
            "copies": [[copy.src_block_id, copy.dst_block_id] for copy in copies],
            "zero": list(output.new_block_ids_to_zero or ()),
            "common_prefix": common if any(common) else [],
            "checkpoints": self.checkpoints(output),
            "skip_drafts": self.skips_drafts(output),
        }
        return {name: value for name, value in found.items() if value}

    def checkpoints(self, output: Any) -> dict[str, list[int]]:
        state = next(manager for manager in self.managers
                     if isinstance(manager.kv_cache_spec, MambaSpec))
        held = getattr(state, "_checkpoints", {})
        return {name: list(held[name]) for name in output.num_scheduled_tokens if name in held}

    def skips_drafts(self, output: Any) -> bool:
        return bool(getattr(output, "skip_drafts", False))

    def update(self, step: int, sampled: dict[str, list[int]]) -> dict[str, Any]:
        output = self.frames.pop(step)
        names = list(output.num_scheduled_tokens)
        answer = ModelRunnerOutput(
            req_ids=names, req_id_to_index={name: row for row, name in enumerate(names)},
            sampled_token_ids=[list(sampled.get(name, ())) for name in names])
        outputs = self.scheduler.update_from_output(output, answer)
        call: dict[str, Any] = {"op": "update", "step": step}
        if sampled:
            call["sampled"] = sampled
        out = {one.request_id: [len(one.new_token_ids),
                                None if one.finish_reason is None else str(one.finish_reason)]
               for client in outputs.values() for one in client.outputs}
        if out:
            call["out"] = out
        return self.finish(call)

    def drafts(self, given: dict[str, int]) -> dict[str, Any]:
        tokens = [list(range(FIRST_DRAFT_TOKEN, FIRST_DRAFT_TOKEN + count))
                  for count in given.values()]
        self.scheduler.update_draft_token_ids(DraftTokenIds(list(given), tokens))
        stored = {name: len(request.spec_token_ids)
                  for name, request in self.scheduler.requests.items() if request.spec_token_ids}
        return self.finish({"op": "drafts", "drafts": given, "stored": stored})


# ---- who makes the calls ----


class Replay:
    """Makes the calls of an existing vector again."""

    def __init__(self, run: Run, plan: dict[str, Any]) -> None:
        self.run = run
        self.calls = plan["calls"]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for call in self.calls:
            match call["op"]:
                case "add":
                    yield self.run.add(call)
                case "abort":
                    yield self.run.abort(call["id"])
                case "reset":
                    yield self.run.reset(call["reset_running_requests"])
                case "schedule":
                    yield self.run.schedule()
                case "update":
                    yield self.run.update(call["step"], call.get("sampled", {}))
                case "drafts":
                    yield self.run.drafts(call["drafts"])


class Play:
    """Makes the calls of a plan as the engine core would: what arrives comes between its steps,
    and an abort may also come while a frame is on the device. What the model samples depends on
    the request and the step only, so that a plan without some of its events stays alike."""

    def __init__(self, run: Run, plan: dict[str, Any]) -> None:
        self.run = run
        self.plan = plan
        self.requests = {request["id"]: request for request in plan["requests"]}
        self.in_flight: deque[int] = deque()
        self.empty_steps = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for event in self.plan["events"]:
            match event:
                case ["add", name]:
                    yield self.run.add(self.requests[name])
                case ["abort", name] if name in self.run.scheduler.requests:
                    yield self.run.abort(name)
                case ["reset", running]:
                    yield self.run.reset(running)
                case ["step", *aborted]:
                    yield from self.step(aborted)
        while self.busy() and self.run.steps < self.plan["max_steps"]:
            yield from self.step([])

    def busy(self) -> bool:
        return bool(self.in_flight or self.has_requests()) and (
            self.empty_steps < EMPTY_STEPS_BEFORE_GIVING_UP)

    def has_requests(self) -> bool:
        return bool(self.run.scheduler.has_requests())

    def step(self, aborted: list[str]) -> Iterator[dict[str, Any]]:
        frames = FRAMES_IN_FLIGHT if self.run.config["async"] else 1
        if self.has_requests():
            call = self.run.schedule()
            self.in_flight.append(call["step"])
            self.empty_steps = 0 if call["rows"] else self.empty_steps + 1
            yield call
            if call["rows"] and len(self.in_flight) < frames:
                return
        if not self.in_flight:
            return
        for name in aborted:
            if name in self.run.scheduler.requests:
                yield self.run.abort(name)
        step = self.in_flight.popleft()
        output = self.run.frames[step]
        yield self.run.update(step, self.sampled(step))
        if (self.run.config["num_spec_tokens"] and not self.run.config["async"]
                and output.num_scheduled_tokens and not self.run.skips_drafts(output)):
            yield self.run.drafts({name: self.drafted(name, step)
                                   for name in output.num_scheduled_tokens})

    def chance(self, name: str, step: int, what: str) -> random.Random:
        return random.Random(f"{self.plan['seed']} {name} {step} {what}")

    def drafted(self, name: str, step: int) -> int:
        wanted = self.run.config["num_spec_tokens"]
        if self.run.config["method"] == "ngram":
            return self.chance(name, step, "drafts").randint(0, wanted)
        return wanted

    def sampled(self, step: int) -> dict[str, list[int]]:
        rows = self.run.sampling_rows.pop(step)
        return {name: self.tokens(name, step, drafts) for name, drafts in rows.items()}

    def tokens(self, name: str, step: int, drafts: int) -> list[int]:
        chance = self.chance(name, step, "sample")
        count = 1
        while count <= drafts and chance.random() < self.plan["acceptance"]:
            count += 1
        request = self.run.scheduler.requests.get(name)
        known = request.num_output_tokens if request else 0
        first = self.requests[name]["first_output"] + known
        tokens = list(range(first, first + count))
        if chance.random() < self.plan["stop"]:
            tokens[chance.randrange(count)] = self.run.config["stop_token"]
        return tokens


def answer(plan: dict[str, Any]) -> dict[str, Any]:
    try:
        run = Run(plan["config"])
    except (AssertionError, ValueError, TypeError, NotImplementedError) as error:
        return {"id": plan["id"], "config": plan["config"],
                "error": f"{type(error).__name__}: {error}"}
    line: dict[str, Any] = {"id": plan["id"], "config": run.config, "calls": []}
    try:
        for call in Replay(run, plan) if "calls" in plan else Play(run, plan):
            line["calls"].append(call)
    except Exception as error:  # what vllm raises is an answer too
        where = traceback.extract_tb(error.__traceback__)[-1].name
        line["error"] = f"{type(error).__name__} in {where}: {error}"
        line["traceback"] = traceback.format_exc()
    return line


def start() -> None:
    """Patches the observer into vllm's classes, once."""
    kv_cache_utils.NONE_HASH = ROOT_KEY
    observe_map()
    observe_pool()
    observe_lookups()
