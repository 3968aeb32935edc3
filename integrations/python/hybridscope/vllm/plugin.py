"""The entry point that vLLM calls in each of its processes (group vllm.general_plugins)."""

import atexit
import os
import shutil
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
    if _LINK_VARIABLE not in os.environ:
        os.environ[_LINK_VARIABLE] = folder = tempfile.mkdtemp(prefix="hybridscope-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    after_import("vllm.v1.core.sched.scheduler", _watch_schedulers)
    after_import("vllm.v1.worker.gpu_worker", _watch_workers)


class _Process:
    """What this process has of the engines."""

    settings = None
    runner = None  # one that waits for its scheduler
    recordings = {}  # id of a scheduler -> LiveRecording


def _log(text):
    from vllm.logger import init_logger
    init_logger("vllm.hybridscope").warning("hybridscope: %s", text)


def _watch_schedulers(module):
    after_method(module.Scheduler, "__init__", _scheduler_made)
    after_method(module.Scheduler, "shutdown", _scheduler_ends)


def _watch_workers(module):
    """The runner's own warm-up, whose steps no scheduler made, is over then."""
    after_method(module.Worker, "compile_or_warm_up_model",
                 lambda worker: _runner_ready(worker.model_runner))


def _rank(parallel):
    """Among engines that share HYBRIDSCOPE. Of dense models each has size 1 and rank 0 in the end,
    and keeps its index."""
    return getattr(parallel, "data_parallel_index", parallel.data_parallel_rank)


def _link_path(config):
    engine = getattr(config, "instance_id", "")
    return os.path.join(os.environ[_LINK_VARIABLE], f"{engine}-dp{_rank(config.parallel_config)}")


def _scheduler_made(scheduler):
    import vllm

    from .device_copies import DeviceCopies
    from .link import listen_for_rows
    from .live_recording import LiveRecording
    config = scheduler.vllm_config
    parallel = config.parallel_config
    engine_facts.check_parallelism(parallel)
    if scheduler.connector is not None:
        raise ValueError("hybridscope does not record engines with a KV connector")
    settings = _Process.settings
    if parallel.data_parallel_size > 1 or _rank(parallel) > 0:
        settings = settings.of_rank(_rank(parallel))
    runner, _Process.runner = _Process.runner, None
    is_alone = engine_facts.backend_of(parallel) == "uni"
    if is_alone and runner is None:
        _log("a scheduler without a runner is not recorded")
        return
    rows = None if is_alone else listen_for_rows(_link_path(config))
    header = engine_facts.header_of(scheduler.kv_cache_config, config, vllm.__version__)
    copies = DeviceCopies()
    states = _state_hashes(runner, copies) if is_alone else None
    recording = LiveRecording(settings, scheduler, header, _log, copies, rows, states)
    _Process.recordings[id(scheduler)] = recording
    atexit.register(recording.close)
    if is_alone:
        recording.watch_runner(runner)


def _state_hashes(runner, copies):
    """StateHashes, or None if they are not asked for. Raises ValueError: layers whose states cannot
    be hashed."""
    if _Process.settings.states is None:
        return None
    from .state_hashes import hashes_of
    states = hashes_of(runner, _Process.settings.states, copies.snapshot)
    _log(f"hashes states with {states.how}")
    return states


def _scheduler_ends(scheduler):
    if (recording := _Process.recordings.pop(id(scheduler), None)) is not None:
        recording.close()


def _runner_ready(runner):
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
    cache = runner.kv_cache_config
    hooks = []

    def failed(error, what="sending rows"):
        _log(f"recording ended, the engine goes on: {what}: {error!r}")
        for hook in hooks:
            hook.close()
        link.close()

    copies = DeviceCopies()
    states = _state_hashes(runner, copies)
    link = RowLink(_link_path(config))
    rows = RowSender(config_of(cache, config), cache.kv_cache_groups, link, failed, copies, states)
    hooks.append(RunnerHooks(rows, runner, failed))
    atexit.register(rows.close)
