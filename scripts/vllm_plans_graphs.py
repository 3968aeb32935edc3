"""Random engines and batches, for which CUDA graphs are asked. Used by vllm_differential;
vllm_driver_graphs.py asks.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

MODES = ("PIECEWISE", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE", "FULL_AND_PIECEWISE")
# Every call is counted as a step.
STEP = "dispatch"

Plan = dict[str, Any]


def make_config(release: str, chance: random.Random) -> dict[str, Any]:
    config: dict[str, Any] = {
        "release": release, "runner": chance.choice(("v1", "v2", "v2")),
        "cudagraph_mode": chance.choice(MODES), "num_spec": chance.choice((0, 1, 2, 3, 4, 6, 15)),
        "max_num_seqs": chance.choice((1, 2, 3, 4, 5, 8, 13, 32, 100, 256, 600)),
        "max_num_batched_tokens": chance.choice((16, 33, 64, 100, 512, 2048, 8192)),
        "max_cudagraph_capture_size": None, "cudagraph_capture_sizes": None}
    kind = chance.random()
    if kind < 0.25:
        # One at least is left below the budget: without any, hybridscope refuses to start.
        least = chance.randint(1, 16)
        others = chance.sample(range(1, 80), chance.randint(0, 5))
        config["cudagraph_capture_sizes"] = sorted({least, *others})
    elif kind < 0.4:
        config["max_cudagraph_capture_size"] = chance.randint(1, 300)
    return config


def make_call(config: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    rows = chance.randint(1, chance.choice((3, 8, config["max_num_seqs"])))
    rows = min(rows, config["max_num_seqs"])
    width = 1 + config["num_spec"]
    if chance.random() < 0.5:
        return {"num_tokens": rows * width, "num_reqs": rows, "uniform": 1}
    return {"num_tokens": rows + chance.randint(0, rows * width + 40), "num_reqs": rows,
            "uniform": 0}


def plan(release: str, seed: str) -> Plan:
    chance = random.Random(f"graphs {release} {seed}")
    config = make_config(release, chance)
    return {"id": f"{release}/{seed}", "config": config,
            "calls": [make_call(config, chance) for _ in range(chance.randint(2, 12))]}


def name_of(_call: dict[str, Any]) -> str:
    return STEP


def happened(call: dict[str, Any]) -> list[str]:
    return [STEP, f"{call['mode']}{' of decodes' if call['uniform'] else ''}"]


# ---- what a smaller plan leaves out ----


def fewer_calls(given: Plan) -> Iterator[Plan]:
    for at in range(len(given["calls"])):
        if len(given["calls"]) > 1:
            yield {**given, "calls": given["calls"][:at] + given["calls"][at + 1:]}


def smaller_settings(given: Plan) -> Iterator[Plan]:
    for name, values in (("num_spec", (0, 1, 2)), ("max_num_seqs", (1, 2, 4)),
                         ("max_num_batched_tokens", (64, 512))):
        for value in values:
            if value < given["config"][name]:
                yield {**given, "config": {**given["config"], name: value}}


def passes(_version: tuple[int, int]) -> tuple[Callable[[Plan], Iterator[Plan]], ...]:
    return fewer_calls, smaller_settings
