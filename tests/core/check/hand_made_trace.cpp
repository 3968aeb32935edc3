#include "tests/core/check/hand_made_trace.h"

#include <algorithm>

namespace hybridscope::test {
namespace {

constexpr std::int32_t kBlockSize = 8;
constexpr std::int32_t kConvKernel = 4;
constexpr std::int32_t kShared = 16;

TokenContent token(std::int32_t request, std::int32_t position) {
  return mix(position < kShared ? 1u : 100u + static_cast<std::uint64_t>(request),
             static_cast<std::uint64_t>(position));
}

// The reference count after an event: what the events of the trace say so far.
std::int32_t references(const StepTrace& trace, std::int32_t block) {
  std::int32_t count = 0;
  for (const CacheEvent& event : trace.cache_events)
    if (event.block == block && event.kind == CacheEventKind::column_set) ++count;
  return count;
}

}  // namespace

CheckConfig hand_made_config() {
  const MambaSpec mamba{.block_size = kBlockSize,
                        .states = {},
                        .mamba_type = MambaType::mamba1,
                        .mamba_cache_mode = MambaCacheMode::align};
  return {.kv_cache_config = {.num_blocks = 16,
                              .groups = {{.spec = FullAttentionSpec{kBlockSize, 0}, .layers = {0}},
                                         {.spec = mamba, .layers = {1}}}},
          .mamba_cache_mode = MambaCacheMode::align,
          .conv_kernel = kConvKernel,
          .num_speculative_tokens = 0,
          .hash_block_size = kBlockSize};
}

Fingerprint hand_made_prefix(std::int32_t request, std::int32_t n) {
  Fingerprint fingerprint = seed_fingerprint(0);
  for (std::int32_t i = 0; i < n; ++i)
    fingerprint = extend_fingerprint(fingerprint, token(request, i));
  return fingerprint;
}

HandMadeTrace::HandMadeTrace(std::int64_t step) {
  trace_.step = trace_.committed_step = step;
  trace_.groups.resize(2);
  for (std::int32_t group = 0; group < 2; ++group) {
    GroupTrace& out = trace_.groups[static_cast<std::size_t>(group)];
    out.group = group;
    out.is_mamba = group == 1;
    out.block_size = kBlockSize;
  }
}

TensorView<std::int32_t> HandMadeTrace::keep(std::vector<std::int32_t> values, std::int32_t cols) {
  numbers_.push_back(std::move(values));
  const std::vector<std::int32_t>& kept = numbers_.back();
  return matrix_view(kept.data(), static_cast<std::int32_t>(kept.size()) / cols, cols);
}

HandMadeTrace& HandMadeTrace::rows(const std::vector<HandMadeRow>& rows) {
  std::vector<std::int32_t> starts(1, 0);
  std::vector<std::int32_t> lengths;
  for (const HandMadeRow& row : rows) {
    add_row(row);
    starts.push_back(starts.back() + row.query);
    lengths.push_back(row.computed + row.query);
    trace_.common.max_query_len = std::max(trace_.common.max_query_len, row.query);
    mamba_blocks_.push_back(row.mamba_blocks);
  }
  trace_.num_scheduled_tokens = starts.back();
  trace_.num_unfinished = static_cast<std::int32_t>(rows.size());
  trace_.common.num_reqs = static_cast<std::int32_t>(rows.size());
  trace_.common.num_actual_tokens = starts.back();
  numbers_.push_back(starts);
  trace_.common.query_start_loc = numbers_.back();
  numbers_.push_back(lengths);
  trace_.common.seq_lens = numbers_.back();
  add_attention(rows);
  add_mamba(rows);
  return *this;
}

void HandMadeTrace::add_row(const HandMadeRow& row) {
  const std::int32_t end = row.computed + row.query;
  const bool samples = end >= row.known;
  trace_.scheduled.push_back({.request = {row.request},
                              .admission = row.admission,
                              .num_computed_tokens = row.computed,
                              .num_scheduled_tokens = row.query,
                              .num_tokens = row.known,
                              .num_hit_tokens = row.hit});
  for (std::int32_t n = kBlockSize; n <= row.hit; n += kBlockSize)
    trace_.hit_hashes.push_back(hand_made_prefix(row.request, n));
  RowTrace out{.request = {row.request},
               .scheduled = static_cast<std::int32_t>(trace_.scheduled.size()) - 1,
               .num_computed_tokens = row.computed,
               .accepted_from = {row.request},
               .num_sampled_tokens = samples ? 1 : 0};
  for (std::int32_t i = 0; i < kConvKernel - 1; ++i) {
    const std::int32_t n = row.computed - kConvKernel + 2 + i;
    if (n > 0 || i == kConvKernel - 2)
      out.history[static_cast<std::size_t>(i)] = hand_made_prefix(row.request, n);
  }
  trace_.rows.push_back(out);
  for (std::int32_t i = 0; i < row.query; ++i)
    trace_.tokens.push_back(token(row.request, row.computed + i));
  trace_.committed.push_back({.request = {row.request},
                              .outcome = samples ? CommitOutcome::taken : CommitOutcome::chunk,
                              .num_computed_tokens = end,
                              .num_tokens = row.known + (samples ? 1 : 0),
                              .num_appended_tokens = samples ? 1 : 0});
}

void HandMadeTrace::add_attention(const std::vector<HandMadeRow>& rows) {
  constexpr std::int32_t cols = 4;
  GroupTrace& group = trace_.groups[0];
  std::vector<std::int32_t> table(rows.size() * cols, kNullBlock);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const HandMadeRow& row = rows[r];
    std::ranges::copy(row.attention_blocks, table.begin() + static_cast<std::ptrdiff_t>(r) * cols);
    for (std::int32_t position = row.computed; position < row.computed + row.query;) {
      const std::int32_t column = position / kBlockSize;
      const std::int32_t end = std::min(row.computed + row.query, (column + 1) * kBlockSize);
      group.attention_writes.push_back(
          {.row = static_cast<std::int32_t>(r),
           .column = column,
           .block = row.attention_blocks[static_cast<std::size_t>(column)],
           .first_slot = position % kBlockSize,
           .num_slots = end - position,
           .first_token = position - row.computed});
      position = end;
    }
  }
  group.block_table = keep(table, cols);
}

void HandMadeTrace::add_mamba(const std::vector<HandMadeRow>& rows) {
  constexpr std::int32_t cols = 4;
  GroupTrace& group = trace_.groups[1];
  MambaMetadata metadata{.num_reqs = static_cast<std::int32_t>(rows.size())};
  std::vector<std::int32_t> table(rows.size() * cols, kNullBlock);
  std::vector<std::int32_t> decode_states, prefill_states, prefill_starts(1, 0);
  std::vector<std::uint8_t> has_initial_states;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const HandMadeRow& row = rows[r];
    std::ranges::copy(row.mamba_blocks, table.begin() + static_cast<std::ptrdiff_t>(r) * cols);
    const std::int32_t column = (row.computed + row.query - 1) / kBlockSize;
    const std::int32_t block = row.mamba_blocks[static_cast<std::size_t>(column)];
    if (row.computed > 0 && row.computed == row.known - 1) {
      decode_states.push_back(block);
      continue;
    }
    prefill_states.push_back(block);
    prefill_starts.push_back(prefill_starts.back() + row.query);
    has_initial_states.push_back(row.computed > 0 ? 1 : 0);
  }
  metadata.num_decodes = metadata.num_decode_tokens =
      static_cast<std::int32_t>(decode_states.size());
  metadata.num_prefills = static_cast<std::int32_t>(prefill_states.size());
  metadata.num_prefill_tokens = prefill_starts.back();
  metadata.state_indices_tensor_d = keep(decode_states, 1);
  metadata.state_indices_tensor_p = keep(prefill_states, 1);
  metadata.query_start_loc_p = keep(prefill_starts, 1);
  flags_.push_back(has_initial_states);
  metadata.has_initial_states_p =
      vector_view(flags_.back().data(), static_cast<std::int32_t>(flags_.back().size()));
  group.metadata = metadata;
  group.block_table = keep(table, cols);
}

HandMadeTrace& HandMadeTrace::allocate(std::int32_t request, std::int32_t group,
                                       std::int32_t column, std::int32_t block) {
  trace_.cache_events.push_back({.kind = CacheEventKind::allocated,
                                 .group = group,
                                 .request = {request},
                                 .block = block,
                                 .ref_cnt = 1});
  trace_.cache_events.push_back({.kind = CacheEventKind::column_set,
                                 .group = group,
                                 .request = {request},
                                 .column = column,
                                 .block = block});
  return *this;
}

HandMadeTrace& HandMadeTrace::share(std::int32_t request, std::int32_t group, std::int32_t column,
                                    std::int32_t block) {
  trace_.cache_events.push_back({.kind = CacheEventKind::touched,
                                 .group = group,
                                 .request = {request},
                                 .block = block,
                                 .ref_cnt = std::max(references(trace_, block), 1) + 1});
  trace_.cache_events.push_back({.kind = CacheEventKind::column_set,
                                 .group = group,
                                 .request = {request},
                                 .column = column,
                                 .block = block});
  return *this;
}

HandMadeTrace& HandMadeTrace::null_column(std::int32_t request, std::int32_t group,
                                          std::int32_t column) {
  trace_.cache_events.push_back({.kind = CacheEventKind::column_set,
                                 .group = group,
                                 .request = {request},
                                 .column = column,
                                 .block = kNullBlock});
  return *this;
}

HandMadeTrace& HandMadeTrace::register_block(std::int32_t request, std::int32_t group,
                                             std::int32_t column, std::int32_t block) {
  const std::int32_t n = (column + 1) * kBlockSize;
  trace_.cache_events.push_back({.kind = CacheEventKind::registered,
                                 .group = group,
                                 .request = {request},
                                 .column = column,
                                 .block = block,
                                 .ref_cnt = 1,
                                 .num_tokens = n,
                                 .block_hash = hand_made_prefix(request, n)});
  if (group == 1)
    for (std::int32_t p = n - kConvKernel + 2; p <= n; ++p)
      trace_.label_history.push_back(hand_made_prefix(request, p));
  return *this;
}

HandMadeTrace& HandMadeTrace::pre_copy(std::int32_t row, std::int32_t src_column,
                                       std::int32_t dst_column) {
  const std::vector<std::int32_t>& blocks = mamba_blocks_[static_cast<std::size_t>(row)];
  const std::int32_t src = blocks[static_cast<std::size_t>(src_column)];
  StateCopyDecision decision;
  decision.outcome = StateCopyOutcome::copy;
  decision.src_col = src_column;
  decision.dst_col = dst_column;
  trace_.pre_copies.copies.push_back(
      {.decision = static_cast<std::int32_t>(trace_.pre_copies.decisions.size()),
       .group = 1,
       .conv_src_block = src,
       .temporal_src_block = src,
       .dst_block = blocks[static_cast<std::size_t>(dst_column)]});
  trace_.pre_copies.decisions.push_back(
      {.request = trace_.rows[static_cast<std::size_t>(row)].request,
       .row = row,
       .decision = decision});
  return *this;
}

namespace {

constexpr std::int32_t kLongestRequest = 64;

TokenContent token_of(std::int32_t request, std::int32_t position) {
  return mix(static_cast<std::uint64_t>(request) + 1, static_cast<std::uint64_t>(position));
}

WriteEvent earlier_write(std::int32_t request, std::int32_t n) {
  return {
      .kind = WriteKind::prefill, .step = 1, .ordinal = 0, .request = {request}, .num_tokens = n};
}

}  // namespace

CheckConfig RowBench::config_of(const BenchSettings& settings) {
  const MambaSpec spec{.block_size = settings.block_size,
                       .states = {},
                       .mamba_type = MambaType::mamba1,
                       .mamba_cache_mode = settings.mode,
                       .num_speculative_blocks = settings.num_speculative_tokens};
  CheckConfig config;
  config.kv_cache_config = {.num_blocks = settings.num_blocks,
                            .groups = {{.spec = spec, .layers = {0}}}};
  config.mamba_cache_mode = settings.mode;
  config.conv_kernel = settings.conv_kernel;
  config.num_speculative_tokens = settings.num_speculative_tokens;
  config.hash_block_size = settings.block_size;
  return config;
}

RowBench::RowBench(const BenchSettings& settings, const std::vector<BenchRow>& rows)
    : shared_(config_of(settings)), query_start_loc_(1, 0), context_(shared_, trace_, findings_) {
  trace_.step = trace_.committed_step = 2;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(rows.size()); ++r) {
    const BenchRow& row = rows[static_cast<std::size_t>(r)];
    trace_.scheduled.push_back(
        {.request = {r}, .num_computed_tokens = row.computed, .num_scheduled_tokens = row.query});
    RowTrace row_trace{.request = {r}, .scheduled = r, .num_computed_tokens = row.computed};
    row_trace.num_accepted_tokens = row.num_accepted_tokens;
    for (std::int32_t i = 0; i < settings.conv_kernel - 1; ++i) {
      const std::int32_t n = row.computed - settings.conv_kernel + 2 + i;
      if (n > 0 || i == settings.conv_kernel - 2)
        row_trace.history[static_cast<std::size_t>(i)] = prefix(r, n);
    }
    trace_.rows.push_back(row_trace);
    for (std::int32_t i = 0; i < row.query; ++i)
      trace_.tokens.push_back(token_of(r, row.computed + i));
    query_start_loc_.push_back(query_start_loc_.back() + row.query);
    seq_lens_.push_back(row.computed + row.query);
    for (std::size_t column = 0; column < row.blocks.size(); ++column)
      shared_.tables.apply({.kind = CacheEventKind::column_set,
                            .group = 0,
                            .request = {r},
                            .column = static_cast<std::int32_t>(column),
                            .block = row.blocks[column]});
  }
  trace_.common.query_start_loc = query_start_loc_;
  trace_.common.seq_lens = seq_lens_;
  trace_.common.num_reqs = static_cast<std::int32_t>(rows.size());
  trace_.common.num_actual_tokens = query_start_loc_.back();
  truth_.fold(trace_, settings.conv_kernel);
}

Fingerprint RowBench::prefix(std::int32_t request, std::int32_t n) const {
  Fingerprint fingerprint = seed_fingerprint(0);
  for (std::int32_t i = 0; i < n; ++i)
    fingerprint = extend_fingerprint(fingerprint, token_of(request, i));
  return fingerprint;
}

void RowBench::put_state(std::int32_t block, std::int32_t request, std::int32_t n) {
  state().temporal(block) = {prefix(request, n), earlier_write(request, n)};
}

void RowBench::put_conv(std::int32_t block, std::int32_t request,
                        const std::vector<std::int32_t>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    state().conv(block)[i] = tokens[i] > 0 ? prefix(request, tokens[i]) : kBeforeFirstToken;
  state().conv_event(block) = earlier_write(request, tokens.back());
}

void RowBench::put(std::int32_t block, std::int32_t request, std::int32_t n) {
  put_state(block, request, n);
  std::vector<std::int32_t> tokens;
  for (std::int32_t p = n - shared_.config.conv_kernel + 2; p <= n; ++p) tokens.push_back(p);
  put_conv(block, request, tokens);
}

std::int32_t RowBench::number_of(Fingerprint fingerprint, std::int32_t request) const {
  if (fingerprint == kPoison) return kUnwritten;
  for (std::int32_t n = 1; n <= kLongestRequest; ++n)
    if (prefix(request, n) == fingerprint) return n;
  return kForeign;
}

std::int32_t RowBench::state_of(std::int32_t block, std::int32_t request) const {
  return number_of(shared_.state.temporal(block).fingerprint, request);
}

std::vector<std::int32_t> RowBench::conv_of(std::int32_t block, std::int32_t request) const {
  std::vector<std::int32_t> tokens;
  for (const Fingerprint fingerprint : shared_.state.conv(block))
    tokens.push_back(fingerprint == kBeforeFirstToken ? kBefore : number_of(fingerprint, request));
  return tokens;
}

}  // namespace hybridscope::test
