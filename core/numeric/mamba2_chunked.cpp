#include <algorithm>
#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/chunked.h"

namespace hybridscope {
namespace {

std::size_t as_index(std::int32_t n) { return static_cast<std::size_t>(n); }

// One layer's chunks, and the state that each leaves.
class Mamba2ChunkScan {
 public:
  Mamba2ChunkScan(const Mamba2Layer& layer, const Mamba2Tokens& tokens)
      : layer_(layer),
        io_(tokens),
        H_(as_index(layer.num_heads)),
        P_(as_index(layer.head_dim)),
        N_(as_index(layer.state_size)),
        G_(as_index(layer.num_groups)) {}

  // `state` [H, P, N] of the tokens before becomes that behind the chunk.
  void run(std::span<float> state, const BatchTokens& range) {
    for (std::size_t head = 0; head < H_; ++head) {
      load_gates(head, range);
      write_outputs(state.subspan(head * P_ * N_, P_ * N_), head, range);
      advance(state.subspan(head * P_ * N_, P_ * N_), head, range);
    }
  }

 private:
  std::span<const float> row(std::span<const float> table, std::int32_t token, std::size_t head) {
    const std::size_t group = head / (H_ / G_);
    return table.subspan((as_index(token) * G_ + group) * N_, N_);
  }
  float x(std::int32_t token, std::size_t head, std::size_t p) const {
    return io_.x[(as_index(token) * H_ + head) * P_ + p];
  }

  // dt and the running sum of dt A of each token of the chunk.
  void load_gates(std::size_t head, const BatchTokens& range) {
    const float A = -exp_f32(layer_.A_log[head]);
    dt_.clear();
    sums_.clear();
    float sum = 0;
    for (std::int32_t t = range.first; t < range.last; ++t) {
      float dt = softplus_f32(io_.dt[as_index(t) * H_ + head] + layer_.dt_bias[head]);
      if (layer_.has_dt_limit) dt = std::clamp(dt, layer_.dt_min, layer_.dt_max);
      dt_.push_back(dt);
      sums_.push_back(sum += dt * A);
    }
  }

  void write_outputs(std::span<const float> state, std::size_t head, const BatchTokens& range) {
    const auto n = static_cast<std::int64_t>(N_);
    for (std::int32_t i = range.first; i < range.last; ++i) {
      const std::size_t at = as_index(i - range.first);
      const auto C = row(io_.C, i, head);
      weights_.clear();
      for (std::size_t j = 0; j <= at; ++j) {
        const auto B = row(io_.B, range.first + static_cast<std::int32_t>(j), head);
        weights_.push_back(OrderedSum::dot(C.data(), B.data(), n) * exp_f32(sums_[at] - sums_[j]) *
                           dt_[j]);
      }
      const float decay = exp_f32(sums_[at]);
      for (std::size_t p = 0; p < P_; ++p) {
        float y = decay * OrderedSum::dot(state.data() + p * N_, C.data(), n);
        for (std::size_t j = 0; j <= at; ++j)
          y += weights_[j] * x(range.first + static_cast<std::int32_t>(j), head, p);
        io_.y[(as_index(i) * H_ + head) * P_ + p] = y + x(i, head, p) * layer_.D[head];
      }
    }
  }

  void advance(std::span<float> state, std::size_t head, const BatchTokens& range) {
    if (sums_.empty()) return;
    const float decay = exp_f32(sums_.back());
    for (float& element : state) element *= decay;
    for (std::int32_t j = range.first; j < range.last; ++j) {
      const std::size_t at = as_index(j - range.first);
      const float weight = exp_f32(sums_.back() - sums_[at]) * dt_[at];
      const auto B = row(io_.B, j, head);
      for (std::size_t p = 0; p < P_; ++p) {
        const float scaled = weight * x(j, head, p);
        for (std::size_t n = 0; n < N_; ++n) state[p * N_ + n] += scaled * B[n];
      }
    }
  }

  const Mamba2Layer& layer_;
  const Mamba2Tokens& io_;
  std::size_t H_, P_, N_, G_;
  std::vector<float> dt_, sums_, weights_;  // of one head's tokens in the chunk
};

// Columns of mode all that chunk `chunk` of the row fills, if it ends a block (vLLM
// mamba_mixer2.py, first_chunk and chunk_stride).
std::int32_t column_of_chunk(const PrefillRows& rows, const Mamba2Chunks& chunks, std::int32_t row,
                             std::int32_t chunk) {
  const auto r = as_index(row);
  const std::int32_t stride = rows.mamba_block_size / chunks.chunk_size;
  if (stride < 1) return -1;
  const std::int32_t first_chunk = row == 0 ? 0 : chunks.last_chunk_indices[r - 1] + 1;
  const std::int32_t first =
      first_chunk + stride - 1 -
      rows.num_computed_tokens[r] % rows.mamba_block_size / chunks.chunk_size;
  if (chunk < first || (chunk - first) % stride != 0) return -1;
  const std::int32_t column = rows.block_idx_first_scheduled_token[r] + (chunk - first) / stride;
  return column < rows.block_idx_last_scheduled_token[r] && column < rows.state_indices.cols
             ? column
             : -1;
}

}  // namespace

void mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                            const StatePool& pool, const Mamba2Tokens& tokens,
                            bool prep_initial_states, const Mamba2Chunks& chunks) {
  const auto num_tokens = static_cast<std::int32_t>(tokens.dt.size() / as_index(layer.num_heads));
  Mamba2ChunkScan scan(layer, tokens);
  std::vector<float> state(static_cast<std::size_t>(pool.block_elements));
  const auto store = [&](std::int32_t block) {
    if (is_state_block(block)) std::ranges::copy(state, pool.block(block).begin());
  };
  const auto load = [&](std::int32_t row) {
    const bool reads = prep_initial_states && rows.has_initial_states[as_index(row)] != 0 &&
                       is_state_block(rows.source(row));
    std::ranges::fill(state, 0.0F);
    if (reads) std::ranges::copy(pool.block(rows.source(row)), state.begin());
  };
  std::int32_t last_row = -1;
  const auto count = static_cast<std::int32_t>(chunks.seq_idx.size());
  for (std::int32_t k = 0; k < count && as_index(k) + 1 < chunks.cu_chunk_seqlen.size(); ++k) {
    const std::int32_t row = chunks.seq_idx[as_index(k)];
    const BatchTokens range{std::max(chunks.cu_chunk_seqlen[as_index(k)], 0),
                            std::min(chunks.cu_chunk_seqlen[as_index(k) + 1], num_tokens)};
    if (row < 0 || row >= rows.num_rows() || range.size() <= 0) continue;
    if (row != last_row) load(row);
    last_row = row;
    scan.run(state, range);
    if (rows.is_mode_all()) {
      const std::int32_t column = column_of_chunk(rows, chunks, row, k);
      if (column >= 0) store(rows.state_indices.at(row, column));
    } else {
      for (const BoundaryState& boundary : boundary_states(rows, row))
        if (rows.tokens(row).first + boundary.num_tokens == range.last) store(boundary.block);
    }
    if (chunks.last_chunk_indices[as_index(row)] == k) store(rows.destination(row));
  }
  for (std::int32_t row = 0; row < rows.num_rows() && !rows.is_mode_all(); ++row) {
    if (rows.tokens(row).size() > 0) continue;
    load(row);
    store(rows.destination(row));
  }
}

}  // namespace hybridscope
