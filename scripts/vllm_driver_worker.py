"""A runner of the installed release, V1 or V2 as the plan says, fed with what its scheduler gives
out. Used by vllm_driver.py.

A plan is one of the scheduler. Each of its steps is answered with one line of calls of a
worker_<release>.jsonl: what the scheduler gave out, how many tokens each row accepts, and what the
runner made of it.
"""

import traceback
from typing import Any

import vllm_driver_builders
import vllm_driver_scheduler as scheduling
import vllm_driver_worker_v1 as v1
import vllm_driver_worker_v2 as v2
from vllm_driver_scheduler import RELEASE

ADMISSIONS = ("running", "new", "resumed")
KEPT_CONFIG = ("release", "async", "runner", "mamba_cache_mode", "block_size", "groups",
               "num_blocks", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "method",
               "num_spec_tokens")


class WorkerRun(scheduling.Run):
    """The scheduler's run; each schedule goes to a worker, too."""

    def __init__(self, config: dict[str, Any], play: dict[str, Any]) -> None:
        super().__init__(config)
        given = scheduling.vllm_config(self.config)
        cache = scheduling.kv_cache_config(self.config)
        self.worker = start_runner(config["runner"]).Runner(self.config, given, cache)
        self.plan = play
        self.lines: list[dict[str, Any]] = []
        self.admitted: set[str] = set()

    def accepted(self, name: str, step: int, drafts: int) -> int:
        chance = scheduling.Play.chance(self, name, step, "sample")  # type: ignore[arg-type]
        count = 1
        while count <= drafts and chance.random() < self.plan["acceptance"]:
            count += 1
        return count

    def schedule(self) -> dict[str, Any]:
        call = super().schedule()
        step = call["step"]
        output = self.frames[step]
        line = {"op": "step", **self.question(call)}
        answer = self.worker.step(output)
        rows = self.sampling_rows[step]
        for name in self.worker.lost_drafts(output) if answer["rows"] else ():
            rows[name] = 0
        line["accepted"] = {name: self.accepted(name, step, drafts)
                            for name, drafts in rows.items()}
        self.lines.append({**line, **answer})
        if answer["rows"]:
            self.lines[-1].update(self.worker.sampled(output, line["accepted"]))
        return call

    def question(self, call: dict[str, Any]) -> dict[str, Any]:
        scheduled = []
        resumed = set(call.get("resumed", ()))
        for name, computed, tokens, drafts, padded in call["rows"]:
            request = self.scheduler.requests[name]
            admission = "running"
            if name in resumed or (name in call.get("new", ()) and name in self.admitted):
                admission = "resumed"
            elif name in call.get("new", ()):
                admission = "new"
            self.admitted.add(name)
            scheduled.append([name, ADMISSIONS.index(admission), computed, tokens, drafts, padded,
                              request.num_tokens, request.num_prompt_tokens])
        question: dict[str, Any] = {"scheduled": scheduled}
        question.update({name: call[name] for name in ("new_blocks", "finished", "preempted")
                         if name in call})
        return question


RUNNERS = {"v1": v1, "v2": v2}
STARTED: list[str] = []


def start() -> None:
    scheduling.start()
    vllm_driver_builders.pin_nothing()


def start_runner(name: str) -> Any:
    """Its module; one process drives one runner, because what they leave out of vllm differs."""
    if not STARTED:
        RUNNERS[name].start()
        STARTED.append(name)
    assert STARTED == [name], f"this process drives runner {STARTED[0]}"
    return RUNNERS[name]


def answer(plan: dict[str, Any]) -> dict[str, Any]:
    kept = {name: plan["config"][name] for name in KEPT_CONFIG}
    if kept["runner"] == "v2":
        kept["block_size"] = plan["config"]["cache_block_size"]
    if "calls" in plan:
        return {"id": plan["id"], "config": kept, "error": "a worker cannot be given calls"}
    try:
        run = WorkerRun(plan["config"], plan)
    except (AssertionError, ValueError, NotImplementedError) as error:
        return {"id": plan["id"], "config": kept, "error": f"{type(error).__name__}: {error}"}
    line: dict[str, Any] = {"id": plan["id"], "config": kept, "calls": run.lines}
    try:
        for _ in scheduling.Play(run, plan):
            pass
    except Exception as error:  # what vllm raises is an answer too
        where = traceback.extract_tb(error.__traceback__)[-1].name
        line["error"] = f"{type(error).__name__} in {where}: {error}"
        line["traceback"] = traceback.format_exc()
        run.lines[:] = [one for one in run.lines if "after" in one or not one["rows"]]
    return line
