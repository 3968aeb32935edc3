"""Traces of a scheduler without a runner, as tests of schedulers have it."""

from hybridscope.hybridscope_trace import TraceWriter


class SchedulerOnlyWriter(TraceWriter):
    """Adds the rows that a runner without faults would have: those that verify or decode first, with
    the counts that follow from the tokens that came back. Without a forward pass steps have no
    times."""

    def __init__(self, file):
        super().__init__(file)
        self._sampled = {}  # request -> tokens that its last frame gave, at least 1
        self._computed = {}  # request -> computed tokens that its next frame begins with

    def finish(self, model_runner_output, postprocess_copies=None, step_time_us=None):
        if model_runner_output.req_ids:
            self._leave_empty_steps()
        if not self._lines:
            raise ValueError("an output without a step")
        line = self._lines[0]
        if "input_batch" not in line and line["scheduler_output"]["num_scheduled_tokens"]:
            line["input_batch"] = self._rows_of(line["scheduler_output"])
        super().finish(model_runner_output, postprocess_copies)
        if "model_runner_output" in line:
            self._note(line)

    def returned(self, kv_cache_manager=None, step_time_us=None):
        super().returned(kv_cache_manager)

    def _rows_of(self, output):
        self._begin(output)
        drafts = output["scheduled_spec_decode_tokens"]
        rows = sorted(output["num_scheduled_tokens"], key=lambda request: (
            output["num_scheduled_tokens"][request] > 1 + len(drafts.get(request, ()))))
        counts = [self._sampled[request] for request in rows]
        record = {"req_ids": rows, "num_accepted_tokens_cpu": counts}
        if self.is_async:
            record["num_accepted_tokens"] = counts
            record["num_computed_tokens"] = [self._computed[request] for request in rows]
        return record

    def _begin(self, output):
        cached = output["scheduled_cached_reqs"]
        computed = dict(zip(cached["req_ids"], cached["num_computed_tokens"]))
        for new in output["scheduled_new_reqs"]:
            self._start(new["req_id"], new["num_computed_tokens"])
        for request in cached["resumed_req_ids"]:
            self._start(request, computed[request])

    def _start(self, request, computed):
        self._sampled[request], self._computed[request] = 1, computed

    def _note(self, line):
        output, answer = line["scheduler_output"], line["model_runner_output"]
        sampled = dict(zip(answer["req_ids"], answer["sampled_token_ids"] or []))
        for request, tokens in output["num_scheduled_tokens"].items():
            count = max(1, len(sampled.get(request, ())))
            drafts = len(output["scheduled_spec_decode_tokens"].get(request, ()))
            self._sampled[request] = count
            self._computed[request] += tokens - max(0, drafts + 1 - count)
