"""One engine that is watched while it runs: recorder, sinks and gate."""

from hybridscope.findings import Finding
from hybridscope.hybridscope_trace import RunnerHooks, SchedulerHooks, config_of
from hybridscope.judging import Judge

from .gate import Gate
from .new_file import open_new_file
from .server import TraceServer
from .writers import LiveWriter


class _GatedScheduler(SchedulerHooks):
    """Each step waits for the gate. With `drain`, also until all finished steps are judged."""

    def __init__(self, writer, scheduler, gate, drain, on_error):
        super().__init__(writer, scheduler, on_error)
        self._gate, self._drain = gate, drain

    def _schedule(self, real, *args, **kwargs):
        if self._drain is not None:
            self._drain()
        if self._gate.wait() or self._drain is not None:
            self._times.forget()
        return super()._schedule(real, *args, **kwargs)


class LiveRecording:
    """Watches an engine as `settings` say, from its next step on, until close()."""

    def __init__(self, settings, scheduler, header, log, copies, rows=None, states=None):
        """`header`: keyword arguments of TraceWriter.header(); log(text); `copies`: DeviceCopies;
        `rows`: the socket of a runner in another process (listen_for_rows); `states`: StateHashes of
        one in this process. Raises ValueError before anything is opened: the engine has groups that
        are not modelled."""
        config_of(scheduler.kv_cache_config, scheduler.vllm_config)
        self._log, self._settings, self._rows = log, settings, rows
        self._file = open_new_file(settings.trace) if settings.trace else None
        self._server = self._judge = None
        self._has_held = False
        self.gate = Gate(self._gate_changed)
        if settings.serves:
            self._server = self._serve(settings.socket)
        # Nobody could tell an engine that is not served to go on.
        self._holds = settings.holds and self._server is not None
        if settings.judge:
            self._judge = Judge("vllm")
        self._say_what_is_done()
        self.writer = LiveWriter(
            [] if self._file is None else [self._file.fileno()], copies, self._ended,
            spool=self._server and (self._server.fileno(), settings.spool), on_full=log,
            judge=self._judge, on_finding=self._found,
            rows=-1 if rows is None else rows.fileno(), states=states)
        self.writer.header(scheduler.kv_cache_config, scheduler.vllm_config,
                           kv_cache_manager=scheduler.kv_cache_manager,
                           requests=scheduler.requests, **header)
        drain = self.writer.drain if self._holds else None
        self._hooks = [_GatedScheduler(self.writer, scheduler, self.gate, drain, self._failed)]
        if self._server is not None:
            self._server.start()

    def watch_runner(self, runner):
        """The runner that shares this process."""
        self._hooks.append(RunnerHooks(self.writer, runner, self._failed))

    def close(self):
        """Ends the recording; the engine goes on."""
        hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook.close()
        if not hooks:
            return
        self.gate.go_on()
        self.writer.close()
        for sink in (self._file, self._server, self._rows):
            if sink is not None:
                sink.close()
        if self._judge is not None:
            self._log(f"judged {self._judge.num_steps} steps: {self._what_was_found()}")

    def _serve(self, path):
        """None: it cannot be served, which is no reason not to start it."""
        try:
            return TraceServer(path, self._command, self._log)
        except OSError as error:
            self._log(str(error))
        if path:
            return self._serve("")
        self._log("is not served" + (", and not held at findings" if self._settings.holds else ""))
        return None

    def _what_was_found(self):
        report = self._judge.report()
        if report["verdict"] == "not judged":
            return "no verdict: " + report["not_told"]
        by_rule = report["findings_by_rule"]
        if not by_rule:
            return "no finding"
        return f"{sum(by_rule.values())} findings (" + ", ".join(
            f"{rule} {count}" for rule, count in by_rule.items()) + ")"

    def _say_what_is_done(self):
        if self._file is not None:
            self._log(f"writes {self._file.name}")
        if self._server is not None:
            path = self._server.path
            self._log(f"serves unix:{path}; hybridscope gui --attach unix:{path} shows it")
        if self._judge is not None:
            self._log("judges each step" + (", and holds the engine at the first finding"
                                            if self._holds else ""))

    # In the writer's thread:

    def _found(self, record):
        finding = Finding.from_dict(record)
        self._log(finding.text)
        if self._holds and not self._has_held:
            self._has_held = True
            self.gate.hold(finding.text)

    def _ended(self, error):
        self._log(f"recording ended, the engine goes on: {error}")
        for hook in self._hooks:
            hook.close()
        if self._rows is not None:
            self._rows.close()  # a runner that is about to connect must not wait
        self.gate.go_on()

    # In other threads:

    def _failed(self, error, what):
        self._log(f"recording ended, the engine goes on: {what}: {error!r}")
        self.writer.is_complete = False
        self.close()

    def _command(self, word):
        if word == "hold":
            self.gate.hold("asked to")
        elif word == "continue":
            self.gate.go_on()

    def _gate_changed(self, reason):
        if reason:
            self._log(f"the engine is held before its next step ({reason}); to go on: "
                      f"python -m hybridscope.vllm continue unix:{self._server.path}")
            self._server.tell("held", step=self.writer.num_steps, reason=reason)
        else:
            self._log("the engine goes on")
            self._server.tell("running")
