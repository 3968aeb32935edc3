#include "sessions/judge/engine_comparison.h"

#include <algorithm>
#include <compare>
#include <vector>

#include "core/metadata/builder_metadata.h"
#include "core/metadata/metadata_builders.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/judge/foreign_trace.h"

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
    if (auto found = compare_rows(
            EngineDecision::idx_mapping, [this](std::size_t r) { return ours_.rows[r].slot; },
            &ForeignRow::slot))
      return found;
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_blocks_of_row(r)) return found;
    if (auto found = compare_rows(
            EngineDecision::row_num_computed_tokens,
            [this](std::size_t r) { return ours_.rows[r].num_computed_tokens; },
            &ForeignRow::num_computed_tokens))
      return found;
    if (auto found = compare_rows(
            EngineDecision::num_accepted_tokens,
            [this](std::size_t r) { return worker_.num_accepted_tokens_before(r); },
            &ForeignRow::num_accepted_tokens))
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

  // `ours`: of a row.
  MaybeDifference compare_rows(EngineDecision decision, const auto& ours,
                               std::int32_t ForeignRow::*traced) const {
    for (std::size_t r = 0; r < ours_.rows.size(); ++r)
      if (auto found = compare_row(decision, r, ours(r), step_.traced.rows[r].*traced))
        return found;
    return std::nullopt;
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
    return compare_lists(step_, at_row(EngineDecision::worker_block_ids, row),
                         worker_.block_ids(ours_.rows[row].request), traced);
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

// Compares state copies and metadata fields. A trace gives copies either by column, for all groups,
// or by block, for one group.

namespace {

// Compares one traced field with ours.
class FieldComparison {
 public:
  FieldComparison(const ComparedStep& step, EngineDifference place, const NamedArray& ours,
                  const ForeignArray& traced)
      : place_(std::move(place)),
        ours_(ours),
        traced_(traced),
        values_(step.traced.at(traced.values)),
        mode_(step.config.mamba_cache_mode) {
    place_.field = std::string(ours.name);
  }

  MaybeDifference compare() const {
    if (traced_.none && !ours_.present) return std::nullopt;
    if (traced_.none) return different(our_shape(), "None");
    if (!ours_.present) return different("None", traced_.scalar ? "a number" : traced_shape());
    if (is_number() != traced_.scalar) return different(our_shape(), traced_shape());
    if (!has_open_end() && !has_table_width() && our_shape() != traced_shape())
      return different(our_shape(), traced_shape());
    const std::size_t size =
        has_open_end() ? std::max(ours_.values.size(), values_.size()) : values_.size();
    for (std::size_t i = 0; i < size; ++i) {
      if (our_value(i) == traced_value(i)) continue;
      EngineDifference found = place_;
      if (!is_number()) found.index = static_cast<std::int64_t>(i);
      return compare_values(found, our_value(i), traced_value(i));
    }
    return std::nullopt;
  }

 private:
  bool is_number() const {
    return ours_.dtype == ArrayDtype::host_int || ours_.dtype == ArrayDtype::host_bool;
  }
  // Each step makes batch_ptr and token_chunk_offset_ptr as long as it needs; the rest is
  // PAD_SLOT_ID.
  bool has_open_end() const { return ours_.fill != 0; }

  bool has_table_width() const {
    return ours_.elements == ArrayElements::block_ids && ours_.dims.size() == 2 &&
           (traced_.rows == ours_.dims[0] || traced_.rows == 0) &&
           is_table_width(traced_.cols, ours_.dims[1], mode_);
  }

  std::int64_t our_value(std::size_t i) const {
    if (has_table_width()) {
      const std::size_t column = i % static_cast<std::size_t>(traced_.cols);
      const auto columns = static_cast<std::size_t>(ours_.dims[1]);
      if (column >= columns) return kNullBlock;
      i = i / static_cast<std::size_t>(traced_.cols) * columns + column;
    }
    return i < ours_.values.size() ? ours_.values[i] : ours_.fill;
  }
  std::int64_t traced_value(std::size_t i) const {
    return i < values_.size() ? values_[i] : ours_.fill;
  }

  std::string our_shape() const {
    if (is_number()) return "a number";
    return shape(ours_.dims[0], ours_.dims.size() > 1 ? ours_.dims[1] : 1);
  }
  std::string traced_shape() const {
    return traced_.scalar ? "a number" : shape(traced_.rows, traced_.cols);
  }
  // A matrix with one column equals a list, and an empty array has no width: traces do not
  // distinguish them.
  static std::string shape(std::int64_t rows, std::int64_t cols) {
    if (rows == 0 || cols == 0) return "shape [0]";
    return cols == 1 ? fmt::format("shape [{}]", rows) : fmt::format("shape [{}, {}]", rows, cols);
  }

  MaybeDifference different(std::string expected, std::string traced) const {
    EngineDifference found = place_;
    found.expected = std::move(expected);
    found.traced = std::move(traced);
    return found;
  }

  EngineDifference place_;
  const NamedArray& ours_;
  const ForeignArray& traced_;
  std::span<const std::int32_t> values_;
  MambaCacheMode mode_;
};

// A copy of one row. By columns: group and temporal_src are -1.
struct ComparableCopy {
  std::int32_t row = -1;
  std::int32_t group = -1;
  std::int32_t dst = -1;
  std::int32_t conv_src = -1;
  std::int32_t temporal_src = -1;
  std::int32_t bias = 0;
  friend auto operator<=>(const ComparableCopy&, const ComparableCopy&) = default;

  bool changes_nothing() const {
    const auto stays = [this](std::int32_t src) { return src < 0 || src == dst; };
    return bias <= 0 && stays(conv_src) && stays(temporal_src);
  }
  bool same_place(const ComparableCopy& other) const {
    return row == other.row && group == other.group;
  }
  // Omits values at -1, which the trace does not have.
  std::string text() const {
    const std::string shift = bias < 0 ? "" : fmt::format(", bias {}", bias);
    if (group < 0) return fmt::format("column {} to column {}{}", conv_src, dst, shift);
    std::string sources = conv_src < 0 ? "" : fmt::format("conv of block {}", conv_src);
    if (temporal_src >= 0)
      sources +=
          fmt::format("{}temporal of block {}", sources.empty() ? "" : " and ", temporal_src);
    return fmt::format("{} to block {}{}", sources, dst, shift);
  }
};

std::int32_t row_of(const StepTrace& trace, RequestId request) {
  const auto found = std::ranges::find(trace.rows, request, &RowTrace::request);
  return found == trace.rows.end() ? -1 : static_cast<std::int32_t>(found - trace.rows.begin());
}

std::vector<ComparableCopy> traced_copies(const std::vector<ForeignCopy>& traced,
                                          const StepTrace& ours) {
  std::vector<ComparableCopy> copies;
  for (const ForeignCopy& copy : traced) {
    const bool by_columns = copy.group < 0;
    copies.push_back({.row = row_of(ours, copy.request),
                      .group = copy.group,
                      .dst = by_columns ? copy.dest_block_idx : copy.dest_block_id,
                      .conv_src = by_columns ? copy.src_block_idx : copy.conv_src_block_id,
                      .temporal_src = copy.temporal_src_block_id,
                      .bias = copy.accept_token_bias});
  }
  return copies;
}

// Our copies in the form that the trace uses for the same row; by column when it has none.
std::vector<ComparableCopy> our_copies(const CopyLaunch& launch,
                                       const std::vector<ComparableCopy>& traced) {
  const auto traced_by_blocks = [&traced](std::int32_t row) {
    return std::ranges::any_of(
        traced, [row](const ComparableCopy& copy) { return copy.row == row && copy.group >= 0; });
  };
  std::vector<ComparableCopy> copies;
  for (const CopyDecisionTrace& made : launch.decisions)
    if (made.decision.copies() && !traced_by_blocks(made.row))
      copies.push_back({.row = made.row,
                        .dst = made.decision.dst_col,
                        .conv_src = made.decision.src_col,
                        .bias = made.decision.accept_token_bias});
  for (const StateCopyTrace& made : launch.copies) {
    const std::int32_t row = launch.decisions[static_cast<std::size_t>(made.decision)].row;
    if (traced_by_blocks(row))
      copies.push_back({.row = row,
                        .group = made.group,
                        .dst = made.dst_block,
                        .conv_src = made.conv_src_block,
                        .temporal_src = made.temporal_src_block,
                        .bias = made.accept_token_bias});
  }
  return copies;
}

// Fills what a traced copy leaves out from our copy to the same destination.
void complete(std::vector<ComparableCopy>& traced, const std::vector<ComparableCopy>& ours) {
  for (ComparableCopy& copy : traced) {
    const auto same = std::ranges::find_if(ours, [&copy](const ComparableCopy& our) {
      return our.same_place(copy) && our.dst == copy.dst;
    });
    if (same == ours.end()) continue;
    if (copy.conv_src < 0) copy.conv_src = same->conv_src;
    if (copy.temporal_src < 0) copy.temporal_src = same->temporal_src;
    if (copy.bias < 0) copy.bias = same->bias;
  }
}

// Sorts the copies and drops those that change nothing: engines differ in whether they make them.
void normalise(std::vector<ComparableCopy>& copies) {
  std::erase_if(copies, [](const ComparableCopy& copy) { return copy.changes_nothing(); });
  std::ranges::sort(copies);
}

}  // namespace

MaybeDifference compare_metadata(const ComparedStep& step, const StepTrace& ours) {
  for (const ForeignMetadata& traced : step.traced.attn_metadata) {
    const auto group = static_cast<std::size_t>(traced.group);
    if (group >= ours.groups.size() || !ours.groups[group].metadata) continue;
    EngineDifference place = step.difference(EngineDecision::attn_metadata);
    place.group = traced.group;
    const auto& spec = std::get<MambaSpec>(step.config.kv_cache_config.groups[group].spec);
    place.rule = std::string(metadata_builder_row(spec.mamba_type).reference_name) + ".build";
    for (const NamedArray& field : named_arrays(*ours.groups[group].metadata)) {
      const auto array = std::ranges::find(traced.arrays, field.name, &ForeignArray::name);
      if (array == traced.arrays.end()) continue;
      if (auto found = FieldComparison(step, place, field, *array).compare()) return found;
    }
  }
  return std::nullopt;
}

MaybeDifference compare_copies(const ComparedStep& step, const StepTrace& ours,
                               EngineDecision decision) {
  const bool before = decision == EngineDecision::preprocess_copies;
  const auto& traced_list = before ? step.traced.preprocess_copies : step.traced.postprocess_copies;
  if (!traced_list) return std::nullopt;
  std::vector<ComparableCopy> traced = traced_copies(*traced_list, ours);
  std::vector<ComparableCopy> expected =
      our_copies(before ? ours.pre_copies : ours.post_copies, traced);
  complete(traced, expected);
  normalise(traced);
  normalise(expected);
  const auto [mine, theirs] = std::ranges::mismatch(expected, traced);
  const bool only_theirs = mine == expected.end() || (theirs != traced.end() && *theirs < *mine);
  if (only_theirs && theirs == traced.end()) return std::nullopt;
  const ComparableCopy& first = only_theirs ? *theirs : *mine;
  const bool both = mine != expected.end() && theirs != traced.end() && mine->same_place(*theirs);
  EngineDifference found = step.difference(decision);
  if (first.row >= 0)
    found.request = step.name_of(ours.rows[static_cast<std::size_t>(first.row)].request);
  found.row = first.row;
  found.group = first.group;
  found.expected = !only_theirs || both ? mine->text() : "no copy";
  found.traced = only_theirs || both ? theirs->text() : "no copy";
  return found;
}

}  // namespace hybridscope
