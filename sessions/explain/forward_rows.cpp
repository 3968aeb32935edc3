#include "sessions/explain/forward_rows.h"

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
    const bool counts = access.counts_given && group_.accepted_counts_given;
    ForwardPlaces result{.row = access.row,
                         .is_decode = access.is_decode,
                         .counts_given = counts,
                         .num_accepted_tokens = counts ? access.num_accepted_tokens : 1,
                         .num_query_tokens = query_tokens(access.row),
                         .temporal_source = {},
                         .conv_source = {},
                         .passed = {},
                         .targets = {}};
    if (!access.is_decode) result.has_initial_state = access.has_initial_state;
    const std::int32_t first =
        access.by_column ? access.block_at(access.last_scheduled_column) : access.block_at(0);
    if (access.is_decode && !access.by_column)
      result.num_query_tokens = std::min(result.num_query_tokens, access.num_query_tokens);
    result.is_skipped = first == kNullBlock || first == kPadSlotId || result.num_query_tokens <= 0;
    if (result.is_skipped)
      result.has_initial_state = false;
    else if (access.by_column)
      add_columns(access, result);
    else
      add_window(access, result);
    return result;
  }

 private:
  const RowTrace& row_of(std::int32_t row) const {
    return trace_.rows[static_cast<std::size_t>(row)];
  }
  std::int32_t query_tokens(std::int32_t row) const {
    return trace_.scheduled_of(row_of(row)).num_scheduled_tokens;
  }

  // Where the row has the block. Under a fault the arrays may name another one than its table has
  // in the column that they stand for.
  StatePlace place(std::int32_t row, std::int32_t column, std::int32_t block) const {
    const TensorView<std::int32_t>& table = group_.block_table;
    if (!table.present || row >= table.rows || block <= kNullBlock) return {column, block};
    if (column >= 0 && column < table.cols && table.at(row, column) == block)
      return {column, block};
    for (std::int32_t other = 0; other < table.cols; ++other)
      if (table.at(row, other) == block) return {other, block};
    return {-1, block};
  }

  // The column of the request's block table that is column 0 of its window.
  std::int32_t window_start(std::int32_t row) const {
    if (mode_ == MambaCacheMode::none) return 0;
    const std::int32_t seq_len = row_of(row).num_computed_tokens + query_tokens(row);
    return std::max(seq_len - 1, 0) / group_.block_size;
  }

  void add_window(const StateAccess& access, ForwardPlaces& result) const {
    const auto cols = static_cast<std::int32_t>(access.blocks.size());
    const std::int32_t start = window_start(access.row);
    const auto at = [&](std::int32_t column) {
      return place(access.row, start + column, access.block_at(column));
    };
    result.window_column = start;
    result.conv_source = at(0);
    if (!access.is_decode) {
      result.temporal_source = at(0);
      result.targets = {at(0)};
      if (access.checkpoint_tokens > 0 && access.checkpoint_tokens < result.num_query_tokens &&
          access.checkpoint_block != kNullBlock)
        result.passed.push_back(
            {place(access.row, start - 1, access.checkpoint_block),
             row_of(access.row).num_computed_tokens + access.checkpoint_tokens});
      return;
    }
    const std::int32_t offset = result.num_accepted_tokens - 1;
    result.source_in_range = offset >= 0 && offset < cols;
    if (result.source_in_range) result.temporal_source = at(offset);
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(at(std::min(t, cols - 1)));
  }

  void add_columns(const StateAccess& access, ForwardPlaces& result) const {
    const auto at = [&](std::int32_t column) {
      return place(access.row, column, access.block_at(column));
    };
    result.window_column = access.temporal_source_column;
    const std::int32_t last = access.last_scheduled_column;
    if (!access.is_decode) {
      result.temporal_source = at(access.computed_column);
      result.conv_source = result.temporal_source;
      result.targets = {at(last)};
      for (std::int32_t c = access.first_scheduled_column; c < last; ++c)
        add_boundary(access, c, result);
      return;
    }
    result.temporal_source = at(access.temporal_source_column + result.num_accepted_tokens - 1);
    result.conv_source = at(access.conv_source_column);
    result.source_in_range = result.temporal_source.block != kPadSlotId;
    const auto cols = static_cast<std::int32_t>(access.blocks.size());
    for (std::int32_t t = 0; t < result.num_query_tokens; ++t)
      result.targets.push_back(at(std::min(last + t, cols - 1)));
  }

  // The state that goes to column `column` at its end, if the row computes one: it may have been
  // told to store a boundary that it does not cross, or the state of a chunk that is not its own.
  void add_boundary(const StateAccess& access, std::int32_t column, ForwardPlaces& result) const {
    const std::int32_t computed = row_of(access.row).num_computed_tokens;
    const std::int32_t end = computed + result.num_query_tokens;
    const auto inside = [&](std::int32_t tokens) { return tokens > computed && tokens <= end; };
    const std::int32_t boundary = (column + 1) * group_.block_size;
    const std::int32_t held =
        access.boundary_chunks.stride > 0
            ? computed + access.boundary_chunks.tokens_at(column - access.first_scheduled_column)
            : boundary;
    if (inside(boundary) && inside(held))
      result.passed.push_back({place(access.row, column, access.block_at(column)), held});
  }

  const StepTrace& trace_;
  const GroupTrace& group_;
  MambaCacheMode mode_;
};

std::vector<StateAccess> accesses_of(const StepTrace& trace, const GroupTrace& group,
                                     MambaCacheMode mode) {
  std::vector<StateAccess> accesses;
  if (group.metadata)
    append_state_accesses(*group.metadata, forward_context(trace, group, mode), accesses);
  return accesses;
}

}  // namespace

std::vector<ForwardPlaces> forward_rows(const StepTrace& trace, const GroupTrace& group,
                                        MambaCacheMode mode) {
  const Resolver resolver(trace, group, mode);
  std::vector<ForwardPlaces> rows;
  for (const StateAccess& access : accesses_of(trace, group, mode))
    if (resolver.is_real(access)) rows.push_back(resolver.resolve(access));
  return rows;
}

std::vector<PaddingWrite> padding_writes(const StepTrace& trace, const GroupTrace& group,
                                         MambaCacheMode mode) {
  std::vector<PaddingWrite> writes;
  for (const StateAccess& access : accesses_of(trace, group, mode)) {
    const bool is_padding =
        access.row < 0 || static_cast<std::size_t>(access.row) >= trace.rows.size();
    // Prefill rows of mode all past the batch are skipped.
    if (!is_padding || !access.runs_as_padding || access.blocks.empty()) continue;
    if (access.by_column && !access.is_decode) continue;
    const std::int32_t block =
        access.by_column ? access.block_at(access.last_scheduled_column) : access.blocks[0];
    if (block > kNullBlock) writes.push_back({access.index, block});
  }
  for (const DummyRow& row : trace.dummy_rows)
    if (row.group == group.group && row.block > kNullBlock) writes.push_back({row.row, row.block});
  return writes;
}

bool replays(const StepTrace& trace, const GroupTrace& group) {
  return trace.graph.pads_metadata() && !group.replayed_arrays.empty();
}

bool replays_stale(const StepTrace& trace, const GroupTrace& group) {
  return replays(trace, group) && group.persistent_buffers_step < trace.step;
}

void WriteSources::add_block_copies(const StepTrace& trace, Sources& sources) {
  for (const BlockCopy& copy : block_copies_of(trace.cache_events))
    sources.push_back({.group = copy.group,
                       .target = copy.block,
                       .temporal = copy.source_block,
                       .conv = copy.source_block});
}

void WriteSources::add_copies(const CopyLaunch& launch, Sources& sources) {
  for (const auto& copy : launch.copies)
    sources.push_back({.group = copy.group,
                       .target = copy.dst_block,
                       .temporal = copy.temporal_src_block,
                       .conv = copy.conv_src_block});
}

void WriteSources::add_rows(const StepTrace& trace, MambaCacheMode mode, Sources& sources) {
  for (const GroupTrace& group : trace.groups)
    for (const ForwardPlaces& row : forward_rows(trace, group, mode)) {
      if (!row.has_initial_state) continue;
      const RequestId request = trace.rows[static_cast<std::size_t>(row.row)].request;
      sources.push_back({.group = group.group,
                         .target = request.value,
                         .temporal = row.temporal_source.block,
                         .conv = row.conv_source.block});
    }
}

void WriteSources::sort(Sources& sources) {
  std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return std::pair(a.group, a.target) < std::pair(b.group, b.target);
  });
}

WriteSources::WriteSources(const StepTrace& trace, MambaCacheMode mode) {
  add_block_copies(trace, block_copies_);
  add_copies(trace.pre_copies, pre_copies_);
  add_copies(trace.post_copies, post_copies_);
  add_rows(trace, mode, rows_);
  for (Sources* sources : {&block_copies_, &pre_copies_, &post_copies_, &rows_}) sort(*sources);
}

std::optional<std::int32_t> WriteSources::find(const Sources& sources, const StateWrite& write,
                                               std::int64_t target) {
  const auto behind =
      std::upper_bound(sources.begin(), sources.end(), std::pair(write.group, target),
                       [](const auto& wanted, const Source& source) {
                         return wanted < std::pair(source.group, source.target);
                       });
  if (behind == sources.begin()) return std::nullopt;
  const Source& found = *(behind - 1);
  if (found.group != write.group || found.target != target) return std::nullopt;
  return write.content == ContentKind::conv ? found.conv : found.temporal;
}

std::optional<std::int32_t> WriteSources::of(const StateWrite& write) const {
  switch (write.event.kind) {
    case WriteKind::pre_copy: return find(pre_copies_, write, write.block);
    case WriteKind::post_copy: return find(post_copies_, write, write.block);
    case WriteKind::prefill:
    case WriteKind::decode: return find(rows_, write, write.event.request.value);
    case WriteKind::block_copy: return find(block_copies_, write, write.block);
    case WriteKind::never:
    case WriteKind::attention: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hybridscope
