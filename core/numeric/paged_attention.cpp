#include "core/numeric/paged_attention.h"

#include <algorithm>
#include <cmath>

#include "core/numeric/arithmetic.h"

namespace hybridscope {
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
