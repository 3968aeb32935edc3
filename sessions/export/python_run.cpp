#include "sessions/export/python_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/engine/releases.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/export/runner_test_text.h"
#include "sessions/export/test_files.h"
#include "sessions/scenario/settings.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

// JSON's escapes have the same meaning in Python.
std::string python_string(std::string_view text) {
  const nlohmann::json value = std::string(text);
  return escape_controls(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string python_comment(std::string_view text) {
  const std::string valid = python_string(text);
  // Without the quotes; escapes of control characters stay as they are.
  return valid.substr(1, valid.size() - 2);
}

namespace {

// The date of 61ab70ec3.
constexpr std::string_view kProfileOfReference = "vllm@2026-06-29";

std::string group_text(const KVCacheGroup& group) {
  const MambaSpec spec = group.is_mamba() ? std::get<MambaSpec>(group.spec) : MambaSpec{};
  return fmt::format(
      "    {{\"type\": \"{}\", \"block_size\": {}, \"is_eagle_group\": {},\n"
      "     \"num_speculative_blocks\": {}, \"num_prefill_checkpoint_blocks\": {}, "
      "\"prefill_checkpoint_alignment\": {}}},\n",
      group.is_mamba() ? "mamba" : "full_attention", group.block_size(),
      python_bool(group.is_eagle_group), spec.num_speculative_blocks,
      spec.num_prefill_checkpoint_blocks, python_alignment(spec.prefill_checkpoint_alignment));
}

std::uint64_t salt_of(const ExportedRun& run, const std::string& id) {
  for (const ScenarioRequest& request : run.scenario.requests)
    if (request.id == id) return request.cache_salt;
  return 0;
}

// A comment of lines of at most 100 characters, as far as its words allow.
std::string comment_lines(const std::string& words) {
  constexpr std::size_t kWidth = 100;
  std::string text;
  std::string line = "#";
  std::istringstream stream(python_comment(words));
  for (std::string word; stream >> word;) {
    if (line.size() > 1 && line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line = "#";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

}  // namespace

std::string_view python_bool(bool value) { return value ? "True" : "False"; }

std::string python_names(const std::vector<std::string>& names) {
  std::vector<std::string> literals;
  for (const std::string& name : names) literals.push_back(python_string(name));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

std::string python_lists(const std::vector<std::vector<std::int32_t>>& lists) {
  std::vector<std::string> literals;
  for (const std::vector<std::int32_t>& list : lists)
    literals.push_back(fmt::format("[{}]", fmt::join(list, ", ")));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

std::string python_alignment(std::int32_t prefill_checkpoint_alignment) {
  return prefill_checkpoint_alignment == 0 ? "None" : std::to_string(prefill_checkpoint_alignment);
}

std::string python_heading(const ExportedRun& run, const PythonHeading& heading) {
  const std::string profile = profile_name(run.scenario.settings);
  std::string text = fmt::format("# {}: {}, profile {}\n", python_comment(run.scenario.name),
                                 run.setup.layout.model.name, profile);
  text += heading.about;
  if (const auto release = release_of(run.scenario.settings))
    text += fmt::format("# The profile does what that release does: this is to pass on vLLM {}.\n",
                        release_name(*release));
  else if (profile == "reference")
    text += "# Profile reference does what the reference does: this is to pass.\n";
  else if (profile == kProfileOfReference)
    text += "# This profile has the faults of the reference's day: this is to pass.\n";
  else
    text += "# Where this profile does other than the reference, this is to fail.\n";
  text += "# The names are those of vLLM 0.24.0 to 0.33.0.\n";
  for (const std::string& note : fault_notes(run.faults, heading.test, heading.runner_test))
    text += "#\n" + comment_lines(note);
  return text;
}

std::string python_groups(const ExportedRun& run) {
  std::string text = "GROUPS = [\n";
  for (const KVCacheGroup& group : run.setup.config.kv_cache_config.groups)
    text += group_text(group);
  return text + "]\n";
}

std::string python_requests(const ExportedRun& run) {
  std::string text = "REQUESTS = {\n";
  for (const ExportedRequest& request : run.requests) {
    const std::uint64_t salt = salt_of(run, request.id);
    text += fmt::format("    {}: {{\n        \"tokens\": [{}],\n", python_string(request.id),
                        fmt::join(request.tokens, ", "));
    text += fmt::format(
        "        \"num_prompt_tokens\": {},\n        \"max_tokens\": {},\n        \"cache_salt\": "
        "{},\n    }},\n",
        request.num_prompt_tokens, request.max_tokens,
        salt == 0 ? "None" : fmt::format("\"{}\"", salt));
  }
  return text + "}\n";
}

namespace {

constexpr std::string_view kAbout =
    "# The KV-cache manager and the split of mode align, with budgets, hits and labels as\n"
    "# hybridscope's engine decided them.\n";

std::string config_text(const ExportedRun& run) {
  const EngineConfig& config = run.setup.config;
  const SchedulerConfig scheduler = scheduler_config(config);
  const AlignedSplitSettings& split = scheduler.aligned_split;
  std::string text = "\nCONFIG = {\n";
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("    \"{}\": {},\n", key, value);
  };
  add("mamba_cache_mode", fmt::format("\"{}\"", mamba_cache_mode_name(config.mamba_cache_mode)));
  add("num_blocks", config.kv_cache_config.num_blocks);
  add("block_size", config.block_size);
  add("scheduler_block_size", config.scheduler_block_size);
  add("hash_block_size", config.hash_block_size);
  add("max_model_len", config.max_model_len);
  add("enable_prefix_caching", python_bool(config.enable_prefix_caching));
  add("prefix_cache_retention_interval",
      config.prefix_cache_retention_interval
          ? std::to_string(*config.prefix_cache_retention_interval)
          : "None");
  add("use_eagle", python_bool(split.use_eagle));
  add("use_eagle_block_drop", python_bool(split.eagle_block_drop));
  add("num_hash_lookahead_tokens", split.num_hash_lookahead_tokens);
  add("stops_inside_blocks", python_bool(split.fine_grained_hits));
  add("shared_prefix_checkpoint", python_bool(split.shared_prefix_checkpoint));
  add("has_prefill_checkpoint_blocks", python_bool(split.has_prefill_checkpoint_blocks));
  add("prefill_checkpoint_alignment", python_alignment(split.prefill_checkpoint_alignment));
  add("max_num_batched_tokens", config.max_num_batched_tokens);
  add("long_prefill_token_threshold", config.long_prefill_token_threshold);
  add("num_lookahead_tokens", scheduler.num_lookahead_tokens);
  add("scheduler_reserve_full_isl", python_bool(config.scheduler_reserve_full_isl));
  add("watermark", config.watermark);
  return text + "}\n";
}

std::string row_text(const ExportedRow& row) {
  const bool admitted = row.admission != Admission::running;
  std::string text = fmt::format(
      "            {{\"request\": {}, \"preempts\": {}, \"admitted\": {}, \"placeholders\": {}, "
      "\"hit\": {}, \"uncached\": {}, \"computed\": {},\n",
      python_string(row.request), python_names(row.preempts), python_bool(admitted),
      python_bool(row.placeholder_drafts), row.num_hit_tokens,
      row.num_uncached_common_prefix_tokens, row.num_computed_tokens);
  text += fmt::format(
      "             \"wanted\": {}, \"scheduled\": {}, \"sampled\": {}, \"registered\": {}, "
      "\"finished\": {},\n",
      row.num_wanted_tokens, row.num_scheduled_tokens, row.num_sampled_tokens,
      row.num_registered_tokens < 0 ? "None" : std::to_string(row.num_registered_tokens),
      python_bool(row.finished));
  return text + fmt::format("             \"blocks\": {},\n             \"keys\": {}}},\n",
                            python_lists(row.blocks), python_lists(row.keys));
}

// [source block, destination block] each.
std::vector<std::vector<std::int32_t>> copies_of(const ExportedStep& step) {
  std::vector<std::vector<std::int32_t>> copies;
  for (const BlockCopy& copy : step.block_copies) copies.push_back({copy.source_block, copy.block});
  return copies;
}

std::string steps_text(const ExportedRun& run) {
  std::string text = "STEPS = [\n";
  for (const ExportedStep& step : run.steps) {
    text += fmt::format(
        "    {{\"step\": {}, \"preempted\": {}, \"aborted\": {}, \"preempted_last\": {},\n"
        "     \"reset_prefix_cache\": {}, \"reset_running_requests\": {}, \"block_copies\": {},\n"
        "     \"rows\": [\n",
        step.step, python_names(step.preempted), python_names(step.aborted),
        python_names(step.preempted_last), python_bool(step.reset_prefix_cache),
        python_bool(step.reset_running_requests), python_lists(copies_of(step)));
    for (const ExportedRow& row : step.rows) text += row_text(row);
    text += "    ]},\n";
  }
  return text + "]\n";
}

}  // namespace

Result<std::string> pytest_text(const ExportedRun& run) {
  if (run.setup.config.async_scheduling)
    return invalid_input(
        "a test of the KV-cache manager is made of a synchronous run: async_scheduling is true "
        "(expected false: --no-async-scheduling)");
  const std::string heading = python_heading(
      run, {.about = kAbout, .test = PartTest::pytest, .runner_test = check_runner_test(run).ok()});
  return heading + std::string(test_files::pytest_imports_py) + config_text(run) +
         python_groups(run) + python_requests(run) + steps_text(run) +
         std::string(kKnownArguments) + std::string(test_files::pytest_body_py);
}

}  // namespace hybridscope
