// Copies of states: a trace tells them by columns for all groups or by blocks for one.
#include <algorithm>
#include <compare>
#include <vector>

#include "sessions/judge/compare_worker.h"

namespace hybridscope {
namespace {

// Of a row. By columns: group and temporal_src are -1.
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
  // -1: not told.
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

std::vector<ComparableCopy> told_copies(const std::vector<ForeignCopy>& told,
                                        const StepTrace& ours) {
  std::vector<ComparableCopy> copies;
  for (const ForeignCopy& copy : told) {
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

// In the form in which the same row's copies are told; by columns where none are.
std::vector<ComparableCopy> our_copies(const CopyLaunch& launch,
                                       const std::vector<ComparableCopy>& told) {
  const auto told_by_blocks = [&told](std::int32_t row) {
    return std::ranges::any_of(
        told, [row](const ComparableCopy& copy) { return copy.row == row && copy.group >= 0; });
  };
  std::vector<ComparableCopy> copies;
  for (const CopyDecisionTrace& made : launch.decisions)
    if (made.decision.copies() && !told_by_blocks(made.row))
      copies.push_back({.row = made.row,
                        .dst = made.decision.dst_col,
                        .conv_src = made.decision.src_col,
                        .bias = made.decision.accept_token_bias});
  for (const StateCopyTrace& made : launch.copies) {
    const std::int32_t row = launch.decisions[static_cast<std::size_t>(made.decision)].row;
    if (told_by_blocks(row))
      copies.push_back({.row = row,
                        .group = made.group,
                        .dst = made.dst_block,
                        .conv_src = made.conv_src_block,
                        .temporal_src = made.temporal_src_block,
                        .bias = made.accept_token_bias});
  }
  return copies;
}

// What a told copy leaves out is what our copy to the same place has.
void complete(std::vector<ComparableCopy>& told, const std::vector<ComparableCopy>& ours) {
  for (ComparableCopy& copy : told) {
    const auto same = std::ranges::find_if(ours, [&copy](const ComparableCopy& our) {
      return our.same_place(copy) && our.dst == copy.dst;
    });
    if (same == ours.end()) continue;
    if (copy.conv_src < 0) copy.conv_src = same->conv_src;
    if (copy.temporal_src < 0) copy.temporal_src = same->temporal_src;
    if (copy.bias < 0) copy.bias = same->bias;
  }
}

// Sorted, without what changes nothing: engines differ in whether they make such copies.
void normalise(std::vector<ComparableCopy>& copies) {
  std::erase_if(copies, [](const ComparableCopy& copy) { return copy.changes_nothing(); });
  std::ranges::sort(copies);
}

}  // namespace

MaybeDifference compare_copies(const ComparedStep& step, const StepTrace& ours,
                               EngineDecision decision) {
  const bool before = decision == EngineDecision::preprocess_copies;
  const auto& told_list = before ? step.told.preprocess_copies : step.told.postprocess_copies;
  if (!told_list) return std::nullopt;
  std::vector<ComparableCopy> told = told_copies(*told_list, ours);
  std::vector<ComparableCopy> expected =
      our_copies(before ? ours.pre_copies : ours.post_copies, told);
  complete(told, expected);
  normalise(told);
  normalise(expected);
  const auto [mine, theirs] = std::ranges::mismatch(expected, told);
  const bool only_theirs = mine == expected.end() || (theirs != told.end() && *theirs < *mine);
  if (only_theirs && theirs == told.end()) return std::nullopt;
  const ComparableCopy& first = only_theirs ? *theirs : *mine;
  const bool both = mine != expected.end() && theirs != told.end() && mine->same_place(*theirs);
  EngineDifference found = step.difference(decision);
  if (first.row >= 0)
    found.request = step.name_of(ours.rows[static_cast<std::size_t>(first.row)].request);
  found.row = first.row;
  found.group = first.group;
  found.expected = !only_theirs || both ? mine->text() : "no copy";
  found.told = only_theirs || both ? theirs->text() : "no copy";
  return found;
}

}  // namespace hybridscope
