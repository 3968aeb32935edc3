#include "sessions/export/step_actions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "sessions/export/python_run.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

const ExportedRequest& request_of(const ExportedRun& run, const std::string& id) {
  const auto found = std::ranges::find_if(
      run.requests, [&](const ExportedRequest& request) { return request.id == id; });
  HS_EXPECT(found != run.requests.end());
  return *found;
}

std::string pair_text(const StateMove& move) {
  return fmt::format("({}, {})", move.source, move.target);
}

Json pair_json(const StateMove& move) { return Json::array({move.source, move.target}); }

std::string actions_heading(const ExportedRun& run) {
  const EngineConfig& config = run.setup.config;
  std::string text =
      fmt::format("# {}: {}, mamba_cache_mode {}, block_size {}, K = {}{}\n",
                  python_comment(run.scenario.name), run.setup.layout.model.name,
                  mamba_cache_mode_name(config.mamba_cache_mode), config.block_size,
                  config.num_speculative_tokens, config.async_scheduling ? ", asynchronous" : "");
  return text +
         "# num_computed_tokens_start, num_scheduled_tokens, kv_cache_block_ids (1: held, 0: "
         "null),\n"
         "# preprocess_copy_idx, postprocess_copy_idx (columns; (-1, -1): no copy)\n";
}

}  // namespace

std::vector<StepAction> step_actions_of(const ExportedRun& run, const std::string& request) {
  const std::size_t group = first_mamba_group(run).value_or(0);
  std::vector<StepAction> actions;
  for (const ExportedStep& step : run.steps)
    for (const ExportedRow& row : step.rows)
      if (row.request == request)
        actions.push_back({.step = step.step,
                           .num_computed_tokens_start = row.num_computed_tokens,
                           .num_scheduled_tokens = row.num_scheduled_tokens,
                           .kv_cache_block_ids = held_columns(row, group),
                           .preprocess_copy_idx = row.pre_copy,
                           .postprocess_copy_idx = row.post_copy});
  return actions;
}

std::string step_actions_text(const ExportedRun& run, const std::vector<std::string>& requests) {
  std::string text = actions_heading(run) + "step_actions = {\n";
  for (const std::string& id : requests) {
    const ExportedRequest& request = request_of(run, id);
    text += fmt::format("    {}: [  # prompt of {}, max_tokens {}\n", python_string(id),
                        request.num_prompt_tokens, request.max_tokens);
    for (const StepAction& action : step_actions_of(run, id))
      text += fmt::format("        StepAction({}, {}, [{}], {}, {}),  # step {}\n",
                          action.num_computed_tokens_start, action.num_scheduled_tokens,
                          fmt::join(action.kv_cache_block_ids, ", "),
                          pair_text(action.preprocess_copy_idx),
                          pair_text(action.postprocess_copy_idx), action.step);
    text += "    ],\n";
  }
  return text + "}\n";
}

Json step_actions_json(const ExportedRun& run, const std::vector<std::string>& requests) {
  const EngineConfig& config = run.setup.config;
  Json list = Json::array();
  for (const std::string& id : requests) {
    const ExportedRequest& request = request_of(run, id);
    Json actions = Json::array();
    for (const StepAction& action : step_actions_of(run, id))
      actions.push_back({{"step", action.step},
                         {"num_computed_tokens_start", action.num_computed_tokens_start},
                         {"num_scheduled_tokens", action.num_scheduled_tokens},
                         {"kv_cache_block_ids", action.kv_cache_block_ids},
                         {"preprocess_copy_idx", pair_json(action.preprocess_copy_idx)},
                         {"postprocess_copy_idx", pair_json(action.postprocess_copy_idx)}});
    list.push_back({{"request", id},
                    {"num_prompt_tokens", request.num_prompt_tokens},
                    {"max_tokens", request.max_tokens},
                    {"step_actions", std::move(actions)}});
  }
  return {{"scenario", run.scenario.name},
          {"model", run.setup.layout.model.name},
          {"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
          {"block_size", config.block_size},
          {"num_speculative_tokens", config.num_speculative_tokens},
          {"async_scheduling", config.async_scheduling},
          {"requests", std::move(list)}};
}

}  // namespace hybridscope
