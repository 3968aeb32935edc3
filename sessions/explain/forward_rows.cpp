#include "sessions/explain/forward_rows.h"

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

class Resolver {
 public:
  Resolver(const StepTrace& trace, const GroupTrace& group, MambaCacheMode mode)
      : trace_(trace), group_(group), mode_(mode) {}

  bool is_real(const StateAccess& access) const {
    return access.row >= 0 && static_cast<std::size_t>(access.row) < trace_.rows.size() &&
           !access.blocks.empty();
  }

  // Requires: is_real(access).
  ForwardPlaces resolve(const StateAccess& access) const {
    ForwardPlaces result{.row = access.row,
                         .is_decode = access.is_decode,
                         .counts_given = access.counts_given,
                         .num_accepted_tokens = access.num_accepted_tokens,
                         .num_query_tokens = query_tokens(access.row),
                         .temporal_source = {},
                         .conv_source = {},
                         .boundary_targets = {},
                         .targets = {}};
    if (!access.is_decode) result.has_initial_state = access.has_initial_state;
    if (access.by_column)
      add_columns(access, result);
    else
      add_window(access, result);
    return result;
  }

 private:
  std::int32_t query_tokens(std::int32_t row) const {
    return trace_.scheduled_of(trace_.rows[static_cast<std::size_t>(row)]).num_scheduled_tokens;
  }

  // The column of the request's block table that is column 0 of its window.
  std::int32_t window_start(std::int32_t row) const {
    if (mode_ == MambaCacheMode::none) return 0;
    const std::int32_t seq_len =
        trace_.rows[static_cast<std::size_t>(row)].num_computed_tokens + query_tokens(row);
    return std::max(seq_len - 1, 0) / group_.block_size;
  }

  void add_window(const StateAccess& access, ForwardPlaces& result) const {
    const auto cols = static_cast<std::int32_t>(access.blocks.size());
    const std::int32_t start = window_start(access.row);
    const auto place = [&](std::int32_t column) {
      return StatePlace{start + column, access.block_at(column)};
    };
    result.window_column = start;
    result.conv_source = place(0);
    if (!access.is_decode) {
      result.temporal_source = place(0);
      result.targets = {place(0)};
      return;
    }
    const std::int32_t offset = result.num_accepted_tokens - 1;
    result.source_in_range = offset >= 0 && offset < cols;
    if (result.source_in_range) result.temporal_source = place(offset);
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(place(std::min(t, cols - 1)));
  }

  static void add_columns(const StateAccess& access, ForwardPlaces& result) {
    const auto place = [&](std::int32_t column) {
      return StatePlace{column, access.block_at(column)};
    };
    result.window_column = access.temporal_source_column;
    result.temporal_source = place(access.temporal_source_column + result.num_accepted_tokens - 1);
    result.conv_source = place(access.conv_source_column);
    const std::int32_t last = access.last_scheduled_column;
    if (!access.is_decode) {
      result.targets = {place(last)};
      for (std::int32_t c = access.first_scheduled_column; c < last; ++c)
        result.boundary_targets.push_back(place(c));
      return;
    }
    result.source_in_range = result.temporal_source.block != kPadSlotId;
    const auto cols = static_cast<std::int32_t>(access.blocks.size());
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(place(std::min(last + t, cols - 1)));
  }

  const StepTrace& trace_;
  const GroupTrace& group_;
  MambaCacheMode mode_;
};

}  // namespace

std::vector<ForwardPlaces> forward_rows(const StepTrace& trace, const GroupTrace& group,
                                        MambaCacheMode mode) {
  if (!group.metadata) return {};
  std::vector<StateAccess> accesses;
  append_state_accesses(*group.metadata, forward_context(trace, group, mode), accesses);
  const Resolver resolver(trace, group, mode);
  std::vector<ForwardPlaces> rows;
  for (const StateAccess& access : accesses)
    if (resolver.is_real(access)) rows.push_back(resolver.resolve(access));
  return rows;
}

}  // namespace hybridscope
