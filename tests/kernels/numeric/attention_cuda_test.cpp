// Paged attention on a CUDA device against core/numeric, bit for bit.
#include "kernels/numeric/attention_cuda.h"

#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/random_rows.h"

namespace hybridscope::attention_cuda_test {
namespace {

using namespace hybridscope::test;

const NumericOnHost kDevice(0);

TEST(AttentionCuda, RowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) {
    const std::int32_t block_size = draw.number(1, 20);
    const RandomAttentionRows rows(draw, block_size);
    const std::int32_t kv_heads = draw.number(1, 3);
    const std::int32_t heads = kv_heads * draw.number(1, 3);
    const std::int32_t dim = draw.one_of<std::int32_t>({1, 8, 32, 40, 64, 128, 160, 256});
    const AttentionLayer layer{heads, kv_heads, dim, block_size};
    const std::vector<float> q = draw.floats(rows.num_tokens() * heads * dim);
    const std::vector<float> k = draw.floats(rows.num_tokens() * kv_heads * dim);
    const std::vector<float> v = draw.floats(rows.num_tokens() * kv_heads * dim);
    // Keys and values in one array, so that both are compared.
    const std::int64_t elements = block_size * kv_heads * dim;
    std::vector<float> pool = random_pool(draw, rows.num_blocks(), elements);
    const auto half = pool.size();
    const std::vector<float> values = random_pool(draw, rows.num_blocks(), elements);
    pool.insert(pool.end(), values.begin(), values.end());
    const auto cache = [&](NumericOutcome& on) {
      return KvCache{std::span(on.pool).first(half), std::span(on.pool).subspan(half)};
    };
    expect_same_outcome(
        pool, std::ssize(q),
        [&](NumericOutcome& on) {
          paged_attention(layer, rows.rows(), cache(on), {q, k, v, on.y});
          return Status(Ok{});
        },
        [&](NumericOutcome& on) {
          return kDevice.paged_attention(layer, rows.rows(), cache(on), {q, k, v, on.y});
        });
  });
}

TEST(AttentionCuda, ALongSequenceTakesSeveralPieces) {
  HS_NEED_CUDA();
  NumericDraw draw(7);
  constexpr std::int32_t kTokens = 3000;
  const AttentionLayer layer{.num_heads = 2, .num_kv_heads = 1, .head_dim = 32, .block_size = 16};
  std::vector<std::int32_t> blocks;
  for (std::int32_t block = 1; block <= 188; ++block) blocks.push_back(189 - block);
  const std::vector<std::int32_t> starts{0, 1};
  const std::vector<std::int32_t> seq_lens{kTokens};
  const AttentionRows rows{starts, seq_lens, matrix_view(blocks.data(), 1, 188)};
  const std::vector<float> q = draw.floats(64), k = draw.floats(32), v = draw.floats(32);
  const std::vector<float> pool = random_pool(draw, 2 * 189, 16 * 32);
  const auto cache = [&](NumericOutcome& on) {
    const auto half = on.pool.size() / 2;
    return KvCache{std::span(on.pool).first(half), std::span(on.pool).subspan(half)};
  };
  expect_same_outcome(
      pool, 64,
      [&](NumericOutcome& on) {
        paged_attention(layer, rows, cache(on), {q, k, v, on.y});
        return Status(Ok{});
      },
      [&](NumericOutcome& on) {
        return kDevice.paged_attention(layer, rows, cache(on), {q, k, v, on.y});
      });
}

}  // namespace
}  // namespace hybridscope::attention_cuda_test
