"""Random runs for runner V2: those of the scheduler, with what the runner takes. Used by
vllm_differential; vllm_driver_worker.py makes the calls.
"""

from collections.abc import Callable, Iterator
from typing import Any

import vllm_plans_scheduler as scheduling
from vllm_plans_scheduler import Plan, Version
from vllm_plans_worker import STEP, happened, name_of

__all__ = ["STEP", "happened", "name_of", "passes", "plan"]

FIRST_WITH_ALIGN = (0, 25)


class Scenario(scheduling.Scenario):
    def mode(self) -> str:
        if self.version < FIRST_WITH_ALIGN:
            return self.chance.choice(("none", "all"))
        return super().mode()

    def config(self) -> dict[str, Any]:
        config = super().config()
        config["runner"] = "v2"
        if config["mamba_cache_mode"] == "align":  # the runners want both or neither
            config["enable_caching"] = True
        # The setting of an engine is no larger than the blocks of any group.
        config["cache_block_size"] = min(group["block_size"] for group in config["groups"])
        return config


def plan(release: str, seed: str) -> Plan:
    made = Scenario(release, f"{seed}/worker").plan()
    return {**made, "id": f"{made['id']}_v2"}  # vectors of both runners share a file


def passes(version: Version) -> tuple[Callable[[Plan], Iterator[Plan]], ...]:
    """Those of the scheduler; the runner stays."""
    def of_this_runner(candidates: Callable[[Plan], Iterator[Plan]]) -> Any:
        return lambda plan: (smaller for smaller in candidates(plan)
                             if smaller["config"]["runner"] == "v2")

    return tuple(of_this_runner(candidates) for candidates in scheduling.passes(version))
