"""The metadata builders of the installed release, on CPU tensors: one builder object a plan, its
calls in order. Used by vllm_driver.py.

A plan has `id`, `config` and `calls`: what each call asks, as in builders_<release>.jsonl. The
answer has `init` and the answers of the calls too; it ends with the first call in which vllm
raised an exception.
"""

import sys
from types import SimpleNamespace
from typing import Any

import torch
from vllm import __version__ as RELEASE
from vllm.config.compilation import CUDAGraphMode
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadataBuilder
from vllm.v1.attention.backends.mamba1_attn import Mamba1AttentionMetadataBuilder
from vllm.v1.attention.backends.mamba2_attn import Mamba2AttentionMetadataBuilder
from vllm.v1.kv_cache_interface import MambaSpec

VERSION = tuple(int(part) for part in RELEASE.split("+")[0].split(".")[:2])
CPU = torch.device("cpu")
CLASSES = {"gdn": GDNAttentionMetadataBuilder, "mamba1": Mamba1AttentionMetadataBuilder,
           "mamba2": Mamba2AttentionMetadataBuilder}
# Not recorded: programs of the conv kernel, host copies, and what features that are off leave out.
LEFT_OUT = {"nums_dict", "batch_ptr", "token_chunk_offset_ptr", "spec_sequence_masks_cpu",
            "query_lens", "request_rows", "block_cols"}


def mamba_spec(config: dict[str, Any]) -> Any:
    named: dict[str, Any] = {}
    if config["num_prefill_checkpoint_blocks"]:
        named = {"num_prefill_checkpoint_blocks": config["num_prefill_checkpoint_blocks"],
                 "prefill_checkpoint_alignment": config["prefill_checkpoint_alignment"]}
    return MambaSpec(block_size=config["block_size"], shapes=((1, 8),), dtypes=(torch.float16,),
                     mamba_cache_mode=config["mamba_cache_mode"],
                     num_speculative_blocks=config["num_spec"], **named)


def builder_config(config: dict[str, Any]) -> Any:
    """A stand-in of VllmConfig with what the builders ask for."""
    spec = config["num_spec"]
    speculative = SimpleNamespace(
        num_speculative_tokens=spec, parallel_drafting=False,
        use_eagle_block_drop=lambda: config["eagle_drop"]) if spec else None
    mode = CUDAGraphMode.FULL_AND_PIECEWISE if config["full_cudagraph"] else CUDAGraphMode.PIECEWISE
    cache = SimpleNamespace(
        mamba_cache_mode=config["mamba_cache_mode"], use_replayssm=False, replayssm_buffer_len=0,
        enable_prefix_caching=config["mamba_cache_mode"] != "none",
        hash_block_size=config["hash_block_size"], prefix_match_unit=config["hash_block_size"],
        block_size=config["block_size"], mamba_block_size=config["block_size"],
        cache_hit_alignment_tokens=config["cache_hit_alignment_tokens"])
    return SimpleNamespace(
        speculative_config=speculative, num_speculative_tokens=spec, cache_config=cache,
        num_hash_lookahead_tokens=config["num_hash_lookahead_tokens"],
        compilation_config=SimpleNamespace(
            cudagraph_mode=mode, max_cudagraph_capture_size=config["max_cudagraph_capture_size"]),
        scheduler_config=SimpleNamespace(max_num_seqs=config["max_num_seqs"],
                                         async_scheduling=False),
        model_config=SimpleNamespace(max_model_len=config["max_model_len"],
                                     hf_text_config=SimpleNamespace(),
                                     get_mamba_chunk_size=lambda: config["chunk_size"]),
        parallel_config=SimpleNamespace(decode_context_parallel_size=1),
        mamba_config=SimpleNamespace(backend=None), additional_config={},
        use_v2_model_runner=config["runner"] == "v2")


def plain(value: Any) -> Any:
    """A field as JSON: tensors as nested lists, flags as 0 and 1."""
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if hasattr(value, "__dataclass_fields__"):
        return fields_of(value)
    return int(value) if isinstance(value, bool) else value


def fields_of(metadata: Any) -> dict[str, Any]:
    return {name: plain(getattr(metadata, name)) for name in metadata.__dataclass_fields__
            if name not in LEFT_OUT and getattr(metadata, name) is not None}


def common_metadata(batch: dict[str, Any]) -> Any:
    offsets = torch.tensor(batch["query_start_loc"], dtype=torch.int32)
    lengths = torch.tensor(batch["seq_lens"], dtype=torch.int32)
    prefilling = batch["is_prefilling"]
    return CommonAttentionMetadata(
        query_start_loc=offsets, query_start_loc_cpu=offsets.clone(), seq_lens=lengths,
        num_reqs=len(batch["seq_lens"]), num_actual_tokens=batch["num_actual_tokens"],
        max_query_len=batch["max_query_len"], max_seq_len=max(batch["seq_lens"], default=0),
        block_table_tensor=torch.tensor(batch["block_table"], dtype=torch.int32),
        slot_mapping=torch.zeros(batch["num_actual_tokens"], dtype=torch.int64),
        is_prefilling=None if prefilling is None else torch.tensor(prefilling, dtype=torch.bool),
        seq_lens_cpu_upper_bound=lengths.clone())


def counts(given: list[int] | None) -> Any:
    return None if given is None else torch.tensor(given, dtype=torch.int32)


def pin_nothing() -> None:
    """Host memory cannot be pinned without a GPU."""
    for module in list(sys.modules.values()):
        if vars(module).get("PIN_MEMORY"):
            module.PIN_MEMORY = False
        if vars(module).get("is_pin_memory_available"):  # 0.32
            module.is_pin_memory_available = lambda: False


class Builder:
    def __init__(self, config: dict[str, Any]) -> None:
        self.builder = CLASSES[config["class"]](mamba_spec(config), ["layer"],
                                                builder_config(config), CPU)

    def init(self) -> dict[str, int]:
        return {"reorder_batch_threshold": self.builder.reorder_batch_threshold,
                "decode_cudagraph_max_bs": self.builder.decode_cudagraph_max_bs}

    def build(self, call: dict[str, Any]) -> dict[str, Any]:
        try:
            metadata = self.builder.build(
                0, common_metadata(call["batch"]),
                num_accepted_tokens=counts(call["num_accepted_tokens"]),
                num_decode_draft_tokens_cpu=counts(call["num_decode_draft_tokens"]))
        except (AssertionError, IndexError, RuntimeError) as error:
            return {"error": type(error).__name__}
        return {"metadata": fields_of(metadata)}


def start() -> None:
    pin_nothing()


def answer(plan: dict[str, Any]) -> dict[str, Any]:
    builder = Builder(plan["config"])
    line: dict[str, Any] = {"id": plan["id"], "config": plan["config"], "init": builder.init(),
                            "calls": []}
    for call in plan["calls"]:
        asked = {name: call[name]
                 for name in ("batch", "num_accepted_tokens", "num_decode_draft_tokens")}
        line["calls"].append({**asked, **builder.build(asked)})
        if "error" in line["calls"][-1]:
            break
    return line
