#include "core/numeric/dense_layers.h"

#include <algorithm>
#include <cmath>

#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

// rsqrt(mean of squares + eps)
float inverse_rms(std::span<const float> x, float eps) {
  const auto n = static_cast<std::int64_t>(x.size());
  return rsqrt_f32(OrderedSum::dot(x.data(), x.data(), n) / static_cast<float>(n) + eps);
}

}  // namespace

void linear(std::span<const float> weight, std::span<const float> x, std::span<float> y) {
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::size_t o = 0; o < y.size(); ++o)
    y[o] = OrderedSum::dot(weight.data() + o * x.size(), x.data(), n);
}

void linear_rows(std::span<const float> weight, std::span<const float> x, std::size_t num_rows,
                 std::span<float> y) {
  if (num_rows == 0) return;
  const std::size_t inputs = x.size() / num_rows;
  const std::size_t outputs = y.size() / num_rows;
  for (std::size_t row = 0; row < num_rows; ++row)
    linear(weight, x.subspan(row * inputs, inputs), y.subspan(row * outputs, outputs));
}

void rms_norm(const RmsNorm& norm, std::span<const float> x, std::span<float> y) {
  const float scale = inverse_rms(x, norm.eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scaled = x[i] * scale;
    y[i] = norm.kind == NormWeight::plus_one ? scaled * (1.0F + norm.weight[i])
                                             : norm.weight[i] * scaled;
  }
}

void gated_norm(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                std::span<const float> z, std::span<float> y) {
  const std::size_t part = x.size() / static_cast<std::size_t>(groups);
  std::vector<float> gated(part);
  for (std::size_t first = 0; first < x.size(); first += part) {
    for (std::size_t i = 0; i < part; ++i) gated[i] = x[first + i] * silu_f32(z[first + i]);
    rms_norm({norm.weight.subspan(first, part), norm.eps, norm.kind}, gated,
             y.subspan(first, part));
  }
}

void norm_gated(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                std::span<const float> z, std::span<float> y) {
  rms_norm(norm, x, y);
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] *= gate == OutputGate::silu ? silu_f32(z[i]) : sigma_f32(z[i]);
}

void gated_mlp(const GatedMlp& mlp, std::span<const float> x, std::span<float> y) {
  const auto inner = static_cast<std::size_t>(mlp.inner);
  std::vector<float> gate(inner);
  std::vector<float> up(inner);
  linear(mlp.gate, x, gate);
  linear(mlp.up, x, up);
  for (std::size_t i = 0; i < inner; ++i) gate[i] = silu_f32(gate[i]) * up[i];
  linear(mlp.down, gate, y);
}

RopeTable::RopeTable(std::int32_t rotary_dim, double theta)
    : rotary_dim_(rotary_dim), theta_(theta) {}

void RopeTable::grow(std::int32_t position) {
  const std::int32_t half = rotary_dim_ / 2;
  auto known = half == 0 ? position + 1 : static_cast<std::int32_t>(cosines_.size()) / half;
  for (; known <= position; ++known)
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(known) *
                           std::pow(theta_, -2.0 * i / static_cast<double>(rotary_dim_));
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
}

std::span<const float> RopeTable::cosines(std::int32_t num_positions) {
  grow(num_positions - 1);
  const std::int32_t size = num_positions * (rotary_dim_ / 2);
  return std::span<const float>(cosines_).first(static_cast<std::size_t>(size));
}

std::span<const float> RopeTable::sines(std::int32_t num_positions) {
  grow(num_positions - 1);
  const std::int32_t size = num_positions * (rotary_dim_ / 2);
  return std::span<const float>(sines_).first(static_cast<std::size_t>(size));
}

void RopeTable::turn(std::int32_t position, std::span<float> head) {
  grow(position);
  const auto half = static_cast<std::size_t>(rotary_dim_ / 2);
  const std::size_t row = static_cast<std::size_t>(position) * half;
  for (std::size_t i = 0; i < half; ++i) {
    const float cosine = cosines_[row + i];
    const float sine = sines_[row + i];
    const float low = head[i];
    const float high = head[i + half];
    head[i] = low * cosine - high * sine;
    head[i + half] = high * cosine + low * sine;
  }
}

namespace {

class PagedAttention {
 public:
  PagedAttention(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                 const AttentionTokens& tokens)
      : layer_(layer),
        rows_(rows),
        cache_(cache),
        io_(tokens),
        D_(static_cast<std::size_t>(layer.head_dim)),
        kv_(static_cast<std::size_t>(layer.num_kv_heads) * D_),
        scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.head_dim)))) {}

  void run() {
    for (std::int32_t row = 0; row < rows_.num_rows(); ++row) write_row(row);
    for (std::int32_t row = 0; row < rows_.num_rows(); ++row) attend_row(row);
  }

 private:
  // Where the cached head 0 of a position begins.
  std::size_t slot(std::int32_t row, std::int32_t position) const {
    // Who reads where no block is gets what lies in the null block.
    const std::int32_t block = std::max(rows_.block_table.at(row, position / layer_.block_size), 0);
    return (static_cast<std::size_t>(block) * static_cast<std::size_t>(layer_.block_size) +
            static_cast<std::size_t>(position % layer_.block_size)) *
           kv_;
  }

  std::int32_t num_tokens(std::int32_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return rows_.seq_lens[r] > 0 ? rows_.query_start_loc[r + 1] - rows_.query_start_loc[r] : 0;
  }
  std::size_t token_of(std::int32_t row, std::int32_t t) const {
    return static_cast<std::size_t>(rows_.query_start_loc[static_cast<std::size_t>(row)] + t);
  }

  void write_row(std::int32_t row) {
    for (std::int32_t t = 0; t < num_tokens(row); ++t) {
      const std::int32_t position = rows_.position(row, t);
      if (rows_.block_table.at(row, position / layer_.block_size) <= 0) continue;
      const std::size_t from = token_of(row, t) * kv_;
      std::ranges::copy(io_.k.subspan(from, kv_), cache_.keys.begin() + offset(row, position));
      std::ranges::copy(io_.v.subspan(from, kv_), cache_.values.begin() + offset(row, position));
    }
  }
  std::ptrdiff_t offset(std::int32_t row, std::int32_t position) const {
    return static_cast<std::ptrdiff_t>(slot(row, position));
  }

  void attend_row(std::int32_t row) {
    const auto heads = static_cast<std::size_t>(layer_.num_heads);
    const std::size_t per_kv_head = heads / static_cast<std::size_t>(layer_.num_kv_heads);
    for (std::int32_t t = 0; t < num_tokens(row); ++t) {
      const std::int32_t position = rows_.position(row, t);
      slots_.clear();
      for (std::int32_t j = 0; j <= position; ++j) slots_.push_back(slot(row, j));
      for (std::size_t head = 0; head < heads; ++head)
        attend_head((token_of(row, t) * heads + head) * D_, head / per_kv_head * D_);
    }
  }

  // `at`: of the query and the output; `kv_head`: of the head inside a slot.
  void attend_head(std::size_t at, std::size_t kv_head) {
    const std::size_t count = slots_.size();
    scores_.resize(count);
    for (std::size_t j = 0; j < count; ++j)
      scores_[j] = OrderedSum::dot(io_.q.data() + at, cache_.keys.data() + slots_[j] + kv_head,
                                   layer_.head_dim) *
                   scale_;
    const float most = *std::ranges::max_element(scores_);
    OrderedSum weights;
    std::vector<OrderedSum> sums(D_);
    for (std::size_t j = 0; j < count; ++j) {
      const float weight = exp_f32(scores_[j] - most);
      const auto index = static_cast<std::int64_t>(j);
      weights.add(index, weight);
      const float* value = cache_.values.data() + slots_[j] + kv_head;
      for (std::size_t i = 0; i < D_; ++i) sums[i].add(index, weight * value[i]);
    }
    const float total = weights.total();
    for (std::size_t i = 0; i < D_; ++i) io_.o[at + i] = sums[i].total() / total;
  }

  const AttentionLayer& layer_;
  const AttentionRows& rows_;
  const KvCache& cache_;
  const AttentionTokens& io_;
  std::size_t D_;
  std::size_t kv_;  // elements of a slot
  float scale_;
  std::vector<std::size_t> slots_;  // of the positions that a query attends to
  std::vector<float> scores_;
};

}  // namespace

std::int32_t AttentionRows::position(std::int32_t row, std::int32_t t) const {
  const auto r = static_cast<std::size_t>(row);
  return seq_lens[r] - (query_start_loc[r + 1] - query_start_loc[r]) + t;
}

void paged_attention(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                     const AttentionTokens& tokens) {
  PagedAttention(layer, rows, cache, tokens).run();
}

}  // namespace hybridscope
