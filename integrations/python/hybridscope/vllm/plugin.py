"""The entry point that vLLM calls in each of its processes (group vllm.general_plugins)."""

import atexit
import os
import tempfile

from hybridscope.hybridscope_trace import RunnerHooks, config_of

from . import engine_facts
from .after_import import after_import
from .patches import after_method
from .settings import parse_settings

# Where the processes of one engine meet; inherited by those that it starts.
_LINK_VARIABLE = "HYBRIDSCOPE_LINK_FOLDER"


def register():
    """Watches the engines of this process as HYBRIDSCOPE says; does nothing without it. Raises
    ValueError: a word that is not known, a release that is not."""
    text = os.environ.get("HYBRIDSCOPE", "").strip()
    if not text or _Process.settings is not None:
        return
    import vllm
    engine_facts.check_release(vllm.__version__)
    _Process.settings = parse_settings(text)
    os.environ.setdefault(_LINK_VARIABLE, tempfile.mkdtemp(prefix="hybridscope-"))
    after_import("vllm.v1.core.sched.scheduler", _watch_schedulers)
    for module in ("vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.model_runner"):
        after_import(module, _watch_runners)


class _Process:
    """What this process has of the engines."""

    settings = None
    runner = None  # one that waits for its scheduler
    open = []  # what is to be closed


def _log(text):
    from vllm.logger import init_logger
    init_logger("vllm.hybridscope").warning("hybridscope: %s", text)


def _watch_schedulers(module):
    after_method(module.Scheduler, "__init__", _scheduler_made)
    after_method(module.Scheduler, "shutdown", lambda scheduler: _close_all())


def _watch_runners(module):
    after_method(module.GPUModelRunner, "initialize_kv_cache", _runner_ready)


def _link_path(parallel):
    return os.path.join(os.environ[_LINK_VARIABLE], f"rows-dp{parallel.data_parallel_rank}")


def _scheduler_made(scheduler):
    import vllm

    from .device_copies import DeviceCopies
    from .link import listen_for_rows
    from .live_recording import LiveRecording
    config = scheduler.vllm_config
    parallel = config.parallel_config
    engine_facts.check_parallelism(parallel)
    settings = _Process.settings
    if parallel.data_parallel_size > 1:
        settings = settings.of_rank(parallel.data_parallel_rank)
    runner, _Process.runner = _Process.runner, None
    rows = None if runner is not None else listen_for_rows(_link_path(parallel))
    header = engine_facts.header_of(scheduler.kv_cache_config, config, vllm.__version__)
    recording = LiveRecording(settings, scheduler, header, _log, DeviceCopies(), rows)
    _keep(recording)
    if runner is not None:
        recording.watch_runner(runner)


def _runner_ready(runner):
    """Called once more for a runner whose first cache served to measure memory."""
    from vllm.distributed.parallel_state import get_tensor_model_parallel_rank

    from .device_copies import DeviceCopies
    from .link import RowLink
    from .writers import RowSender
    config = runner.vllm_config
    parallel = config.parallel_config
    engine_facts.check_parallelism(parallel)
    if get_tensor_model_parallel_rank() != 0:
        return
    if engine_facts.backend_of(parallel) == "uni":
        _Process.runner = runner
        return
    _close_all()
    cache = runner.kv_cache_config
    rows = RowSender(config_of(cache, config), cache.kv_cache_groups,
                     RowLink(_link_path(parallel)).send, _row_error, DeviceCopies())
    _keep(rows)
    _keep(RunnerHooks(rows, runner, _row_error))


def _row_error(error, what="sending rows"):
    _log(f"recording ended, the engine goes on: {what}: {error!r}")


def _keep(watching):
    if not _Process.open:
        atexit.register(_close_all)
    _Process.open.append(watching)


def _close_all():
    while _Process.open:
        _Process.open.pop().close()
