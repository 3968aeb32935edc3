"""Random runs of the scheduler and the cache: configuration, requests, aborts and resets. Used by
vllm_differential; vllm_driver_scheduler.py drives the real classes with them.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

EAGLE_LIKE = ("mtp", "eagle3")
THEMES = ("plain", "tight", "shared", "fine", "reset", "stale", "checkpoint", "pad", "budget",
          "priority")
STOP_TOKEN = 7
SHARED_PROMPTS = (100_000, 200_000)
# A call of this kind is counted as a step.
STEP = "schedule"

Plan = dict[str, Any]
Version = tuple[int, int]


def version_of(release: str) -> Version:
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


def plan(release: str, seed: str) -> Plan:
    return Scenario(release, seed).plan()


class Scenario:
    """One random plan. A theme makes likely what it is called after."""

    def __init__(self, release: str, seed: str) -> None:
        self.release = release
        self.version = version_of(release)
        self.seed = seed
        self.chance = random.Random(f"{release} {seed}")
        self.theme = self.chance.choice(THEMES)

    def likely(self, probability: float) -> bool:
        return self.chance.random() < probability

    def plan(self) -> Plan:
        config = self.config()
        requests = list(self.requests(config))
        return {"id": f"{self.release}/{self.seed}", "config": config, "requests": requests,
                "events": list(self.events(requests)), "seed": self.seed,
                "acceptance": self.chance.choice((0.0, 0.3, 0.7, 0.9, 1.0)),
                "stop": self.chance.choice((0.0, 0.0, 0.02, 0.1)),
                "max_steps": self.chance.choice((20, 30, 45))}

    # -- configuration --

    def config(self) -> dict[str, Any]:
        mode = self.mode()
        caching = mode != "none" and self.likely(0.93)
        config: dict[str, Any] = {
            "theme": self.theme, "async": self.likely(0.85 if self.theme == "stale" else 0.5),
            "release": self.release, "mamba_cache_mode": mode,
            "block_size": self.chance.choice((4, 4, 8, 8, 8, 16)), "enable_caching": caching,
            "max_model_len": self.chance.choice((24, 27, 35, 43, 48, 51, 64, 67, 80, 83, 96, 128)),
            "stop_token": STOP_TOKEN, "runner": self.chance.choice(("v1", "v2")),
            "policy": "priority" if self.theme == "priority" or self.likely(0.1) else "fcfs",
            "watermark": self.chance.choice((0.0, 0.0, 0.0, 0.02, 0.05, 0.1)),
            "reserve_full_isl": self.likely(0.5),
        }
        self.choose_drafts(config)
        config["groups"] = self.groups(config)
        config["prefix_match_unit"] = self.match_unit(config)
        self.choose_checkpoints(config)
        config["retention_interval"] = self.retention(config)
        self.choose_limits(config)
        derive(config, self.version)
        config["num_blocks"] = self.pool(config)
        return config

    def mode(self) -> str:
        if self.theme in ("fine", "checkpoint", "shared"):
            return "align"
        modes = ["align"] * 6 + ["none"] + ["all"] * (self.version < (0, 32))
        return self.chance.choice(modes)

    def choose_drafts(self, config: dict[str, Any]) -> None:
        methods = (None, "mtp", "mtp", "eagle3", "eagle3", "ngram", "draft_model")
        method = self.chance.choice(methods[1:] if self.theme == "pad" else methods)
        drafts = self.chance.choice((1, 1, 2, 2, 3, 4, 5)) if method else 0
        eagle = method in EAGLE_LIKE
        config["method"], config["num_spec_tokens"] = method, drafts
        config["disable_eagle_block_drop"] = (
            eagle and self.version >= (0, 30) and self.likely(0.12))
        hashes = (eagle and self.version >= (0, 33) and config["enable_caching"]
                  and not config["disable_eagle_block_drop"] and self.likely(0.75))
        config["num_hash_lookahead_tokens"] = int(hashes)

    def groups(self, config: dict[str, Any]) -> list[dict[str, Any]]:
        kinds = self.chance.choice((["full", "mamba"], ["full", "mamba"], ["mamba", "full"],
                                    ["full", "mamba", "mamba"], ["mamba", "mamba", "full"],
                                    ["full", "full", "mamba"], ["full", "mamba", "mamba", "mamba"],
                                    ["mamba", "full", "mamba", "full"]))
        block = config["block_size"]
        alike = config["mamba_cache_mode"] == "all" or self.likely(0.6)
        full = block if alike else self.chance.choice((4, 8, 16, 2 * block))
        mamba = block
        if config["mamba_cache_mode"] == "none":
            mamba = config["max_model_len"]
        elif not alike and self.likely(0.3):
            mamba = self.chance.choice((3 * full, 2 * full, 6 * full))
            config["block_size"] = mamba
        groups = [{"type": kind, "block_size": full if kind == "full" else mamba,
                   "is_eagle_group": False} for kind in kinds]
        if kinds.count("full") > 1 and not alike and self.likely(0.4):
            last = max(i for i, kind in enumerate(kinds) if kind == "full")
            groups[last]["block_size"] = 2 * full
        # Which groups are flagged: none before 0.31, then those with layers of the drafter.
        if config["method"] in EAGLE_LIKE and self.version >= (0, 31) and self.likely(0.7):
            flagged = [group for group in groups if group["type"] == "full"]
            if self.likely(0.1):
                flagged = self.chance.sample(groups, self.chance.randint(1, len(groups)))
            for group in flagged if self.likely(0.5) else flagged[-1:]:
                group["is_eagle_group"] = True
        return groups

    def match_unit(self, config: dict[str, Any]) -> int | None:
        if not config["enable_caching"] or self.likely(0.0 if self.theme == "fine" else 0.6):
            return None
        common = math.gcd(*(group["block_size"] for group in config["groups"]))
        return self.chance.choice([unit for unit in range(1, common + 1) if common % unit == 0])

    def choose_checkpoints(self, config: dict[str, Any]) -> None:
        able = config["mamba_cache_mode"] == "align" and self.version >= (0, 30)
        config["shared_prefix_checkpoint"] = able and self.likely(0.25)
        # A verified row over a whole block would reserve a checkpoint too, which vllm refuses
        # with an AssertionError; real blocks are wider.
        able = able and config["block_size"] > config["num_spec_tokens"]
        chosen = able and self.likely(0.9 if self.theme == "checkpoint" else 0.15)
        unit = config["prefix_match_unit"] or config["block_size"]
        config["num_prefill_checkpoint_blocks"] = int(chosen)
        config["prefill_checkpoint_alignment"] = (
            self.chance.choice((1, 1, 2, 4, 8, unit)) if chosen else None)

    def retention(self, config: dict[str, Any]) -> int | None:
        if not config["enable_caching"] or self.likely(0.45):
            return None
        step = math.lcm(*(group["block_size"] for group in config["groups"]))
        return self.chance.choice((0, 0, step, 2 * step, 3 * step, 4 * step))

    def choose_limits(self, config: dict[str, Any]) -> None:
        block = config["block_size"]
        config["max_num_seqs"] = self.chance.choice((2, 3, 4, 4, 6, 8))
        small = (block, block + 1, 2 * block, 2 * block + 3, 3 * block, 9, 12, 16, 19, 35)
        tokens = self.chance.choice(small if self.theme == "budget" or self.likely(0.35)
                                    else (48, 64, 67, 128))
        # The engine wants a block of align mode to fit in a step; smaller ones are rare.
        if config["mamba_cache_mode"] == "align" and not self.likely(0.05):
            tokens = max(tokens, block)
        config["max_num_batched_tokens"] = max(tokens, config["max_num_seqs"])
        thresholds = (2, 3, 4, 5) if self.theme == "pad" else (3, 4, 7, 8, 11, 12, 16, 24)
        config["long_prefill_token_threshold"] = (
            self.chance.choice(thresholds) if self.likely(0.25) else 0)
        config["enable_chunked_prefill"] = True
        if config["mamba_cache_mode"] != "align" and self.likely(0.2):
            config["enable_chunked_prefill"] = False
            config["max_num_batched_tokens"] = max(config["max_model_len"],
                                                   config["max_num_batched_tokens"])

    def pool(self, config: dict[str, Any]) -> int:
        need = blocks_of_a_request(config)
        if self.theme in ("tight", "priority") or self.likely(0.3):
            return 2 + need + self.chance.randint(0, need)
        return 2 + need * self.chance.randint(2, 4) + self.chance.randint(0, 10)

    # -- requests --

    def requests(self, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
        longest = config["max_model_len"] - 1
        known: list[dict[str, Any]] = []
        for number in range(self.chance.randint(2, 8 if self.likely(0.8) else 14)):
            prompt = clipped(self.prompt(number, known, config["block_size"]), longest)
            known.append({
                "id": f"r{number}", "prompt": prompt,
                "max_tokens": self.chance.choice((1, 2, 4, 6, 8, 12, 16, 24)),
                "priority": self.chance.randint(0, 2) if config["policy"] == "priority" else 0,
                # Requests may be as old as others, or come late.
                "arrival": self.chance.randint(1, 4) if self.likely(0.1) else 10 + number,
                "first_output": 1000 * (number + 1) + 500})
            yield known[-1]

    def prompt(self, number: int, known: list[dict[str, Any]], block: int) -> list[list[int]]:
        own = 1_000_000 + 1000 * (number + 1)
        length = self.length(block)
        if known and self.likely(0.45 if self.theme in ("shared", "fine", "checkpoint") else 0.25):
            earlier = self.chance.choice(known)
            again = [list(part) for part in earlier["prompt"]]
            match self.chance.randrange(4):
                case 0:
                    return again
                case 1:
                    return [*again, [own, length]]
                case 2:
                    return [*clipped(again, self.length(block)), [own, length]]
            # A conversation goes on: the answer is part of the next prompt.
            answer = [earlier["first_output"], self.chance.randint(1, 2 * block)]
            return [*again, answer, [own, self.length(block)]]
        if self.likely(0.6 if self.theme in ("shared", "fine", "checkpoint") else 0.3):
            return [[self.chance.choice(SHARED_PROMPTS), self.length(block)], [own, length]]
        return [[own, length]]

    def length(self, block: int) -> int:
        if self.theme == "pad" and self.likely(0.4) or self.likely(0.05):
            return 1
        if self.likely(0.5):
            return max(1, block * self.chance.randint(1, 4) + self.chance.choice((-1, 0, 0, 1, 2)))
        return self.chance.randint(1, 42)

    # -- events --

    def events(self, requests: list[dict[str, Any]]) -> Iterator[list[Any]]:
        resets = 0.2 if self.theme in ("reset", "stale") else 0.03
        together = self.likely(0.2)
        added: list[str] = []
        for request in requests:
            yield ["add", request["id"]]
            added.append(request["id"])
            for _ in range(0 if together else self.chance.randint(0, 4)):
                yield from self.between(added, resets)
                yield self.step(added)
        for _ in range(self.chance.randint(0, 8)):
            yield from self.between(added, resets)
            yield self.step(added)

    def between(self, added: list[str], resets: float) -> Iterator[list[Any]]:
        if self.likely(0.04):
            yield ["abort", self.chance.choice(added)]
        if self.likely(resets):
            yield ["reset", self.likely(0.75)]

    def step(self, added: list[str]) -> list[Any]:
        return ["step", self.chance.choice(added)] if self.likely(0.03) else ["step"]


def clipped(prompt: list[list[int]], length: int) -> list[list[int]]:
    """The first tokens of a prompt."""
    parts = []
    for first, count in prompt:
        taken = min(count, length)
        if taken:
            parts.append([first, taken])
        length -= taken
    return parts


def blocks_of_a_request(config: dict[str, Any]) -> int:
    """The blocks that the longest request needs, as the engine demands at its start."""
    scratch = config["num_spec_tokens"]
    need = 0
    for group in config["groups"]:
        columns = -(-config["max_model_len"] // group["block_size"])
        if group["type"] == "full":
            need += columns
        elif config["mamba_cache_mode"] == "align":
            need += 2 + scratch + config["num_prefill_checkpoint_blocks"]
        else:
            need += scratch + (columns if config["mamba_cache_mode"] == "all" else 1)
    return need


def derive(config: dict[str, Any], version: Version) -> None:
    """Settings that follow from others, as VllmConfig has them."""
    eagle = config["method"] in EAGLE_LIKE
    draft_model = config["method"] == "draft_model"
    config["num_lookahead_tokens"] = config["num_spec_tokens"] if eagle or draft_model else 0
    config["draft_slots"] = int(draft_model and version >= (0, 28))
    config["num_prefill_lookahead_tokens"] = int(eagle and version >= (0, 28))
    config["eagle_drop"] = (eagle and not config["disable_eagle_block_drop"]
                            and not config["num_hash_lookahead_tokens"])


# ---- smaller ones ----


def without_events(plan: Plan) -> Iterator[Plan]:
    """Long runs of events first, then single ones, then requests that no event adds."""
    events = plan["events"]
    size = max(len(events) // 2, 1)
    while size:
        for start in range(0, len(events), size):
            yield {**plan, "events": events[:start] + events[start + size:]}
        size //= 2
    added = {event[1] for event in events if event[0] == "add"}
    if any(request["id"] not in added for request in plan["requests"]):
        yield {**plan, "requests": [r for r in plan["requests"] if r["id"] in added]}


def with_smaller_requests(plan: Plan) -> Iterator[Plan]:
    for number, request in enumerate(plan["requests"]):
        parts = request["prompt"]
        changes = [{"max_tokens": 1}, {"max_tokens": request["max_tokens"] // 2}]
        changes += [{"prompt": parts[:i] + parts[i + 1:]} for i in range(len(parts)) if parts[1:]]
        changes += [{"prompt": [*parts[:i], [first, less], *parts[i + 1:]]}
                    for i, (first, count) in enumerate(parts) for less in (count // 2, count - 1)
                    if less]
        for change in changes:
            smaller = {**request, **change}
            if smaller != request and smaller["max_tokens"]:
                yield {**plan, "requests": [*plan["requests"][:number], smaller,
                                            *plan["requests"][number + 1:]]}


def with_plainer_settings(plan: Plan, version: Version) -> Iterator[Plan]:
    config = plan["config"]
    plainer = [("async", False), ("method", None), ("num_spec_tokens", 1),
               ("watermark", 0.0), ("reserve_full_isl", False),
               ("long_prefill_token_threshold", 0), ("retention_interval", None),
               ("shared_prefix_checkpoint", False), ("policy", "fcfs"), ("runner", "v1"),
               ("prefix_match_unit", None), ("num_prefill_checkpoint_blocks", 0),
               ("max_num_batched_tokens", 128), ("disable_eagle_block_drop", False)]
    for name, value in plainer:
        if config[name] == value or (name == "num_spec_tokens" and not config["method"]):
            continue
        changed = {**config, name: value}
        if changed["method"] is None:
            changed.update(num_spec_tokens=0, num_hash_lookahead_tokens=0,
                           disable_eagle_block_drop=False,
                           groups=[{**g, "is_eagle_group": False} for g in changed["groups"]])
        if not changed["num_prefill_checkpoint_blocks"]:
            changed["prefill_checkpoint_alignment"] = None
        derive(changed, version)
        yield {**plan, "config": changed}
    if len(config["groups"]) > 2:
        for number in range(len(config["groups"])):
            groups = config["groups"][:number] + config["groups"][number + 1:]
            if len({group["type"] for group in groups}) == 2:
                yield {**plan, "config": {**config, "groups": groups}}
    for name in ("stop", "acceptance"):
        if plan[name]:
            yield {**plan, name: 0.0}


def passes(version: Version) -> tuple[Callable[[Plan], Iterator[Plan]], ...]:
    """Ways to make a plan smaller, in the order in which they are tried."""
    return (without_events, lambda plan: with_plainer_settings(plan, version),
            with_smaller_requests)


def name_of(call: dict[str, Any]) -> str:
    return call["op"]


def happened(call: dict[str, Any]) -> Iterator[str]:
    """What a call saw: where a count is 0, a run says nothing about it."""
    yield call["op"]
    if call["op"] == "reset":
        yield "reset that was done" if call["result"] else "reset refused"
    names = {"preempted": "preemption", "resumed": "resumption", "copies": "block copies",
             "moved": "keys moved", "checkpoints": "checkpoint reserved",
             "skip_drafts": "drafts skipped"}
    yield from (title for name, title in names.items() if name in call)
    for _, hit, junction, *_ in call.get("lookups", ()):
        yield "hit" if hit else "no hit"
        if junction:
            yield "junction"
    yield from ("padded row" for row in call.get("rows", ()) if row[4])
    if any(len(counts) > 4 for counts in call.get("req", {}).values() if counts):
        yield "stale tokens"
