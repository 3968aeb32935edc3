#include "tests/sessions/judge/judged_run.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "core/base/policy_set.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test {

std::vector<nlohmann::json> trace_of(const std::string& name,
                                     const std::function<void(EngineConfig&)>& change) {
  const std::string file = fmt::format("{}/scenarios/{}.json", HYBRIDSCOPE_SOURCE_DIR, name);
  const Scenario scenario = read_scenario_file(file).value();
  RunPlan plan = plan_scenario(scenario, file).value();
  if (change) change(plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  const Engine& engine = runner.engine();
  TraceWriter writer(engine.config(), traced_requests_of(engine));
  std::vector<nlohmann::json> lines = {nlohmann::json::parse(writer.header(name))};
  while (!runner.done())
    lines.push_back(nlohmann::json::parse(writer.step(*runner.step().value())));
  return lines;
}

void strip(std::vector<nlohmann::json>& lines, bool keeps_copies) {
  const bool keeps_hashes = lines[0]["config"].contains("hits_inside_blocks");
  for (nlohmann::json& line : lines) {
    for (const char* optional :
         {"preprocess_copies", "cudagraph", "attn_metadata", "num_drafts_offered"})
      line.erase(optional);
    if (!keeps_copies) line.erase("postprocess_copies");
    if (!keeps_hashes)
      for (const char* hashes : {"block_hashes", "block_hashes_after_output"}) line.erase(hashes);
    if (!line.contains("input_batch")) continue;
    for (const char* optional : {"num_accepted_tokens", "num_accepted_tokens_after_preprocess",
                                 "num_computed_tokens", "idx_mapping"})
      line["input_batch"].erase(optional);
  }
}

Judgement judge(const std::vector<std::string>& lines) {
  Judgement judgement;
  judgement.computed.resize(kNumComputed);
  JudgedTrace trace("t.jsonl", CheckScope::all);
  RootTracker roots(true);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto taken = trace.take(std::string_view(lines[i]), static_cast<std::int64_t>(i) + 1);
    if (!taken.ok()) {
      judgement.error = taken.error().message;
      return judgement;
    }
    if (!taken.value().step) continue;
    const StepTrace& step = taken.value().step->trace;
    for (const Finding& finding : taken.value().step->findings) {
      if (rule_info(finding.rule).severity == Severity::error &&
          roots.add(finding) == judgement.decisions.size())
        judgement.decisions.push_back(roots.decision(step, finding, trace.names()));
      judgement.has_errors =
          judgement.has_errors || rule_info(finding.rule).severity == Severity::error;
      judgement.findings.push_back(fmt::format(
          "{} step {} {}: expected {}, seen {}", rule_info(finding.rule).slug, finding.step,
          finding.request.value < 0 ? "-" : trace.names().request(finding.request),
          finding.expected, finding.seen));
      judgement.words.push_back(finding_words::what(finding, trace.names()));
    }
    roots.end_step(step);
    judgement.untold = trace.trace_judge().untold().words();
    for (std::size_t c = 0; c < kNumComputed; ++c)
      judgement.computed[c] = trace.trace_judge().num_computed(static_cast<Computed>(c));
  }
  return judgement;
}

Judgement judge(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> texts;
  for (const nlohmann::json& line : with_all_told(lines)) texts.push_back(line.dump());
  return judge(texts);
}

std::string Judgement::verdict() const {
  if (!error.empty()) return "bad input";
  if (has_errors) return "findings";
  return untold.empty() ? "no findings" : "not judged";
}

std::vector<nlohmann::json> with_all_told(std::vector<nlohmann::json> lines) {
  for (nlohmann::json& line : lines) {
    if (line.contains("config")) {
      line["config"].emplace("async_scheduling", false);
      line["config"].emplace("runner", "v1");
    }
    if (!line.contains("scheduler_output")) continue;
    nlohmann::json& output = line["scheduler_output"];
    output.emplace("finished_req_ids", nlohmann::json::array());
    output.emplace("preempted_req_ids", nlohmann::json::array());
    output.emplace("scheduled_spec_decode_tokens", nlohmann::json::object());
    if (output.contains("scheduled_cached_reqs"))
      output["scheduled_cached_reqs"].emplace("resumed_req_ids", nlohmann::json::array());
  }
  return lines;
}

namespace {

using PoliciesOf = std::function<PolicySet(const ForeignHeader&)>;

std::string difference(const std::vector<std::string>& lines, const PoliciesOf& policies_of) {
  TraceReader reader("t.jsonl");
  std::optional<EngineComparison> comparison;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto read =
        reader.read_line(std::string_view(lines[i]), static_cast<std::int64_t>(i) + 1);
    if (!read.ok()) return read.error().message;
    if (read.value() == TraceLine::header) {
      auto created =
          EngineComparison::create(reader.header(), policies_of(reader.header()),
                                   [&reader](RequestId id) { return reader.name_of(id); });
      if (!created.ok()) return created.error().message;
      comparison.emplace(std::move(created).value());
    } else {
      comparison->compare(reader.step());
    }
  }
  const auto& found = comparison->first_difference();
  return found ? format_difference(*found) : std::string();
}

std::vector<std::string> text_of(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> text;
  for (const nlohmann::json& line : lines) text.push_back(line.dump());
  return text;
}

}  // namespace

std::vector<nlohmann::json> traced_run(const EngineConfig& config,
                                       const std::vector<AddRequest>& requests,
                                       const std::function<void(Engine&)>& before_step) {
  Engine engine = Engine::create(config).value();
  TraceWriter writer(config, traced_requests_of(engine));
  for (const AddRequest& request : requests) engine.add_request(request).value();
  std::vector<nlohmann::json> lines = {nlohmann::json::parse(writer.header("told run"))};
  while (engine.num_unfinished() > 0) {
    if (before_step) before_step(engine);
    lines.push_back(nlohmann::json::parse(writer.step(engine.step())));
  }
  return lines;
}

std::string first_difference(const std::vector<std::string>& lines, const PolicySet& policies) {
  return difference(lines, [&](const ForeignHeader&) { return policies; });
}

std::string first_difference(const std::vector<nlohmann::json>& lines, const PolicySet& policies) {
  return first_difference(text_of(lines), policies);
}

std::string first_difference(const std::vector<nlohmann::json>& lines,
                             const EngineProfile& profile) {
  return difference(text_of(lines), [&](const ForeignHeader& header) {
    return compared_policies(header, profile);
  });
}

std::vector<nlohmann::json> healthy_trace() {
  return {nlohmann::json::parse(R"({
    "hybridscope_trace": 1, "engine": "vllm 0.11.0", "name": "two chats", "config": {
      "mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks": 46,
      "enable_prefix_caching": true, "num_speculative_tokens": 2, "speculative_method": "mtp",
      "max_model_len": 88, "max_num_seqs": 4, "max_num_batched_tokens": 16,
      "kv_cache_groups": [{"type": "full_attention", "block_size": 8},
                          {"type": "mamba", "block_size": 8, "mamba_type": "gdn_attention"}]}})"),
          nlohmann::json::parse(R"({
    "step": 1,
    "scheduler_output": {
      "scheduled_new_reqs": [
        {"req_id": "a", "prompt_token_ids": [11, 12], "block_ids": [[1], [2, 3, 4]],
         "num_computed_tokens": 0, "max_tokens": 20, "priority": 1, "cache_salt": "x"},
        {"req_id": "b", "prompt_token_ids": [13], "block_ids": [[5], [6, 7, 8]],
         "num_computed_tokens": 0}],
      "num_scheduled_tokens": {"a": 2, "b": 1}},
    "scheduler_block_ids": {"a": [[1], [2, 3, 4]], "b": [[5], [6, 7, 8]]},
    "input_batch": {"req_ids": ["b", "a"], "num_accepted_tokens_cpu": [1, 1]},
    "model_runner_output": {"req_ids": ["b", "a"], "sampled_token_ids": [[20], [21]]}})"),
          nlohmann::json::parse(R"({
    "step": 2,
    "scheduler_output": {
      "scheduled_cached_reqs": {
        "req_ids": ["a", "b"], "resumed_req_ids": ["b"],
        "new_block_ids": [null, [[9], [10, 11, 12]]], "num_computed_tokens": [2, 1],
        "num_output_tokens": [1, 1]},
      "num_scheduled_tokens": {"a": 3, "b": 3},
      "scheduled_spec_decode_tokens": {"a": [500, 501], "b": [-1, -1]},
      "finished_req_ids": [], "preempted_req_ids": ["a"]},
    "scheduler_block_ids": {"b": [[9], [10, 11, 12]]},
    "num_cached_block": {"a": [1, 0]},
    "reset_prefix_cache": true,
    "input_batch": {
      "req_ids": ["a", "b"], "num_accepted_tokens_cpu": [1, 2],
      "num_accepted_tokens_after_preprocess": [1, 1], "num_computed_tokens_cpu": [2, 1],
      "mamba_state_idx": [0, 1], "block_ids": [null, [[9], [10, 11, 12]]]},
    "preprocess_copies": [
      {"req_id": "b", "src_block_idx": 0, "dest_block_idx": 1, "accept_token_bias": 1}],
    "cudagraph": {"cudagraph_runtime_mode": "FULL", "num_tokens": 8, "num_reqs": 4,
                  "uniform": true},
    "attn_metadata": {"1": {
      "num_prefills": 0, "spec_state_indices_tensor": [[2, 3, 4], [10, 11, 12]],
      "spec_sequence_masks": [true, false], "has_initial_state": null,
      "non_spec_state_indices_tensor": {"shape": [0, 3], "data": []},
      "nums_dict": {"8": {"tot": 5}}, "our_own": "text"}},
    "postprocess_copies": [
      {"req_id": "a", "group": 1, "conv_src_block_id": 5, "temporal_src_block_id": 6,
       "dest_block_id": 9, "accept_token_bias": 2}],
    "model_runner_output": {"req_ids": ["b"], "sampled_token_ids": [[30, 31]]}})")};
}

std::vector<nlohmann::json> shared_tail() {
  const auto prompt = [](int last) {
    nlohmann::json tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(i);
    tokens.push_back(last);
    return tokens;
  };
  nlohmann::json header =
      nlohmann::json::parse(R"({"hybridscope_trace": 1, "name": "shared tail", "config": {
    "mamba_cache_mode": "align", "num_gpu_blocks": 16, "hash_block_size": 2,
    "enable_prefix_caching": true, "hits_inside_blocks": true, "max_model_len": 64,
    "max_num_seqs": 4, "max_num_batched_tokens": 32,
    "kv_cache_groups": [{"type": "full_attention", "block_size": 8},
                        {"type": "mamba", "block_size": 8, "mamba_type": "gdn_attention"}]}})");
  nlohmann::json first = nlohmann::json::parse(R"({"step": 1, "scheduler_output": {
      "scheduled_new_reqs": [{"req_id": "a", "block_ids": [[1, 2, 4], [0, 0, 5]],
                              "num_computed_tokens": 0}],
      "num_scheduled_tokens": {"a": 20}},
    "scheduler_block_ids": {"a": [[1, 2, 4], [0, 0, 5]]},
    "block_hashes": {"registered": [
      {"req_id": "a", "group": 0, "column": 0, "block_id": 1, "num_tokens": 8},
      {"req_id": "a", "group": 0, "column": 1, "block_id": 2, "num_tokens": 16},
      {"req_id": "a", "group": 0, "column": 2, "block_id": 4, "num_tokens": 20},
      {"req_id": "a", "group": 1, "column": 2, "block_id": 5, "num_tokens": 20}]},
    "input_batch": {"req_ids": ["a"]},
    "model_runner_output": {"req_ids": ["a"], "sampled_token_ids": [[]]}})");
  first["scheduler_output"]["scheduled_new_reqs"][0]["prompt_token_ids"] = prompt(20);
  const nlohmann::json second = nlohmann::json::parse(R"({"step": 2, "scheduler_output": {
      "scheduled_cached_reqs": {"req_ids": ["a"], "new_block_ids": [null],
                                "num_computed_tokens": [20]},
      "num_scheduled_tokens": {"a": 1},
      "kv_cache_block_copies": [{"src_block_id": 5, "dst_block_id": 6, "req_id": "a", "group": 1,
                                 "num_tokens": 20}]},
    "scheduler_block_ids": {},
    "block_hashes": {"lost": [{"block_id": 5}], "registered": [
      {"req_id": "a", "group": 1, "block_id": 6, "num_tokens": 20}]},
    "input_batch": {"req_ids": ["a"]},
    "model_runner_output": {"req_ids": ["a"], "sampled_token_ids": [[90]]}})");
  nlohmann::json third = nlohmann::json::parse(R"({"step": 3, "scheduler_output": {
      "scheduled_new_reqs": [{"req_id": "b", "block_ids": [[1, 2, 7], [0, 0, 8]],
                              "num_computed_tokens": 20}],
      "scheduled_cached_reqs": {"req_ids": ["a"], "new_block_ids": [null],
                                "num_computed_tokens": [21]},
      "num_scheduled_tokens": {"a": 1, "b": 1},
      "kv_cache_block_copies": [{"src_block_id": 4, "dst_block_id": 7},
                                {"src_block_id": 6, "dst_block_id": 8}]},
    "scheduler_block_ids": {"b": [[1, 2, 7], [0, 0, 8]]},
    "block_hashes": {},
    "input_batch": {"req_ids": ["a", "b"]},
    "model_runner_output": {"req_ids": ["a", "b"], "sampled_token_ids": [[91], [92]]}})");
  third["scheduler_output"]["scheduled_new_reqs"][0]["prompt_token_ids"] = prompt(70);
  return {header, first, second, third};
}

std::string read_error(TraceReader& reader, const std::vector<nlohmann::json>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto read = reader.read_line(lines[i].dump(), static_cast<std::int64_t>(i) + 1);
    if (!read.ok()) return read.error().message;
  }
  return {};
}

std::string read_error(const std::vector<nlohmann::json>& lines) {
  TraceReader reader("t.jsonl");
  return read_error(reader, lines);
}

}  // namespace hybridscope::test
