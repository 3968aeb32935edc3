"""Random runs for runner V1: those of the scheduler, with what the runner takes. Used by
vllm_differential; vllm_driver_worker.py makes the calls.
"""

from collections.abc import Iterator
from typing import Any

import vllm_plans_scheduler as scheduling
from vllm_plans_scheduler import Plan, Version, version_of

STEP = "step"


def plan(release: str, seed: str) -> Plan:
    version = version_of(release)
    made = scheduling.plan(release, f"{seed}/worker")
    config = made["config"]
    if config["mamba_cache_mode"] == "all":
        config["mamba_cache_mode"] = "align"
    if config["mamba_cache_mode"] == "align":  # the runners want both or neither
        config["enable_caching"] = True
    if config["async"] and config["method"] in ("ngram", "draft_model"):
        config["method"] = "mtp"
    config["runner"] = "v1"
    scheduling.derive(config, version)
    return made


passes = scheduling.passes


def name_of(call: dict[str, Any]) -> str:
    return call["op"]


def happened(call: dict[str, Any]) -> Iterator[str]:
    """What a call saw: where a count is 0, a run says nothing about it."""
    yield "step"
    for _, admission, _, _, drafts, padded, *_ in call["scheduled"]:
        yield ("running row", "new row", "resumed row")[admission]
        if padded:
            yield "padded row"
        elif drafts:
            yield "verify row"
    yield from ("copy" for _ in call.get("copies", ()))
    yield from ("more than one accepted" for count in call["accepted"].values() if count > 1)
    if call.get("uniform"):
        yield "uniform batch"
