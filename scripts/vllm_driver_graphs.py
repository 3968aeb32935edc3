"""The CUDA graphs of the installed release: which sizes are captured, and which graph a batch takes
on either runner. Nothing is captured: the lists and the dispatch are those of the real classes.
Used by vllm_driver.py.

A plan has `id`, `config` and `calls`: batches, as in graphs_<release>.jsonl. The answer has `init`,
the sizes, and what each batch runs in.
"""

from types import SimpleNamespace
from typing import Any

from vllm import __version__ as RELEASE
from vllm.config.compilation import CompilationConfig, CompilationMode, CUDAGraphMode
from vllm.config.vllm import VllmConfig
from vllm.v1.attention.backend import AttentionCGSupport
from vllm.v1.cudagraph_dispatcher import CudagraphDispatcher
from vllm.v1.worker.gpu import cudagraph_utils

VERSION = tuple(int(part) for part in RELEASE.split("+")[0].split(".")[:2])

GIVEN_SIZES = ("cudagraph_capture_sizes", "max_cudagraph_capture_size")


class Graphs:
    """What one engine captures."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.drafts = config["num_spec"]
        self.compilation = CompilationConfig(
            mode=CompilationMode.VLLM_COMPILE,
            cudagraph_mode=CUDAGraphMode[config["cudagraph_mode"]],
            **{name: config[name] for name in GIVEN_SIZES if config[name] is not None})
        self.engine = self.engine_config(config)
        self.compilation.set_splitting_ops_for_v1("none")  # around attention
        VllmConfig._set_cudagraph_sizes(self.engine)
        self.mode = self.compilation.resolve_cudagraph_mode_and_sizes(
            AttentionCGSupport.UNIFORM_BATCH, "a metadata builder",
            uniform_decode_query_len=1 + self.drafts,
            **({"use_v2_model_runner": config["runner"] == "v2"} if VERSION >= (0, 25) else {}))
        self.runner = config["runner"]
        if self.runner == "v2":
            self.dispatcher = cudagraph_utils.CudaGraphManager(
                self.engine, None, self.mode, 1 + self.drafts)
            self.dispatcher._graphs_captured = True
        else:
            self.dispatcher = CudagraphDispatcher(self.engine)
            self.dispatcher.initialize_cudagraph_keys(self.mode, 1 + self.drafts)

    def engine_config(self, config: dict[str, Any]) -> Any:
        """A stand-in of VllmConfig with what the classes ask for."""
        drafts = self.drafts
        speculative = SimpleNamespace(
            num_speculative_tokens=drafts, uses_dynamic_speculative_decoding=lambda: False,
            num_speculative_tokens_per_batch_size=None) if drafts else None
        return SimpleNamespace(
            compilation_config=self.compilation, speculative_config=speculative, lora_config=None,
            num_speculative_tokens=drafts, uniform_decode_query_len=1 + drafts,
            performance_mode="balanced", model_config=SimpleNamespace(enforce_eager=False),
            scheduler_config=SimpleNamespace(
                max_num_seqs=config["max_num_seqs"],
                max_num_batched_tokens=config["max_num_batched_tokens"]),
            cache_config=SimpleNamespace(use_kda_recoverssm=False),
            parallel_config=SimpleNamespace(tensor_parallel_size=1, data_parallel_size=1))

    def dispatch(self, call: dict[str, Any]) -> dict[str, Any]:
        tokens, rows, uniform = call["num_tokens"], call["num_reqs"], call["uniform"]
        if self.runner == "v2":
            graph = self.dispatcher.dispatch(rows, tokens, 1 + self.drafts if uniform else None, 0)
            mode = graph.cg_mode
        else:
            mode, graph = self.dispatcher.dispatch(tokens, uniform_decode=bool(uniform))
        padded = rows if graph.num_reqs is None else graph.num_reqs
        return {"mode": mode.name, "num_tokens_padded": graph.num_tokens, "num_reqs_padded": padded}


def start() -> None:
    cudagraph_utils.get_pp_group = lambda: SimpleNamespace(is_first_rank=True, is_last_rank=True)
    cudagraph_utils.current_platform = SimpleNamespace(get_global_graph_pool=lambda: None)


def answer(plan: dict[str, Any]) -> dict[str, Any]:
    line = {name: plan[name] for name in ("id", "config")}
    try:
        graphs = Graphs(plan["config"])
    except (AssertionError, ValueError) as error:
        return {**line, "error": f"{type(error).__name__}: {error}"}
    asked = [{name: call[name] for name in ("num_tokens", "num_reqs", "uniform")}
             for call in plan["calls"]]
    return {**line, "init": {"cudagraph_mode": graphs.mode.name,
                             "capture_sizes": list(graphs.compilation.cudagraph_capture_sizes)},
            "calls": [{**call, **graphs.dispatch(call)} for call in asked]}
