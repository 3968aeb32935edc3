"""What a trace's header says beyond what TraceWriter reads of the configuration."""

FIRST_RELEASE, LAST_RELEASE = (0, 24), (0, 33)

# The width of the causal convolution has a name of its own in each family of models.
_CONV_KERNEL_NAMES = ("linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "conv_L_cache",
                      "d_conv", "conv_kernel_size", "short_conv_kernel_size")


def check_release(version):
    """Raises ValueError for a vLLM whose attributes are not known here."""
    parts = version.split("+")[0].split(".")
    numbers = tuple(int(part) for part in parts[:2] if part.isdigit())
    if not FIRST_RELEASE <= numbers <= LAST_RELEASE:
        first, last = (".".join(map(str, release)) for release in (FIRST_RELEASE, LAST_RELEASE))
        raise ValueError(f"hybridscope knows vLLM {first} to {last}, not {version}: unset "
                         "HYBRIDSCOPE, or take a newer hybridscope")


def check_parallelism(parallel_config):
    """Raises ValueError for an engine that is spread in a way that is not recorded."""
    if parallel_config.pipeline_parallel_size > 1:
        raise ValueError("hybridscope records engines with pipeline_parallel_size 1, found "
                         f"{parallel_config.pipeline_parallel_size}")
    for name in ("decode_context_parallel_size", "prefill_context_parallel_size"):
        if (size := getattr(parallel_config, name, 1)) > 1:
            raise ValueError(f"hybridscope records engines with {name} 1, found {size}")
    if backend_of(parallel_config) not in ("uni", "mp"):
        raise ValueError("hybridscope records engines with distributed_executor_backend uni or "
                         f"mp, found {backend_of(parallel_config)}")


def backend_of(parallel_config):
    """ "uni": scheduler and runner share a process; "mp": they do not."""
    backend = parallel_config.distributed_executor_backend
    if backend is None:
        return "mp" if parallel_config.world_size > 1 else "uni"
    return backend if isinstance(backend, str) else backend.__name__


def header_of(kv_cache_config, vllm_config, version):
    """Keyword arguments of TraceWriter.header()."""
    model = vllm_config.model_config
    facts = {"name": str(model.model), "engine": f"vllm {version}",
             "runner": "v2" if vllm_config.use_v2_model_runner else "v1"}
    if (width := conv_kernel_of(model)) is not None:
        facts["conv_kernel"] = width
    if any(mamba_type(group) == "mamba2" for group in kv_cache_config.kv_cache_groups):
        facts["chunk_size"] = model.get_mamba_chunk_size()
    return facts


def conv_kernel_of(model_config):
    """Width of the causal convolution; None: the model does not say."""
    widths = (getattr(model_config.hf_text_config, name, None) for name in _CONV_KERNEL_NAMES)
    return next((width for width in widths if isinstance(width, int)), None)


def mamba_type(group):
    """Of a KV-cache group, in small letters; empty: no recurrent layers."""
    kind = getattr(group.kv_cache_spec, "mamba_type", "")
    return (kind if isinstance(kind, str) else kind.name).lower()
