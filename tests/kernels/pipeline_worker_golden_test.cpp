// The worker steps of pipeline.jsonl: V1 pre-copy, staged inputs, fused post-copy, on one memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/state/align_postprocess.h"
#include "core/state/align_preprocess.h"
#include "core/state/stage_inputs.h"
#include "tests/kernels/golden_replay.h"

namespace hybridscope::test {
namespace {

class WorkerRun {
 public:
  explicit WorkerRun(const Json& config)
      : config_(config),
        tensors_(state_tensors(config)),
        memory_(config.at("memory")),
        buffers_(make_postprocess_input_buffers(config.at("max_num_seqs").get<std::int32_t>())) {}

  Json raw() const { return memory_.raw_crc32(); }
  Json states() const { return state_crc32(tensors_, memory_); }

  Json step(const Json& call, const Json& schedule, const Json& expected) {
    const Json& req_names = call.at("req_ids");
    const auto req_ids = names_.ids(req_names);
    const auto scheduled = by_name(req_names, schedule.at("num_scheduled_tokens"));
    const auto computed = by_name(req_names, call.at("num_computed_tokens"));
    Json got;
    auto accepted = ints(call.at("num_accepted_tokens_cpu"));
    if (auto text = preprocess(call, schedule, accepted, got); !text.empty())
      return {{"error", text}};
    const auto sampled = ints(call.at("num_accepted_sampled"));
    std::copy(sampled.begin(), sampled.end(), accepted.begin());
    if (expected.contains("postprocess_copies")) {
      Json num_drafts = Json::object();
      for (const auto& [name, drafts] : schedule.at("scheduled_spec_decode_tokens").items())
        num_drafts[name] = drafts.is_array() ? drafts.size() : drafts.get<std::size_t>();
      const auto drafts = by_name(req_names, num_drafts);
      const Status staged = stage_postprocess_inputs({.req_ids = req_ids,
                                                      .num_scheduled_tokens = scheduled,
                                                      .num_computed_tokens = computed,
                                                      .num_draft_tokens = drafts},
                                                     mamba_state_idx_, buffers_);
      if (!staged) return {{"error", staged.error().message}};
      if (auto text = postprocess(call, accepted, got); !text.empty()) return {{"error", text}};
    }
    got["num_accepted_tokens_cpu_after"] = accepted;
    got["raw_crc32_after_step"] = memory_.raw_crc32();
    for (const char* flag : {"preprocess_hazard", "postprocess_hazard"})
      if (expected.contains(flag)) got[flag] = false;
    return got;
  }

 private:
  std::string preprocess(const Json& call, const Json& schedule,
                         std::vector<std::int32_t>& accepted, Json& got) {
    const Json& req_names = call.at("req_ids");
    const auto finished = names_.ids(schedule.at("finished_req_ids"));
    const auto preempted = names_.ids(schedule.at("preempted_req_ids"));
    const auto resumed = names_.ids(schedule.at("scheduled_cached_reqs").at("resumed_req_ids"));
    const auto req_ids = names_.ids(req_names);
    const auto scheduled = by_name(req_names, schedule.at("num_scheduled_tokens"));
    const auto computed = by_name(req_names, call.at("num_computed_tokens"));
    std::vector<RequestBlockIds> block_ids;
    for (const Json& name : req_names)
      block_ids.push_back(call.at("block_ids").at(name.get<std::string>()).get<RequestBlockIds>());
    auto result = preprocess_mamba(tensors_,
                                   {.gone = {finished, preempted, resumed},
                                    .req_ids = req_ids,
                                    .num_scheduled_tokens = scheduled,
                                    .num_computed_tokens = computed,
                                    .block_ids = block_ids,
                                    .num_accepted_tokens_cpu = accepted},
                                   mamba_state_idx_);
    if (!result) return result.error().message;
    mamba_state_idx_ = result.value().mamba_state_idx;
    accepted = result.value().num_accepted_tokens_cpu;
    execute(result.value().copies, memory_);
    got["preprocess_copies"] = Json::array();
    for (const StateCopy& copy : result.value().copies) {
      const auto types = tensors_.state_kinds.size();
      const auto layer = static_cast<std::size_t>(copy.state_index) / types;
      const auto group = static_cast<std::size_t>(tensors_.layers[layer].group_index);
      got["preprocess_copies"].push_back({tensors_.mamba_group_ids[group], layer,
                                          static_cast<std::size_t>(copy.state_index) % types,
                                          copy.src_byte_offset, copy.dst_byte_offset,
                                          copy.row_bytes});
    }
    got["mamba_state_idx"] = names_.state_idx_json(mamba_state_idx_);
    got["num_accepted_tokens_after_preprocess"] = accepted;
    got["raw_crc32_after_preprocess"] = memory_.raw_crc32();
    return "";
  }

  std::string postprocess(const Json& call, std::vector<std::int32_t>& accepted, Json& got) {
    const auto num_reqs = static_cast<std::int32_t>(call.at("req_ids").size());
    const auto columns = config_.at("block_table_columns").get<std::int32_t>();
    const std::vector<std::int64_t> strides(tensors_.mamba_group_ids.size(), columns);
    const auto layout = make_state_layout(tensors_, strides);
    if (!layout) return layout.error().message;
    std::vector<std::vector<std::int32_t>> tables;
    for (const std::int32_t group : tensors_.mamba_group_ids)
      tables.push_back(table_of(call, static_cast<std::size_t>(group), columns));
    std::vector<TensorView<std::int32_t>> views;
    for (const auto& table : tables) views.push_back(matrix_view(table.data(), num_reqs, columns));
    auto result = run_fused_postprocess(layout.value(),
                                        {.num_reqs = num_reqs,
                                         .num_accepted_tokens = accepted,
                                         .mamba_state_idx = buffers_.mamba_state_idx,
                                         .num_scheduled_tokens = buffers_.num_scheduled_tokens,
                                         .num_computed_tokens = buffers_.num_computed_tokens,
                                         .num_draft_tokens = buffers_.num_draft_tokens,
                                         .block_tables = views},
                                        accepted);
    if (!result) return result.error().message;
    execute(result.value().copies, memory_);
    accepted = result.value().num_accepted_tokens;
    got["postprocess_copies"] = copies_json(result.value().copies);
    return "";
  }

  static std::vector<std::int32_t> table_of(const Json& call, std::size_t group,
                                            std::int32_t columns) {
    std::vector<std::int32_t> table;
    for (const Json& name : call.at("req_ids")) {
      auto row = ints(call.at("block_ids").at(name.get<std::string>()).at(group));
      row.resize(static_cast<std::size_t>(columns), 0);
      table.insert(table.end(), row.begin(), row.end());
    }
    return table;
  }

  const Json& config_;
  MambaStateTensors tensors_;
  GoldenMemory memory_;
  PostprocessInputBuffers buffers_;
  RequestNames names_;
  MambaStateIdx mamba_state_idx_;
};

std::string check_case(const Json& test_case, int& worker_steps) {
  WorkerRun run(test_case.at("config"));
  const Json& output = test_case.at("output");
  if (output.at("raw_crc32_before") != run.raw()) return "raw_crc32_before";
  const Json& calls = test_case.at("calls");
  const Json& results = output.at("results");
  Json schedule;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].at("op") == "schedule") schedule = results.at(i);
    if (calls[i].at("op") != "worker_step") continue;
    ++worker_steps;
    if (auto text = first_difference(results.at(i), run.step(calls[i], schedule, results.at(i)));
        !text.empty())
      return "call " + std::to_string(i) + ": " + text;
  }
  return first_difference(output.at("final_state_crc32"), run.states());
}

TEST(PipelineWorkerGolden, EveryWorkerStepOfPipeline) {
  HS_NEED_GOLDEN();
  int failures = 0;
  int worker_steps = 0;
  for_each_case("pipeline.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = check_case(test_case, worker_steps);
    if (difference.empty()) return;
    ++failures;
    ADD_FAILURE() << test_case.at("id") << ": " << difference;
  });
  EXPECT_GT(worker_steps, 0);
}

}  // namespace
}  // namespace hybridscope::test
