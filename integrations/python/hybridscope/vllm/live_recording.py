"""One engine that is watched while it runs: recorder, sinks and gate."""

from hybridscope.hybridscope_trace import RunnerHooks, SchedulerHooks

from .gate import Gate
from .server import TraceServer
from .settings import default_socket
from .sinks import JudgeSink, Sinks, open_new_file
from .writers import LiveWriter


class _GatedScheduler(SchedulerHooks):
    """Each step waits for the gate. With `drain`, also until all finished steps are judged."""

    def __init__(self, writer, scheduler, gate, drain, on_error):
        super().__init__(writer, scheduler, on_error)
        self._gate, self._drain = gate, drain

    def _schedule(self, real, *args, **kwargs):
        if self._drain is not None:
            self._drain()
        self._gate.wait()
        return super()._schedule(real, *args, **kwargs)


class LiveRecording:
    """Watches an engine as `settings` say, from its next step on, until close()."""

    def __init__(self, settings, scheduler, header, log, copies, rows=None):
        """`header`: keyword arguments of TraceWriter.header(); log(text); `copies`, `rows`: of
        LiveWriter."""
        self._log, self._server, self._step = log, None, 0
        self.gate = Gate(self._gate_changed)
        self._sinks = Sinks(*self._make_sinks(settings))
        self.writer = LiveWriter(self._sinks, self._ended, copies, rows)
        self.writer.header(scheduler.kv_cache_config, scheduler.vllm_config,
                           kv_cache_manager=scheduler.kv_cache_manager,
                           requests=scheduler.requests, **header)
        drain = self.writer.drain if settings.holds else None
        self._hooks = [_GatedScheduler(self.writer, scheduler, self.gate, drain, self._failed)]

    def watch_runner(self, runner):
        """The runner that shares this process."""
        self._hooks.append(RunnerHooks(self.writer, runner, self._failed))

    def close(self):
        hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook.close()
        if hooks:
            self.gate.go_on()
            self.writer.close()
            self._sinks.close()

    def _make_sinks(self, settings):
        sinks = []
        if settings.trace:
            file = open_new_file(settings.trace)
            self._log(f"writes {file.name}")
            sinks.append(file)
        socket = settings.socket or (default_socket() if settings.holds else "")
        if socket:
            self._socket = socket
            self._server = TraceServer(socket, self._command)
            self._log(f"serves unix:{socket}; hybridscope gui --attach unix:{socket} shows it")
            sinks.append(self._server)
        if settings.judge:
            from hybridscope import Judge
            hold = self._hold_at if settings.holds else lambda finding: None
            sinks.append(JudgeSink(Judge("vllm"), self._log, hold))
        return sinks

    def _hold_at(self, finding):
        self.gate.hold(f"step {finding.step}: {finding.text}")

    def _command(self, word):
        if word == "hold":
            self.gate.hold("asked to")
        elif word == "continue":
            self.gate.go_on()

    def _gate_changed(self, reason):
        if reason:
            self._log(f"the engine is held before its next step ({reason}); to go on: "
                      f"python -m hybridscope.vllm continue unix:{self._socket}")
            self._server.tell("held", step=self.writer.num_steps, reason=reason)
        else:
            self._log("the engine goes on")
            self._server.tell("running")

    def _failed(self, error, what):
        self._log(f"recording ended, the engine goes on: {what}: {error!r}")
        self.close()

    def _ended(self, error):
        """In the writer's thread, which cannot wait for itself."""
        self._log(f"recording ended, the engine goes on: {error!r}")
        for hook in self._hooks:
            hook.close()
        self.gate.go_on()
