"""pytest --hybridscope: what vLLM's schedulers decide in each test is judged; a finding fails it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

SCHEDULER_MODULE = "vllm.v1.core.sched.scheduler"
# Without a runner there is no metadata: this rule can only speak of the sampled tokens.
MADE_UP_RULE = "metadata-inconsistent"


def pytest_addoption(parser):
    """Options of this plug-in."""
    group = parser.getgroup("hybridscope")
    group.addoption("--hybridscope", action="store_true",
                    help="judge what vLLM's schedulers decide; a finding fails the test")
    group.addoption("--hybridscope-traces", metavar="DIR", default="hybridscope-traces",
                    help="where the traces of tests with findings are kept (default: %(default)s)")


def pytest_configure(config):
    """Judges tests only if asked to."""
    if config.getoption("--hybridscope"):
        config.pluginmanager.register(JudgedTests(config.getoption("--hybridscope-traces")))


class JudgedScheduler:
    """One scheduler of a test, with its trace and its findings."""

    def __init__(self, scheduler):
        import vllm
        from hybridscope import Judge
        from hybridscope.hybridscope_trace import SchedulerHooks
        from hybridscope.vllm.scheduler_only import SchedulerOnlyWriter
        if scheduler.connector is not None or scheduler.ec_connector is not None:
            raise ValueError("states that come through a connector are not modelled")
        self.trace, self.findings, self.why_not = io.StringIO(), [], ""
        self._judge = Judge("test")
        self._writer = SchedulerOnlyWriter(self)
        self._writer.header(scheduler.kv_cache_config, scheduler.vllm_config,
                            kv_cache_manager=scheduler.kv_cache_manager,
                            requests=scheduler.requests,
                            engine=f"vllm {vllm.__version__}")
        self._hooks = SchedulerHooks(self._writer, scheduler, self._ended)

    @property
    def num_steps(self):
        """The steps that were judged."""
        return self._judge.num_steps

    def write(self, text):
        """Takes one line of the trace."""
        self.trace.write(text)
        if self.why_not:
            return
        found = self._judge.feed(text)
        if any(finding.rule == MADE_UP_RULE for finding in found):
            self.why_not = "the test gives back other numbers of tokens than a model would"
        else:
            self.findings += found

    def flush(self):
        """Each line is judged at once."""

    def close(self):
        """Judges what waits."""
        self._hooks.close()
        self._writer.close()

    def _ended(self, error, what):
        self.why_not = f"{what}: {type(error).__name__}: {error}"


class JudgedTests:
    """Watches the schedulers of the test that runs."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._schedulers = []  # of the test that runs
        self._num_tests = self._num_steps = self._num_schedulers = 0
        self._reasons = {}  # why schedulers were not judged to their end -> how many
        from hybridscope.vllm.after_import import after_import
        from hybridscope.vllm.patches import after_method
        after_import(SCHEDULER_MODULE, lambda module: after_method(
            module.Scheduler, "__init__", self._scheduler_made))

    def _scheduler_made(self, scheduler):
        self._num_schedulers += 1
        try:
            self._schedulers.append(JudgedScheduler(scheduler))
        except Exception as error:
            self._not_judged(f"{type(error).__name__}: {error}")

    def _not_judged(self, reason):
        self._reasons[reason] = self._reasons.get(reason, 0) + 1

    @pytest.hookimpl(trylast=True)  # after the test, unless it failed by itself
    def pytest_runtest_call(self, item):
        """Fails a test whose schedulers have findings."""
        if words := self._take_findings(item):
            pytest.fail("\n".join(words), pytrace=False)

    def pytest_runtest_teardown(self, item):
        """Leaves no scheduler of a test that failed by itself to the next one."""
        self._take_findings(item)

    def _take_findings(self, item):
        schedulers, self._schedulers = self._schedulers, []
        words = []
        for number, scheduler in enumerate(schedulers):
            scheduler.close()
            if scheduler.why_not:
                self._not_judged(scheduler.why_not)
            self._num_steps += scheduler.num_steps
            errors = [finding for finding in scheduler.findings if finding.severity == "error"]
            if errors:
                path = self._keep(item, number, scheduler.trace.getvalue())
                words += dict.fromkeys(finding.text for finding in errors)
                words.append(f"hybridscope judge {path} --explain {errors[0].step}")
        self._num_tests += any(scheduler.num_steps for scheduler in schedulers)
        return words

    def _keep(self, item, number, text):
        self._folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "_", item.nodeid).strip("_")
        path = self._folder / f"{name}{f'-{number + 1}' if number else ''}.jsonl"
        path.write_text(text, encoding="utf-8")
        return path

    def pytest_terminal_summary(self, terminalreporter):
        """Says what was judged and what was not, and why."""
        terminalreporter.section("hybridscope")
        terminalreporter.line(f"{self._num_steps} steps of {self._num_tests} tests were judged")
        for reason, count in sorted(self._reasons.items()):
            terminalreporter.line(f"not judged, or not to the end: {count} of {self._num_schedulers} "
                                  f"schedulers: {reason}")
