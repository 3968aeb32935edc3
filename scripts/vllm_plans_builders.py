"""Random calls of the metadata builders: any batch that a runner could hand on, and some that only a
fault would make. Used by vllm_differential; vllm_driver_builders.py makes the calls.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

CLASSES = ("gdn", "mamba1", "mamba2")
# What a batch is made of.
THEMES = ("decodes", "verify", "mixed", "prompts", "padded", "anything")
# Every call is counted as a step.
STEP = "build"

Plan = dict[str, Any]
Row = dict[str, int]


class Case:
    """One builder with its calls."""

    def __init__(self, release: str, seed: str) -> None:
        major, minor = release.split(".")[:2]
        self.version = (int(major), int(minor))
        self.chance = random.Random(f"builders {release} {seed}")
        self.id = f"{release}/{seed}"
        self.config = self.make_config()
        self.theme = self.chance.choice(THEMES)
        self.next_block = 1

    def likely(self, probability: float) -> bool:
        return self.chance.random() < probability

    def plan(self) -> Plan:
        return {"id": self.id, "config": self.config,
                "calls": [self.call() for _ in range(self.chance.choice((1, 1, 2, 3, 4)))]}

    def make_config(self) -> dict[str, Any]:
        kind = self.chance.choice(CLASSES)
        modes = ["align"] * 4 + ["none"] * 2
        # GatedDeltaNet has no mode all, nor has any layer from 0.32.0 on.
        modes += ["all"] * (2 * (kind != "gdn" and self.version < (0, 32)))
        block = self.chance.choice((4, 4, 8, 16))
        mode = self.chance.choice(modes)
        drafts = self.chance.choice((0, 0, 1, 1, 2, 3, 4, 5))
        config = {
            "class": kind, "mamba_cache_mode": mode, "block_size": block, "num_spec": drafts,
            "max_num_seqs": self.chance.choice((1, 2, 4, 8)),
            "max_model_len": block * self.chance.choice((2, 5, 6, 10)),
            "max_cudagraph_capture_size": self.chance.choice((None, 1, 4, 8, 16, 64)),
            "full_cudagraph": self.likely(0.6), "runner": self.chance.choice(("v1", "v2")),
            "chunk_size": self.chance.choice((4, 8, 8, 64)) if kind == "mamba2" else None,
            "hash_block_size": block, "cache_hit_alignment_tokens": block,
            "num_prefill_checkpoint_blocks": 0, "prefill_checkpoint_alignment": None,
            "eagle_drop": False, "num_hash_lookahead_tokens": 0}
        if mode == "none":
            config["block_size"] = config["max_model_len"]
        if mode == "align" and self.can_store_states(kind) and self.likely(0.6):
            self.store_states(config, block)
        return config

    # Mamba2 and GatedDeltaNet are told of states inside a prefill from 0.32.0 and 0.33.0 on.
    def can_store_states(self, kind: str) -> bool:
        since = {"mamba2": (0, 32), "gdn": (0, 33)}
        return kind in since and self.version >= since[kind]

    def store_states(self, config: dict[str, Any], block: int) -> None:
        unit = self.chance.choice([u for u in (1, 2, 4, 8, 16) if block % u == 0])
        config["hash_block_size"] = unit
        config["cache_hit_alignment_tokens"] = self.chance.choice((unit, block))
        config["num_prefill_checkpoint_blocks"] = 1
        config["prefill_checkpoint_alignment"] = self.chance.choice((1, 1, 2, unit, block))
        if config["num_spec"]:
            config["eagle_drop"] = self.likely(0.4)
            if not config["eagle_drop"] and self.version >= (0, 33):
                config["num_hash_lookahead_tokens"] = self.chance.choice((0, 1, 2))

    # -- rows --

    def call(self) -> dict[str, Any]:
        rows = [self.row() for _ in range(self.chance.randint(1, self.config["max_num_seqs"]))]
        rows = self.ordered(rows)
        tokens = sum(row["query"] for row in rows)
        if self.likely(0.35):
            rows += [self.padding() for _ in range(self.chance.randint(1, 3))]
            tokens += self.chance.choice((0, 0, 1, 4))
        return {"batch": self.batch(rows, tokens), **self.counts(rows)}

    def row(self) -> Row:
        drafts = self.config["num_spec"]
        what = self.theme if self.likely(0.6) else self.chance.choice(THEMES)
        if what == "mixed":
            what = self.chance.choice(THEMES)
        longest = self.config["max_model_len"]
        if what in ("decodes", "verify"):
            query = 1 if what == "decodes" else self.chance.randint(1, 1 + drafts)
            query = 1 + drafts if what == "verify" and self.likely(0.5) else query
            query = min(query, longest - 1)
            computed = self.chance.randint(1, longest - query)
            return self.made(computed, query, False, query - 1)
        if what == "padded":  # the last token of a prompt with placeholder drafts
            query = min(1 + drafts, longest)
            computed = 0 if self.likely(0.4) else self.chance.randint(0, longest - query)
            return self.made(computed, query, True, query - 1 if self.likely(0.7) else -1)
        query = self.chance.choice((1, 2, 1 + drafts, self.chance.randint(1, longest)))
        query = min(query, longest)
        computed = 0 if self.likely(0.4) else self.chance.randint(0, longest - query)
        if what == "prompts":
            return self.made(computed, query, True, -1)
        return self.made(computed, query, self.likely(0.5),
                         self.chance.choice((-1, -1, 0, min(query - 1, drafts))))

    def made(self, computed: int, query: int, prefilling: bool, mask: int) -> Row:
        drafts = self.config["num_spec"]
        blocks = -(-(computed + query) // self.config["block_size"])
        first = self.next_block
        self.next_block += blocks + drafts
        return {"computed": computed, "query": query, "prefilling": int(prefilling),
                "mask": min(mask, drafts), "accepted": self.chance.randint(1, 1 + drafts),
                "first_block": first, "num_blocks": blocks + drafts}

    def padding(self) -> Row:
        return {"computed": 0, "query": 0, "prefilling": 0, "mask": -1, "accepted": 1,
                "first_block": 0, "num_blocks": 0}

    # Builders rely on decodes in front; now and then they do not get them.
    def ordered(self, rows: list[Row]) -> list[Row]:
        if self.likely(0.15):
            return rows
        longest = 1 + self.config["num_spec"]
        return sorted(rows, key=lambda row: (row["prefilling"], row["query"] > longest,
                                             row["mask"] < 0))

    def batch(self, rows: list[Row], tokens: int) -> dict[str, Any]:
        offsets = [0]
        for row in rows:
            offsets.append(offsets[-1] + row["query"])
        columns = self.columns()
        table = [[row["first_block"] + c if c < row["num_blocks"] else 0 for c in range(columns)]
                 for row in rows]
        return {"query_start_loc": offsets,
                "seq_lens": [row["computed"] + row["query"] for row in rows],
                "num_actual_tokens": tokens, "max_query_len": max(row["query"] for row in rows),
                "is_prefilling": [row["prefilling"] for row in rows], "block_table": table}

    def columns(self) -> int:
        drafts = self.config["num_spec"]
        if self.config["mamba_cache_mode"] == "none":
            return 1 + drafts
        columns = -(-self.config["max_model_len"] // self.config["block_size"]) + drafts
        # Mode all copies whole rows of the table, so it is as wide as the builder expects.
        return columns + (self.config["mamba_cache_mode"] == "align")

    # V1 may give neither in a step without drafts; V2 gives both from 0.25.0 on if there are any.
    def counts(self, rows: list[Row]) -> dict[str, Any]:
        if not self.config["num_spec"] or self.likely(0.15):
            return {"num_accepted_tokens": None, "num_decode_draft_tokens": None}
        return {"num_accepted_tokens": [row["accepted"] for row in rows],
                "num_decode_draft_tokens": [row["mask"] for row in rows]}


def plan(release: str, seed: str) -> Plan:
    return Case(release, seed).plan()


# ---- smaller ones ----


def without_calls(plan: Plan) -> Iterator[Plan]:
    calls = plan["calls"]
    for number in range(len(calls) if len(calls) > 1 else 0):
        yield {**plan, "calls": calls[:number] + calls[number + 1:]}


def without_rows(plan: Plan) -> Iterator[Plan]:
    for number, call in enumerate(plan["calls"]):
        for row in range(len(call["batch"]["seq_lens"])):
            if smaller := without_row(call, row):
                yield {**plan, "calls": [*plan["calls"][:number], smaller,
                                         *plan["calls"][number + 1:]]}


def without_row(call: dict[str, Any], row: int) -> dict[str, Any] | None:
    batch = call["batch"]
    offsets = batch["query_start_loc"]
    lengths = [end - begin for begin, end in zip(offsets, offsets[1:])]
    removed = lengths.pop(row)
    if not lengths:
        return None
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)

    def left(array: list[Any] | None) -> list[Any] | None:
        return None if array is None else array[:row] + array[row + 1:]

    return {"batch": {"query_start_loc": starts, "seq_lens": left(batch["seq_lens"]),
                      "num_actual_tokens": batch["num_actual_tokens"] - removed,
                      "max_query_len": max(lengths),
                      "is_prefilling": left(batch["is_prefilling"]),
                      "block_table": left(batch["block_table"])},
            "num_accepted_tokens": left(call["num_accepted_tokens"]),
            "num_decode_draft_tokens": left(call["num_decode_draft_tokens"])}


def with_plainer_settings(plan: Plan) -> Iterator[Plan]:
    for name, value in (("full_cudagraph", False), ("max_cudagraph_capture_size", None),
                        ("eagle_drop", False), ("num_hash_lookahead_tokens", 0), ("runner", "v1")):
        if plan["config"][name] != value:
            yield {**plan, "config": {**plan["config"], name: value}}


def passes(_version: tuple[int, int]) -> tuple[Callable[[Plan], Iterator[Plan]], ...]:
    """Ways to make a plan smaller, in the order in which they are tried."""
    return without_calls, without_rows, with_plainer_settings


def name_of(_call: dict[str, Any]) -> str:
    return "build"


def happened(call: dict[str, Any]) -> Iterator[str]:
    """What a call saw: where a count is 0, a run says nothing about it."""
    yield "build"
    metadata = call.get("metadata")
    if metadata is None:
        yield f"raised {call['error']}"
        return
    for name in ("num_prefills", "num_decodes", "num_spec_decodes"):
        if metadata.get(name):
            yield name.removeprefix("num_").replace("_", " ")
    if call["num_accepted_tokens"] is None:
        yield "without counts"
    if call["batch"]["seq_lens"][-1] == 0:
        yield "padding rows"
    if metadata.get("checkpoint") or metadata.get("checkpoint_meta"):
        yield "states inside a prefill"
