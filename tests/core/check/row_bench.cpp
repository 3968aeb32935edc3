#include "tests/core/check/row_bench.h"

#include <algorithm>

namespace hybridscope::test {
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
