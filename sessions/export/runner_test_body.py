

def scheduler_output(step):
    new, cached = [], CachedRequestData.make_empty()
    for row in step["scheduled"]:
        name, told = row["request"], REQUESTS[row["request"]]
        blocks = tuple(list(ids) for ids in row["new_blocks"])
        if row["admission"] == "new":
            new.append(
                NewRequestData(
                    req_id=name,
                    prompt_token_ids=[TOKEN] * told["num_prompt_tokens"],
                    mm_features=[],
                    sampling_params=SamplingParams(
                        temperature=0.0, max_tokens=told["max_tokens"]
                    ),
                    pooling_params=None,
                    block_ids=blocks,
                    num_computed_tokens=row["computed"],
                    lora_request=None,
                )
            )
            continue
        resumed = row["admission"] == "resumed"
        cached.req_ids.append(name)
        if resumed:
            cached.resumed_req_ids.add(name)
        cached.all_token_ids[name] = [TOKEN] * (told["num_prompt_tokens"] + row["outputs"])
        cached.new_block_ids.append(blocks if resumed or any(blocks) else None)
        cached.num_computed_tokens.append(row["computed"])
        cached.num_output_tokens.append(row["outputs"])
    output = SchedulerOutput.make_empty()
    output.scheduled_new_reqs = new
    output.scheduled_cached_reqs = cached
    output.num_scheduled_tokens = {row["request"]: row["tokens"] for row in step["scheduled"]}
    output.total_num_scheduled_tokens = sum(output.num_scheduled_tokens.values())
    for row in step["scheduled"]:
        if row["drafts"]:
            unknown = row["placeholders"] or CONFIG["async_scheduling"]
            output.scheduled_spec_decode_tokens[row["request"]] = [
                PLACEHOLDER if unknown else DRAFT
            ] * row["drafts"]
    output.finished_req_ids = set(step["finished"])
    output.preempted_req_ids = set(step["preempted"])
    return output


LABELS = {}
REJECTED = -1


def label(name, count):
    """A number for the state after `count` tokens: the same where these tokens are the same."""
    tokens = REQUESTS[name]["tokens"]
    beyond = (name, count) if count > len(tokens) else None
    key = (REQUESTS[name]["cache_salt"], tuple(tokens[:count]), beyond)
    return LABELS.setdefault(key, len(LABELS) + 1) if count > 0 else 0


class Layers:
    """Stands for the model: reads and writes the states where its kernels would, a label each."""

    def __init__(self, runner):
        self.runner = runner
        self.context = runner.compilation_config.static_forward_context
        self.groups = [number for number in range(len(GROUPS)) if f"layer{number}" in self.context]

    def states(self, group):
        return self.context[f"layer{group}"].kv_cache

    def snapshot(self):
        return {group: [state.clone() for state in self.states(group)] for group in self.groups}

    def copied(self, before, copies):
        """What the states are to be after these copies, which have no order."""
        after = {group: [state.clone() for state in states] for group, states in before.items()}
        for group, conv_source, temporal_source, target, bias in copies:
            conv, temporal = before[group]
            kept = conv.shape[1] - bias
            after[group][0][target, :kept] = conv[conv_source, bias:]
            after[group][1][target] = temporal[temporal_source]
        return after

    def assert_copied(self, before, copies, where):
        expected = self.copied(before, copies)
        for group in self.groups:
            for kind, state, wanted in zip(
                ("conv", "temporal"), self.states(group), expected[group]
            ):
                differs = [
                    f"block {block} holds {state[block, :, 0].int().tolist()}, "
                    f"not {wanted[block, :, 0].int().tolist()}"
                    for block in range(1, len(state))
                    if not torch.equal(state[block], wanted[block])
                ]
                assert not differs, f"{where}, group {group}, {kind} states: {differs}"

    def place(self, row, group):
        """The row's blocks from its running column on, and the accepted count less one."""
        table = row["tables"][group]
        column = self.runner.mamba_state_idx[row["request"]] if ALIGN else 0
        index = self.runner.input_batch.req_id_to_index[row["request"]]
        count = int(self.runner.num_accepted_tokens.gpu[index]) if DRAFTS else 1
        return table[column:], count - 1 if row["decode"] else 0

    def assert_reads(self, row, where):
        """The state that the row reads is the one after its computed tokens."""
        name, computed = row["request"], row["computed"]
        if computed == 0 or not row["reads_right"]:
            return
        for group in self.groups:
            conv, temporal = self.states(group)
            blocks, bias = self.place(row, group)
            found = int(temporal[blocks[bias], 0, 0])
            assert found == label(name, computed), (
                f"{where}, group {group}: reads the temporal state {self.words(found)}, "
                f"not after {computed} tokens"
            )
            window = conv[blocks[0], bias : bias + WINDOW, 0].int().tolist()
            wanted = [label(name, computed - WINDOW + 1 + i) for i in range(WINDOW)]
            assert window == wanted, (
                f"{where}, group {group}: reads the conv tokens {window}, not {wanted}"
            )

    @staticmethod
    def words(found):
        for (_, tokens, beyond), number in LABELS.items():
            if number == found:
                return f"after {beyond[1] if beyond else len(tokens)} tokens"
        return "of a rejected draft" if found == REJECTED else "of no request"

    def write(self, row, tokens):
        name, start = row["request"], row["computed"]
        accepted = start + max(row["sampled"], 1) if row["decode"] else start + tokens

        def value(count):
            return label(name, count) if count <= accepted else REJECTED

        for group in self.groups:
            conv, temporal = self.states(group)
            blocks, _ = self.place(row, group)
            if row["decode"]:
                for i in range(tokens):
                    temporal[blocks[i]] = value(start + i + 1)
                for i in range(WINDOW + tokens - 1):
                    conv[blocks[0], i] = value(start + 2 - WINDOW + i)
                continue
            ends = [(start + tokens, blocks[0])]
            if row["checkpoint"]:  # a state stored inside the chunk
                position, column = row["checkpoint"]
                ends.append((position, row["tables"][group][column]))
            for end, block in ends:
                temporal[block] = value(end)
                for i in range(WINDOW):
                    conv[block, i] = value(end - WINDOW + 1 + i)


def assert_rows(runner, step, where):
    rows = step["rows"]
    batch = runner.input_batch
    assert batch.req_ids == [row["request"] for row in rows], f"{where}: rows"
    for index, row in enumerate(rows):
        for group in range(len(GROUPS)):
            table = batch.block_table[group]
            known = table.num_blocks_per_row[index]
            found = table.get_numpy_array()[index, :known].tolist()
            assert found == row["tables"][group], (
                f"{where} {row['request']}: block table of group {group}"
            )
    found = runner.num_computed_tokens[: len(rows)].tolist()
    assert found == [row["computed"] for row in rows], f"{where}: computed tokens of the rows"


def run_step(runner, layers, step):
    where = f"step {step['step']}"
    output = scheduler_output(step)
    correct = runner._update_states(output)
    if not step["rows"]:
        return
    names = list(runner.input_batch.req_ids)
    tokens = output.num_scheduled_tokens
    runner._prepare_inputs(output, np.array([tokens[name] for name in names], dtype=np.int32))
    if correct and ALIGN:
        correct()
    assert_rows(runner, step, where)
    rows = step["rows"]
    if ALIGN and DRAFTS:
        found = runner.input_batch.num_accepted_tokens_cpu[: len(rows)].tolist()
        wanted = [row["accepted_before"] for row in rows]
        assert found == wanted, f"{where}: accepted counts of the rows {names} before the copies"
    for source, target in step["block_copies"]:
        for group in layers.groups:
            for state in layers.states(group):
                state[target] = state[source]
    if ALIGN:
        before = layers.snapshot()
        runner.copy_before_the_forward_pass(output)
        columns = [runner.mamba_state_idx[name] for name in names]
        assert columns == [row["column"] for row in rows], f"{where}: running columns of {names}"
        layers.assert_copied(before, step["pre_copies"], f"{where}, copies before the forward pass")
    if DRAFTS:
        found = runner.num_accepted_tokens.gpu[: len(rows)].tolist()
        assert found == [row["accepted"] for row in rows], (
            f"{where}: accepted counts of the rows {names} as given to the builders"
        )
    if any(row["drafts"] for row in step["scheduled"]):  # else the builders are not told
        found = runner.num_decode_draft_tokens.np[: len(rows)].tolist()
        assert found == [row["verifies"] for row in rows], (
            f"{where}: drafts that the rows {names} verify (-1: a prefill)"
        )
    for row in rows:
        layers.assert_reads(row, f"{where} {row['request']}")
    if correct and not ALIGN:
        correct()
    for row in rows:
        layers.write(row, tokens[row["request"]])
    before = layers.snapshot()
    runner.finish(output, {row["request"]: max(row["sampled"], 1) for row in rows})
    layers.assert_copied(before, step["post_copies"], f"{where}, copies after sampling")


def stand_for_a_gpu(monkeypatch):
    """Host memory is pinned only for a GPU; one rank; slots of attention are left out."""
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and hasattr(module, "PIN_MEMORY"):
            monkeypatch.setattr(module, "PIN_MEMORY", False)
        if name.startswith("vllm.") and hasattr(module, "is_pin_memory_available"):
            monkeypatch.setattr(module, "is_pin_memory_available", lambda: False)
    rank = SimpleNamespace(is_last_rank=True, is_first_rank=True, world_size=1)
    monkeypatch.setattr(gpu_model_runner, "get_pp_group", lambda: rank)
    tables = block_table.MultiGroupBlockTable
    monkeypatch.setattr(tables, "compute_slot_mapping", lambda *_, **__: None)
    if hasattr(mamba_utils, "_TEMPORAL_TILES"):
        monkeypatch.setattr(mamba_utils, "_TEMPORAL_TILES", 1)  # the states are small


def test_rows_counts_copies_and_states(monkeypatch):
    stand_for_a_gpu(monkeypatch)
    runner = Runner()
    layers = Layers(runner)
    for step in STEPS:
        run_step(runner, layers, step)
