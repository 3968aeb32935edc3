// A V2 worker that is fed hand-made scheduler outputs, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/worker.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

using Ids = std::vector<std::int32_t>;

// What the scheduler says about one request, and how many tokens it will accept.
struct Entry {
  RequestId request{};
  Admission admission = Admission::running;
  std::int32_t c = 0;  // as reported
  std::int32_t q = 0;
  std::int32_t d = 0;
  std::int32_t known = 0;
  Ids new_blocks{};  // of every group
  std::int32_t a = 1;
  bool padded = false;
};

// A worker that is fed step by step.
class WorkerBenchV2 {
 public:
  WorkerBenchV2(const WorkerBenchV2&) = delete;  // the worker points to config_
  explicit WorkerBenchV2(const EngineConfig& config)
      : config_(config), worker_(config_, BatchMetadata::create(config_).value()) {
    trace_.groups = make_group_traces(config.kv_cache_config);
  }

  RequestId add(std::int32_t num_prompt_tokens) {
    EngineRequest& request =
        requests_.add(std::string(1, static_cast<char>('A' + requests_.size())));
    request.key = static_cast<std::uint64_t>(request.scheduling.id.value) + 1;
    request.tokens =
        TokenSequence({{.content = request.key, .length = num_prompt_tokens}}, 0, request.key);
    request.prefix = PrefixFingerprints(0, config_.hash_block_size, config_.conv_kernel - 2);
    request.scheduling.num_prompt_tokens = num_prompt_tokens;
    return request.scheduling.id;
  }

  const StepTrace& frame(const std::vector<Entry>& entries, std::vector<RequestId> finished = {},
                         std::vector<RequestId> preempted = {}) {
    trace_.clear();
    trace_.preempted = std::move(preempted);
    NewBlocks blocks{.ids = {}, .starts = {0}};
    for (const Entry& entry : entries) {
      EngineRequest& request = requests_[entry.request];
      request.prefix.extend_to(request.tokens, entry.known);
      request.scripted_num_accepted_tokens = entry.a;
      trace_.scheduled.push_back({.request = entry.request,
                                  .admission = entry.admission,
                                  .num_computed_tokens = entry.c,
                                  .num_scheduled_tokens = entry.q,
                                  .num_draft_tokens = entry.d,
                                  .num_tokens = entry.known,
                                  .num_prompt_tokens = request.scheduling.num_prompt_tokens,
                                  .placeholder_drafts = entry.padded});
      for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
        blocks.ids.insert(blocks.ids.end(), entry.new_blocks.begin(), entry.new_blocks.end());
        blocks.starts.push_back(blocks.ids.size());
      }
    }
    worker_.prepare(trace_, blocks, finished, requests_);
    worker_.sample(trace_, requests_);
    return trace_;
  }

  const RequestSlot& slot(std::int32_t index) const { return worker_.slots().slot(index); }
  const AlignSlots& align() const { return worker_.slots().align(); }
  const BatchSlotsV2& slots() const { return worker_.slots(); }

 private:
  EngineConfig config_;
  WorkerV2 worker_;
  RequestList requests_;
  StepTrace trace_;
};

inline EngineConfig config_v2(const SmallEngine& small) {
  EngineConfig config = engine_config(small);
  config.runner = ModelRunner::v2;
  return config;
}

inline std::vector<RequestId> requests(const StepTrace& trace) {
  std::vector<RequestId> result;
  for (const RowTrace& row : trace.rows) result.push_back(row.request);
  return result;
}

inline Ids idx_mapping(const StepTrace& trace) {
  Ids result;
  for (const RowTrace& row : trace.rows) result.push_back(row.slot);
  return result;
}

// Row `row` of a group's table over its full width.
inline Ids table_row(const StepTrace& trace, std::int32_t row, std::size_t group = 0) {
  const TensorView<std::int32_t>& table = trace.groups[group].block_table;
  Ids ids;
  for (std::int32_t column = 0; column < table.cols; ++column) ids.push_back(table.at(row, column));
  return ids;
}

}  // namespace hybridscope::test
