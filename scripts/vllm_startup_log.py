#!/usr/bin/env python3
"""vllm_startup_log.py CASES.json > lines.json: what an installed vllm logs about sizes.

Run it with the Python of a virtual environment that has vllm; no GPU is needed. For another release
put its package first: PYTHONPATH=FOLDER of `pip install --no-deps --target FOLDER vllm==R`.

Each case has a config.json and settings. The release's own functions compute the block size
(platforms/interface.py _align_hybrid_block_size), the groups and the blocks
(v1/core/kv_cache_utils.py get_kv_cache_configs), the dtypes of the model's class
(models/config.py) and the shapes of its states (mamba_utils.py). Only what asks for a GPU or for
weights is replaced: the backend (multiples of 16 tokens) and the model's class. The answer is one
JSON object: the release, and for each case the lines.
"""

import contextlib
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.dont_write_bytecode = True

import torch  # noqa: E402
import vllm  # noqa: E402
import vllm.config.vllm as config_module  # noqa: E402
from vllm.model_executor.layers.mamba import mamba_mixer2, mamba_utils  # noqa: E402
from vllm.model_executor.models import ModelRegistry  # noqa: E402
from vllm.model_executor.models import config as model_rules  # noqa: E402
from vllm.platforms import interface  # noqa: E402
from vllm.v1.attention.backend import MultipleOf  # noqa: E402
from vllm.v1.core import kv_cache_utils  # noqa: E402
from vllm.v1.kv_cache_interface import FullAttentionSpec, MambaSpec  # noqa: E402

try:
    from vllm.v1.core import kv_cache_planning
    from vllm.v1.kv_cache_layout import KVCacheLayout
except ImportError:  # before 0.33.0
    kv_cache_planning = None

DTYPES = {"fp8": torch.float8_e4m3fn, "auto": torch.bfloat16}


class Lines:
    """Takes the place of a module's logger."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def _take(self, text: str, *args: Any, **_: Any) -> None:
        self.lines.append(text % args if args else text)

    info = warning = info_once = warning_once = _take

    def debug(self, *_: Any, **__: Any) -> None:
        pass

    debug_once = debug

    def isEnabledFor(self, _: int) -> bool:  # noqa: N802, the name of logging's
        return False


class Options(SimpleNamespace):
    """A configuration in which everything that is not set is off."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Backend:
    @staticmethod
    def get_supported_kernel_block_sizes() -> list[Any]:
        return [MultipleOf(16)]

    @staticmethod
    def customize_spec(spec: Any) -> Any:
        return spec


class CpuPlatform(interface.Platform):
    @classmethod
    def _find_non_ssm_backends(cls, _: Any) -> list[Any]:
        return [Backend]


def state_model(text: dict[str, Any], cache: Any, case: dict[str, Any]) -> Any:
    """Stands for the model's class: the shapes and dtypes of its states."""
    tp = case["settings"].get("tensor_parallel_size", 1)
    spec = case["settings"].get("num_speculative_tokens", 0)
    shapes = mamba_utils.MambaStateShapeCalculator
    dtypes = mamba_utils.MambaStateDtypeCalculator

    class Model:
        @staticmethod
        def get_mamba_state_shape_from_config(_: Any) -> Any:
            if "linear_num_key_heads" in text:
                return shapes.gated_delta_net_state_shape(
                    tp, text["linear_num_key_heads"], text["linear_num_value_heads"],
                    text["linear_key_head_dim"], text["linear_value_head_dim"],
                    text["linear_conv_kernel_dim"], spec)
            return shapes.mamba2_state_shape(
                intermediate_size=text["mamba_num_heads"] * text["mamba_head_dim"],
                tp_world_size=tp, n_groups=text["n_groups"], num_heads=text["mamba_num_heads"],
                head_dim=text["mamba_head_dim"], state_size=text["ssm_state_size"],
                conv_kernel=text["conv_kernel"], num_spec=spec)

        @staticmethod
        def get_mamba_state_dtype_from_config(_: Any) -> Any:
            rule = (dtypes.gated_delta_net_state_dtype if "linear_num_key_heads" in text
                    else dtypes.mamba2_state_dtype)
            return rule(torch.bfloat16, cache.mamba_cache_dtype, cache.mamba_ssm_cache_dtype)

    return Model


def spec_of_mamba2(model: Any, config: Any) -> Any:
    """What the release's own Mamba2 layer asks of the cache."""
    layer_class = type("Layer", (mamba_mixer2.MambaMixer2,), {
        "__getattr__": lambda *_: None,
        "get_state_shape": lambda _: model.get_mamba_state_shape_from_config(config),
        "get_state_dtype": lambda _: model.get_mamba_state_dtype_from_config(config)})
    return layer_class.__new__(layer_class).get_kv_cache_spec(config)


def attention_layers(text: dict[str, Any]) -> list[bool | None]:
    """For each layer: attention, recurrent, or neither."""
    if "hybrid_override_pattern" in text:
        return [{"M": False, "*": True}.get(letter) for letter in text["hybrid_override_pattern"]]
    every = text["full_attention_interval"]
    return [i % every == every - 1 for i in range(text["num_hidden_layers"])]


def vllm_config_of(case: dict[str, Any], text: dict[str, Any]) -> Any:
    settings = case["settings"]
    tp = settings.get("tensor_parallel_size", 1)
    drafts = settings.get("num_speculative_tokens", 0)
    # Layers of older releases ask it, those of newer ones the whole configuration.
    speculative = None
    if drafts and not kv_cache_planning:
        speculative = Options(num_speculative_tokens=drafts)
    cache = Options(
        cache_dtype=settings.get("kv_cache_dtype", "auto"),
        block_size=settings.get("block_size", 16),
        mamba_cache_mode=settings["mamba_cache_mode"], mamba_block_size=None,
        user_specified_mamba_block_size=False, mamba_page_size_padded=None,
        kv_cache_dtype_skip_layers=[], mamba_cache_dtype="auto",
        mamba_ssm_cache_dtype=settings.get("mamba_ssm_cache_dtype", "auto"),
        num_gpu_blocks_override=None, prefix_match_unit=None, enable_prefix_caching=True,
        kv_cache_size_tokens=None, kv_cache_max_concurrency=None,
        get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC)
    model = Options(
        dtype=torch.bfloat16, use_mla=False, architecture=case["config"]["architectures"][0],
        max_model_len=settings["max_model_len"], original_max_model_len=settings["max_model_len"],
        hf_text_config=SimpleNamespace(**text), hf_config=SimpleNamespace(**text),
        get_num_kv_heads=lambda _: max(1, text["num_key_value_heads"] // tp),
        get_head_size=lambda: text.get("head_dim", text.get("attention_head_dim")),
        get_mamba_chunk_size=lambda: text.get("chunk_size", 64))
    parallel = Options(
        tensor_parallel_size=tp, decode_context_parallel_size=1, prefill_context_parallel_size=1,
        pipeline_parallel_size=1, data_parallel_size=1)
    return Options(
        cache_config=cache, model_config=model, parallel_config=parallel,
        scheduler_config=Options(
            disable_hybrid_kv_cache_manager=False, max_num_batched_tokens=8192, max_num_seqs=256,
            long_prefill_token_threshold=0),
        compilation_config=Options(static_forward_context={}),
        attention_config=Options(hisparse_config=None),
        device_config=Options(device_type="cuda"), kv_transfer_config=None,
        kv_events_config=None, speculative_config=speculative,
        max_in_flight_tokens=8192,
        num_prefill_lookahead_tokens=0,
        num_speculative_tokens=drafts)


def lines_of(case: dict[str, Any]) -> list[str]:
    text = case["config"].get("text_config", case["config"])
    config = vllm_config_of(case, text)
    log = Lines()
    modules = [interface, kv_cache_utils] + ([kv_cache_planning] if kv_cache_planning else [])
    for module in modules:
        module.logger = log
    if case["config"]["architectures"][0].startswith("Qwen3_5"):
        model_rules.Qwen3_5ForConditionalGenerationConfig.verify_and_update_config(config)
    if case["config"]["architectures"][0].startswith("NemotronH"):
        model_rules.NemotronHForCausalLMConfig.verify_and_update_config(config)
    cache = config.cache_config
    model = state_model(text, cache, case)
    ModelRegistry.resolve_model_cls = lambda *_, **__: (model, "")
    config_module.set_current_vllm_config = lambda *_, **__: contextlib.nullcontext()
    CpuPlatform._align_hybrid_block_size(config, Backend)
    if cache.mamba_cache_mode == "none":
        cache.mamba_block_size = config.model_config.max_model_len
    attention = FullAttentionSpec(
        block_size=cache.block_size, num_kv_heads=config.model_config.get_num_kv_heads(None),
        head_size=config.model_config.get_head_size(), dtype=DTYPES[cache.cache_dtype])
    state = MambaSpec(
        shapes=model.get_mamba_state_shape_from_config(config),
        dtypes=model.get_mamba_state_dtype_from_config(config), block_size=cache.mamba_block_size,
        page_size_padded=cache.mamba_page_size_padded, mamba_cache_mode=cache.mamba_cache_mode,
        num_speculative_blocks=case["settings"].get("num_speculative_tokens", 0))
    if "mamba_num_heads" in text:
        state = spec_of_mamba2(model, config)
    specs = {f"layer.{i}": attention if kind else state
             for i, kind in enumerate(attention_layers(text)) if kind is not None}
    memory = [case["settings"]["kv_cache_memory_bytes"]]
    if kv_cache_planning:
        groups = kv_cache_planning.get_global_kv_cache_groups(config, [specs])
        configs = kv_cache_planning.get_kv_cache_configs(config, [specs], memory, groups)
    else:
        configs = kv_cache_utils.get_kv_cache_configs(config, [specs], memory)
    if hasattr(kv_cache_utils, "update_kv_cache_capacity"):
        if not any("KV cache size" in line for line in log.lines):
            kv_cache_utils.update_kv_cache_capacity(
                config, kv_cache_utils.generate_scheduler_kv_cache_config(configs))
    return log.lines


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    answers = [{"case": case["name"], "lines": lines_of(case)} for case in cases]
    json.dump({"release": vllm.__version__, "cases": answers}, ANSWER, indent=1)
    ANSWER.write("\n")


if __name__ == "__main__":
    main()
