#include "sessions/explain/forward_rows.h"

#include <algorithm>

#include "core/base/ids.h"

namespace hybridscope {
namespace {

using Indices = TensorView<std::int32_t>;

class Resolver {
 public:
  Resolver(const StepTrace& trace, const GroupTrace& group, MambaCacheMode mode)
      : trace_(trace), group_(group), mode_(mode) {}

  std::vector<ForwardPlaces> take() { return std::move(rows_); }

  void add(const MambaMetadata& m) {
    for (std::int32_t row = 0; row < m.num_decodes; ++row) {
      if (mode_ == MambaCacheMode::all)
        add_all_mode_decode(m, row);
      else
        add_window_row({&m.state_indices_tensor_d, m.num_accepted_tokens, m.query_start_loc_d}, row,
                       row);
    }
    for (std::int32_t i = 0; i < m.num_prefills; ++i) {
      if (mode_ == MambaCacheMode::all)
        add_all_mode_prefill(m, i);
      else
        add_prefill(m.num_decodes + i, m.state_indices_tensor_p.at(i),
                    m.has_initial_states_p.at(i) != 0);
    }
  }

  void add(const GdnMetadata& m) {
    const Window spec{&m.spec_state_indices_tensor, m.num_accepted_tokens, m.spec_query_start_loc};
    for (std::int32_t i = 0; i < m.num_spec_decodes; ++i)
      add_window_row(spec, i, next_row(m, true));
    if (!m.non_spec_state_indices_tensor.present) return;
    const Indices& blocks = m.non_spec_state_indices_tensor;
    for (std::int32_t i = 0; i < blocks.rows; ++i) {
      const std::int32_t row = next_row(m, false);
      if (m.num_prefills > 0)
        add_prefill(row, blocks.at(i), m.has_initial_state.at(i) != 0);
      else
        add_window_row({&blocks, {}, m.non_spec_query_start_loc}, i, row);
    }
  }

 private:
  struct Window {
    const Indices* state_indices = nullptr;
    Indices num_accepted_tokens;
    Indices query_start_loc;
  };

  bool is_real(std::int32_t row) const {
    return row >= 0 && static_cast<std::size_t>(row) < trace_.rows.size();
  }
  const ScheduledTrace& scheduled(std::int32_t row) const {
    return trace_.scheduled_of(trace_.rows[static_cast<std::size_t>(row)]);
  }
  std::int32_t query_tokens(std::int32_t row) const { return scheduled(row).num_scheduled_tokens; }

  // Column of the request's block table that window column 0 is.
  std::int32_t window_start(std::int32_t row) const {
    if (mode_ == MambaCacheMode::none) return 0;
    const std::int32_t seq_len =
        trace_.rows[static_cast<std::size_t>(row)].num_computed_tokens + query_tokens(row);
    return std::max(seq_len - 1, 0) / group_.block_size;
  }

  // Batch row of the next spec or other row: masks tell in a mixed batch, otherwise the order.
  std::int32_t next_row(const GdnMetadata& m, bool spec) {
    std::int32_t& row = spec ? next_spec_ : next_other_;
    if (m.num_prefills > 0 && m.spec_sequence_masks.present)
      while (row < m.spec_sequence_masks.rows && (m.spec_sequence_masks.at(row) != 0) != spec)
        ++row;
    return row++;
  }

  void add_window_row(const Window& window, std::int32_t index, std::int32_t row) {
    if (!is_real(row)) return;
    const Indices& indices = *window.state_indices;
    const std::int32_t start = window_start(row);
    const auto place = [&](std::int32_t column) {
      return StatePlace{start + column, indices.at(index, column)};
    };
    ForwardPlaces result{.row = row,
                         .is_decode = true,
                         .counts_given = window.num_accepted_tokens.present,
                         .num_query_tokens = query_tokens(row),
                         .window_column = start,
                         .temporal_source = {},
                         .conv_source = place(0),
                         .boundary_targets = {},
                         .targets = {}};
    if (result.counts_given) result.num_accepted_tokens = window.num_accepted_tokens.at(index);
    const std::int32_t offset = result.num_accepted_tokens - 1;
    result.source_in_range = offset >= 0 && offset < indices.cols;
    if (result.source_in_range) result.temporal_source = place(offset);
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(place(std::min(t, indices.cols - 1)));
    rows_.push_back(std::move(result));
  }

  void add_prefill(std::int32_t row, std::int32_t block, bool has_initial_state) {
    if (!is_real(row)) return;
    const StatePlace place{window_start(row), block};
    rows_.push_back({.row = row,
                     .num_query_tokens = query_tokens(row),
                     .has_initial_state = has_initial_state,
                     .window_column = place.column,
                     .temporal_source = place,
                     .conv_source = place,
                     .boundary_targets = {},
                     .targets = {place}});
  }

  void add_all_mode_decode(const MambaMetadata& m, std::int32_t row) {
    if (!is_real(row)) return;
    const Indices& table = m.state_indices_tensor_d;
    const auto place = [&](std::int32_t column) {
      const bool inside = column >= 0 && column < table.cols;
      return StatePlace{column, inside ? table.at(row, column) : kPadSlotId};
    };
    const std::int32_t computed = m.block_idx_last_computed_token.at(row);
    ForwardPlaces result{.row = row,
                         .is_decode = true,
                         .counts_given = m.num_accepted_tokens.present,
                         .num_query_tokens = query_tokens(row),
                         .window_column = computed,
                         .temporal_source = {},
                         .conv_source = {},
                         .boundary_targets = {},
                         .targets = {}};
    if (result.counts_given) result.num_accepted_tokens = m.num_accepted_tokens.at(row);
    if (group_.temporal_source_column.present)
      result.window_column = group_.temporal_source_column.at(row);
    result.temporal_source = place(result.window_column + result.num_accepted_tokens - 1);
    result.source_in_range = result.temporal_source.block != kPadSlotId;
    result.conv_source =
        place(group_.conv_source_column.present ? group_.conv_source_column.at(row) : computed);
    const std::int32_t first = m.block_idx_last_scheduled_token.at(row);
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(place(std::min(first + t, table.cols - 1)));
    rows_.push_back(std::move(result));
  }

  void add_all_mode_prefill(const MambaMetadata& m, std::int32_t index) {
    const std::int32_t row = m.num_decodes + index;
    if (!is_real(row)) return;
    const Indices& table = m.state_indices_tensor_p;
    const auto place = [&](std::int32_t column) {
      return StatePlace{column, table.at(index, column)};
    };
    const StatePlace source = place(m.block_idx_last_computed_token.at(row));
    const std::int32_t last = m.block_idx_last_scheduled_token.at(row);
    ForwardPlaces result{.row = row,
                         .num_query_tokens = query_tokens(row),
                         .has_initial_state = m.has_initial_states_p.at(index) != 0,
                         .window_column = source.column,
                         .temporal_source = source,
                         .conv_source = source,
                         .boundary_targets = {},
                         .targets = {place(last)}};
    for (std::int32_t c = m.block_idx_first_scheduled_token_p.at(index); c < last; ++c)
      result.boundary_targets.push_back(place(c));
    rows_.push_back(std::move(result));
  }

  const StepTrace& trace_;
  const GroupTrace& group_;
  MambaCacheMode mode_;
  std::vector<ForwardPlaces> rows_;
  std::int32_t next_spec_ = 0;
  std::int32_t next_other_ = 0;
};

}  // namespace

std::vector<ForwardPlaces> forward_rows(const StepTrace& trace, const GroupTrace& group,
                                        MambaCacheMode mode) {
  Resolver resolver(trace, group, mode);
  if (!group.metadata) return {};
  if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata))
    resolver.add(*mamba);
  else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
    resolver.add(mamba2->base);
  else
    resolver.add(std::get<GdnMetadata>(*group.metadata));
  return resolver.take();
}

}  // namespace hybridscope
