#include "sessions/export/runner_test_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sessions/explain/explain_names.h"
#include "sessions/export/python_run.h"
#include "sessions/export/test_files.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

constexpr std::string_view kAboutRunner =
    "# vLLM's V1 runner on the CPU, fed with what hybridscope's engine scheduled: rows, accepted\n"
    "# counts and block tables of InputBatch, the copies of states by mamba_utils, and the state\n"
    "# that each row reads. Left out, because they need a GPU: the model's kernels, metadata\n"
    "# builders, CUDA graphs, slot mappings; races between programs of a kernel do not happen.\n"
    "# vLLM's copy kernels run in triton's interpreter: run this file by itself.\n";

std::string runner_config_text(const ExportedRun& run) {
  const EngineConfig& config = run.setup.config;
  std::string text = "\nCONFIG = {\n";
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("    \"{}\": {},\n", key, value);
  };
  add("mamba_cache_mode", fmt::format("\"{}\"", mamba_cache_mode_name(config.mamba_cache_mode)));
  add("num_blocks", config.kv_cache_config.num_blocks);
  add("block_size", config.block_size);
  add("conv_kernel", config.conv_kernel);
  add("max_model_len", config.max_model_len);
  add("max_num_seqs", config.max_num_seqs);
  add("max_num_batched_tokens", config.max_num_batched_tokens);
  add("async_scheduling", python_bool(config.async_scheduling));
  add("method",
      config.num_speculative_tokens == 0
          ? "None"
          : fmt::format(
                "\"{}\"",
                kSpeculativeMethodWords[static_cast<std::size_t>(config.speculative_method)]));
  add("num_speculative_tokens", config.num_speculative_tokens);
  return text + "}\n";
}

std::string request_text(const RunnerRequest& request) {
  return fmt::format(
      "         {{\"request\": {}, \"admission\": \"{}\", \"computed\": {}, \"outputs\": {}, "
      "\"tokens\": {},\n          \"drafts\": {}, \"placeholders\": {}, \"new_blocks\": {}}},\n",
      python_string(request.request), admission_name(request.admission),
      request.num_computed_tokens, request.num_output_tokens, request.num_scheduled_tokens,
      request.num_draft_tokens, python_bool(request.placeholder_drafts),
      python_lists(request.new_blocks));
}

std::string runner_row_text(const RunnerRow& row) {
  return fmt::format(
      "         {{\"request\": {}, \"computed\": {}, \"decode\": {}, \"column\": {}, "
      "\"accepted_before\": {},\n          \"accepted\": {}, \"reads_right\": {}, \"checkpoint\": "
      "{}, \"sampled\": {},\n          \"verifies\": {}, \"tables\": {}}},\n",
      python_string(row.request), row.num_computed_tokens, python_bool(row.runs_as_decode),
      row.column, row.num_accepted_tokens_before, row.num_accepted_tokens,
      python_bool(!row.is_wrong),
      row.checkpoint_position == 0
          ? "None"
          : fmt::format("[{}, {}]", row.checkpoint_position, row.checkpoint_column),
      row.num_sampled_tokens, row.num_draft_count, python_lists(row.tables));
}

// [group, conv source, temporal source, target, accepted tokens before] each.
std::string state_copies_text(const std::vector<StateCopyTrace>& copies) {
  std::vector<std::vector<std::int32_t>> lists;
  for (const StateCopyTrace& copy : copies)
    lists.push_back({copy.group, copy.conv_src_block, copy.temporal_src_block, copy.dst_block,
                     copy.accept_token_bias});
  return python_lists(lists);
}

std::string step_text(const RunnerStep& step) {
  std::vector<std::vector<std::int32_t>> blocks;
  for (const BlockCopy& copy : step.block_copies) blocks.push_back({copy.source_block, copy.block});
  std::string text = fmt::format(
      "    {{\"step\": {}, \"finished\": {}, \"preempted\": {}, \"block_copies\": {},\n"
      "     \"scheduled\": [\n",
      step.step, python_names(step.finished), python_names(step.preempted), python_lists(blocks));
  for (const RunnerRequest& request : step.scheduled) text += request_text(request);
  text += "     ],\n     \"rows\": [\n";
  for (const RunnerRow& row : step.rows) text += runner_row_text(row);
  return text + fmt::format("     ],\n     \"pre_copies\": {}, \"post_copies\": {}}},\n",
                            state_copies_text(step.pre_copies),
                            state_copies_text(step.post_copies));
}

std::string runner_steps_text(const ExportedRun& run) {
  std::string text =
      "# Copies: group, block of the conv state, of the temporal state, target, accepted tokens\n"
      "# before the target's. Rows: as the batch has them before the forward pass.\nSTEPS = [\n";
  for (const RunnerStep& step : run.runner_steps) text += step_text(step);
  return text + "]\n";
}

}  // namespace

Status check_runner_test(const ExportedRun& run) {
  const EngineConfig& config = run.setup.config;
  if (config.runner == ModelRunner::v2)
    return invalid_input(
        "a runner test drives runner V1 of vLLM: runner is v2, whose rows and copies are made by "
        "kernels (expected --runner v1)");
  if (config.mamba_cache_mode == MambaCacheMode::all)
    return invalid_input(
        "a runner test covers modes align and none: mamba_cache_mode is all, where the metadata "
        "builders choose the blocks (expected --mamba-cache-mode align or none)");
  if (!first_mamba_group(run))
    return invalid_input("a runner test is about recurrent states: the model has no such layer");
  return Ok{};
}

Result<std::string> runner_test_text(const ExportedRun& run) {
  if (Status refused = check_runner_test(run); !refused.ok()) return refused.error();
  const std::string heading = python_heading(
      run, {.about = kAboutRunner, .test = PartTest::runner_test, .runner_test = true});
  return heading + std::string(test_files::runner_test_imports_py) + runner_config_text(run) +
         python_groups(run) + python_requests(run) + runner_steps_text(run) +
         std::string(kKnownArguments) + std::string(test_files::runner_test_runner_py) +
         std::string(test_files::runner_test_body_py);
}

}  // namespace hybridscope
