#include "sessions/judge/compare_worker.h"

#include <algorithm>

#include "sessions/explain/explain_dispatch.h"

namespace hybridscope {
namespace {

// "FULL, 8 tokens, 4 rows": with the sizes that the mode pads to.
std::string graph_text(CUDAGraphMode mode, std::int32_t num_tokens, std::int32_t num_reqs) {
  std::string text(cudagraph_mode_name(mode));
  if (mode != CUDAGraphMode::none) text += fmt::format(", {} tokens", num_tokens);
  if (mode == CUDAGraphMode::full) text += fmt::format(", {} rows", num_reqs);
  return text;
}

class WorkerComparison {
 public:
  WorkerComparison(const ComparedStep& step, const EngineWorker& worker, const StepTrace& ours)
      : step_(step), worker_(worker), ours_(ours) {}

  MaybeDifference compare() const {
    if (auto found = compare_row_order()) return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_row(EngineDecision::idx_mapping, r, ours_.rows[r].slot,
                                   step_.traced.rows[r].slot))
        return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_blocks_of_row(r)) return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_row(EngineDecision::row_num_computed_tokens, r,
                                   ours_.rows[r].num_computed_tokens,
                                   step_.traced.rows[r].num_computed_tokens))
        return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_row(EngineDecision::num_accepted_tokens, r,
                                   worker_.num_accepted_tokens_before(r),
                                   step_.traced.rows[r].num_accepted_tokens))
        return found;
    if (auto found = compare_graph()) return found;
    if (auto found = compare_copies(step_, ours_, EngineDecision::preprocess_copies)) return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_after_preprocess(r)) return found;
    if (auto found = compare_metadata(step_, ours_)) return found;
    if (auto found = compare_sampled()) return found;
    return compare_copies(step_, ours_, EngineDecision::postprocess_copies);
  }

 private:
  EngineDifference at_row(EngineDecision decision, std::size_t row) const {
    EngineDifference place = step_.difference(decision, ours_.rows[row].request);
    place.row = static_cast<std::int32_t>(row);
    return place;
  }

  // `traced` below 0: not in the trace, so not compared.
  MaybeDifference compare_row(EngineDecision decision, std::size_t row, std::int32_t expected,
                              std::int32_t traced) const {
    if (traced < 0) return std::nullopt;
    return compare_values(at_row(decision, row), expected, traced);
  }

  MaybeDifference compare_row_order() const {
    for (std::size_t r = 0; r < ours_.rows.size(); ++r) {
      EngineDifference place = step_.difference(EngineDecision::row_order);
      place.row = static_cast<std::int32_t>(r);
      place.rule = step_.config.batch_order == BatchOrder::by_region
                       ? "InputBatch.condense, GPUModelRunner._may_reorder_batch"
                       : "InputBatch.condense";
      if (auto found = compare_values(place, step_.name_of(ours_.rows[r].request),
                                      step_.name_of(step_.traced.rows[r].request)))
        return found;
    }
    return std::nullopt;
  }

  MaybeDifference compare_blocks_of_row(std::size_t row) const {
    const BlockLists traced = step_.traced.rows[row].block_ids;
    // V2 keeps its lists by slot.
    if (!traced.present() || step_.config.runner == ModelRunner::v2) return std::nullopt;
    const auto& expected = worker_.block_ids(ours_.rows[row].request);
    for (std::size_t g = 0; g < expected.size(); ++g) {
      EngineDifference place = at_row(EngineDecision::worker_block_ids, row);
      place.group = static_cast<std::int32_t>(g);
      if (auto found = compare_blocks(place, expected[g], step_.traced.list(traced, g)))
        return found;
    }
    return std::nullopt;
  }

  // Sizes that the mode does not pad to, and those not in the trace, are not compared.
  MaybeDifference compare_graph() const {
    if (!step_.traced.graph) return std::nullopt;
    const ForeignGraph& traced = *step_.traced.graph;
    const CudagraphDispatch& ours = ours_.graph;
    const std::int32_t tokens = traced.num_tokens > 0 ? traced.num_tokens : ours.num_tokens_padded;
    const std::int32_t reqs = traced.num_reqs >= 0 ? traced.num_reqs : ours.num_reqs_padded;
    return compare_values(
        step_.difference(EngineDecision::cudagraph),
        graph_text(ours.runtime_mode, ours.num_tokens_padded, ours.num_reqs_padded),
        graph_text(traced.cudagraph_runtime_mode, tokens, reqs));
  }

  MaybeDifference compare_after_preprocess(std::size_t row) const {
    const ForeignRow& traced = step_.traced.rows[row];
    if (auto found = compare_row(EngineDecision::num_accepted_tokens_after_preprocess, row,
                                 ours_.rows[row].num_accepted_tokens,
                                 traced.num_accepted_tokens_after_preprocess))
      return found;
    if (ours_.pre_copies.decisions.empty()) return std::nullopt;
    return compare_row(EngineDecision::mamba_state_idx, row,
                       ours_.pre_copies.decisions[row].decision.dst_col, traced.mamba_state_idx);
  }

  // Within bounds, the number of sampled tokens is the model's choice.
  MaybeDifference compare_sampled() const {
    if (!step_.traced.sampled_token_ids) return std::nullopt;
    for (const ForeignStep::Sampled& sampled : *step_.traced.sampled_token_ids) {
      const auto row = std::ranges::find(ours_.rows, sampled.request, &RowTrace::request);
      const ScheduledTrace& scheduled = ours_.scheduled_of(*row);
      const auto traced = static_cast<std::int32_t>(sampled.token_ids.count);
      const std::int32_t most = scheduled.samples() ? 1 + scheduled.num_draft_tokens : 0;
      if (traced <= most) continue;
      EngineDifference found = step_.difference(EngineDecision::sampled_token_ids, sampled.request);
      found.expected = fmt::format("at most {} tokens", most);
      found.traced = fmt::format("{} tokens", traced);
      return found;
    }
    return std::nullopt;
  }

  const ComparedStep& step_;
  const EngineWorker& worker_;
  const StepTrace& ours_;
};

}  // namespace

MaybeDifference compare_worker(const ComparedStep& step, const EngineWorker& worker,
                               const StepTrace& ours) {
  return WorkerComparison(step, worker, ours).compare();
}

}  // namespace hybridscope
