// Recurrences on a CUDA device against core/numeric, bit for bit.

#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/numeric_case.h"
#include "tests/kernels/numeric/random_layers.h"

namespace hybridscope::recurrences_cuda_test {
namespace {

using namespace hybridscope::test;

const NumericOnHost kDevice(0);

// Blocks of `elements`, behind which something else may lie in their pages.
struct Pages {
  Pages(NumericDraw& draw, std::int64_t of_block)
      : elements(of_block), stride(of_block + (draw.chance(0.2) ? draw.number(1, 8) : 0)) {}
  StatePool pool(std::span<float> data) const { return {data, elements, stride}; }

  std::int64_t elements;
  std::int64_t stride;
};

// `Layer`: one of random_layers.h.
template <class Layer>
void expect_same_decodes(NumericDraw& draw) {
  const Layer layer(draw);
  const RandomDecodeRows rows(draw, draw.one_of(kDecodeKinds));
  const auto tokens = layer.tokens(draw, rows.num_tokens());
  const Pages pages(draw, layer.block_elements());
  expect_same_outcome(
      random_pool(draw, rows.num_blocks(), pages.stride), rows.num_tokens() * layer.outputs(),
      [&](NumericOutcome& on) {
        Layer::update(layer.layer(), rows.rows(), pages.pool(on.pool), tokens.view(on.y));
        return Status(Ok{});
      },
      [&](NumericOutcome& on) {
        return Layer::update(kDevice, layer.layer(), rows.rows(), pages.pool(on.pool),
                             tokens.view(on.y));
      });
}

template <class Layer>
void expect_same_prefills(NumericDraw& draw) {
  const Layer layer(draw);
  const RandomPrefillRows rows(draw, draw.chance(0.5));
  const auto tokens = layer.tokens(draw, rows.num_tokens());
  const Pages pages(draw, layer.block_elements());
  expect_same_outcome(
      random_pool(draw, rows.num_blocks(), pages.stride), rows.num_tokens() * layer.outputs(),
      [&](NumericOutcome& on) {
        Layer::prefill(layer.layer(), rows.rows(), pages.pool(on.pool), tokens.view(on.y));
        return Status(Ok{});
      },
      [&](NumericOutcome& on) {
        return Layer::prefill(kDevice, layer.layer(), rows.rows(), pages.pool(on.pool),
                              tokens.view(on.y));
      });
}

template <class Layer>
class RecurrencesCuda : public testing::Test {};
using Layers = testing::Types<RandomMamba1, RandomMamba2, RandomGdn, RandomKda, RandomLightning>;
TYPED_TEST_SUITE(RecurrencesCuda, Layers, LayerNames);

TYPED_TEST(RecurrencesCuda, DecodeRowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(200, [](NumericDraw& draw) { expect_same_decodes<TypeParam>(draw); });
}

TYPED_TEST(RecurrencesCuda, PromptRowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) { expect_same_prefills<TypeParam>(draw); });
}

// What the kernel of 128 elements without masks takes.
TEST(RecurrencesCudaWhole, DecodeRowsOf128ElementsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(20, [](NumericDraw& draw) {
    expect_same_decodes<WholeMamba2>(draw);
    expect_same_decodes<WholeGdn>(draw);
    expect_same_prefills<WholeMamba2>(draw);
    expect_same_prefills<WholeGdn>(draw);
  });
}

TEST(RecurrencesCudaLimits, AStateSizeThatNoKernelTakesIsRefused) {
  HS_NEED_CUDA();
  std::vector<float> one(1);
  const Mamba2Layer layer{.num_heads = 1,
                          .head_dim = 1,
                          .state_size = 257,
                          .num_groups = 1,
                          .A_log = one,
                          .D = one,
                          .dt_bias = one};
  const Status status = mamba2_update_cuda(
      layer, {}, StatePool{one, 257}, {.x = one, .dt = one, .B = one, .C = one, .y = one}, nullptr);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(status.error().message, "a state of 257 elements a row; kernels take up to 256");
}

TEST(NumericOnHost, ADeviceThatIsNotThereIsRefused) {
  std::vector<float> one(1);
  const Status status = NumericOnHost(99).apply(NumericFunction::exp, one, one);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::not_available);
}

// Paged attention on a CUDA device against core/numeric, bit for bit.

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

// Convolutions on a CUDA device against core/numeric, bit for bit.

// Owns what layer() views. Dimensions beyond one block of threads are among them.
class RandomConv {
 public:
  RandomConv(NumericDraw& draw, std::int32_t num_drafts)
      : dim_(draw.chance(0.2) ? draw.number(128, 600) : draw.number(1, 70)),
        width_(draw.number(2, 4)),
        state_len_(width_ - 1 + num_drafts + draw.number(0, 1)),
        rolled_tokens_(draw.chance(0.3) ? draw.number(1, 1 + num_drafts) : 0),
        gap_(draw.chance(0.3) ? draw.number(1, 9) : 0),
        by_piece_(draw.chance(0.4)),
        has_silu_(draw.chance(0.7)),
        weight_(draw.floats(dim_ * width_)),
        bias_(draw.chance(0.5) ? draw.floats(dim_) : std::vector<float>()) {}

  ConvLayer layer() const {
    return {.dim = dim_,
            .width = width_,
            .state_len = state_len_,
            .weight = weight_,
            .bias = bias_,
            .activation = has_silu_ ? ConvActivation::silu : ConvActivation::none,
            .rolled_tokens = rolled_tokens_,
            .stores_boundaries_by_piece = by_piece_};
  }
  std::int32_t dim() const { return dim_; }
  // From a block to the next: what lies behind a window in its page stays.
  std::int64_t stride() const { return dim_ * state_len_ + gap_; }
  StatePool pool(std::span<float> data) const { return {data, dim_ * state_len_, stride()}; }

 private:
  std::int32_t dim_, width_, state_len_, rolled_tokens_, gap_;
  bool by_piece_;
  bool has_silu_;
  std::vector<float> weight_, bias_;
};

TEST(ConvCuda, DecodeRowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(200, [](NumericDraw& draw) {
    const RandomDecodeRows rows(draw, draw.one_of(kDecodeKinds));
    const RandomConv conv(draw, rows.num_drafts());
    const std::vector<float> x = draw.floats(rows.num_tokens() * conv.dim());
    expect_same_outcome(
        random_pool(draw, rows.num_blocks(), conv.stride()), std::ssize(x),
        [&](NumericOutcome& on) {
          conv_update(conv.layer(), rows.rows(), conv.pool(on.pool), {.x = x, .y = on.y});
          return Status(Ok{});
        },
        [&](NumericOutcome& on) {
          return kDevice.conv_update(conv.layer(), rows.rows(), conv.pool(on.pool),
                                     ConvTokens{.x = x, .y = on.y});
        });
  });
}

TEST(ConvCuda, PromptRowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(200, [](NumericDraw& draw) {
    const RandomPrefillRows rows(draw, draw.chance(0.6));
    const RandomConv conv(draw, draw.number(0, 2));
    const std::vector<float> x = draw.floats(rows.num_tokens() * conv.dim());
    const std::vector<float> in_front = draw.floats(draw.number(0, 4) * conv.dim());
    expect_same_outcome(
        random_pool(draw, rows.num_blocks(), conv.stride()), std::ssize(x),
        [&](NumericOutcome& on) {
          conv_prefill(conv.layer(), rows.rows(), conv.pool(on.pool), {x, on.y, in_front});
          return Status(Ok{});
        },
        [&](NumericOutcome& on) {
          return kDevice.conv_prefill(conv.layer(), rows.rows(), conv.pool(on.pool),
                                      {x, on.y, in_front});
        });
  });
}

// What the convolution between gates takes of them, and of the input.
std::vector<float> gated_inputs(std::span<const float> BCx, std::size_t dim) {
  std::vector<float> x(BCx.size() / 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = i / dim * 3 * dim + i % dim;
    x[i] = BCx[at] * BCx[at + 2 * dim];
  }
  return x;
}

// The gates of a short convolution around that of the host: `run(x, y)`.
template <class Run>
void run_gated(std::span<const float> BCx, std::size_t dim, std::span<float> y, Run&& run) {
  const std::vector<float> x = gated_inputs(BCx, dim);
  run(std::span<const float>(x), y);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] *= BCx[i / dim * 3 * dim + dim + i % dim];
}

TEST(ShortConvCuda, RowsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) {
    const RandomConv conv(draw, 0);
    const auto dim = static_cast<std::size_t>(conv.dim());
    ConvLayer layer = conv.layer();
    layer.activation = ConvActivation::none;
    const auto pool_of = [&](NumericOutcome& on) { return conv.pool(on.pool); };
    const RandomDecodeRows decodes(draw, draw.chance(0.5) ? DecodeKind::none : DecodeKind::all);
    std::vector<float> BCx = draw.floats(decodes.num_tokens() * conv.dim() * 3);
    // A padding row's zeros times an infinite gate would not be zeros on the host.
    for (float& value : BCx) value = std::isfinite(value) ? value : 1.0F;
    expect_same_outcome(
        random_pool(draw, decodes.num_blocks(), conv.stride()), decodes.num_tokens() * conv.dim(),
        [&](NumericOutcome& on) {
          run_gated(BCx, dim, on.y, [&](auto x, auto y) {
            conv_update(layer, decodes.rows(), pool_of(on), {.x = x, .y = y});
          });
          for (float& value : on.y) value += 0.0F;  // no negative zeros of padding rows
          return Status(Ok{});
        },
        [&](NumericOutcome& on) {
          const Status status =
              kDevice.short_conv_update(layer, decodes.rows(), pool_of(on), {BCx, on.y, {}});
          for (float& value : on.y) value += 0.0F;
          return status;
        });
    const RandomPrefillRows prompts(draw, draw.chance(0.5));
    BCx = draw.floats(prompts.num_tokens() * conv.dim() * 3);
    for (float& value : BCx) value = std::isfinite(value) ? value : 1.0F;
    const std::vector<float> front = draw.floats(draw.number(0, 4) * conv.dim() * 3);
    const std::vector<float> x_front = gated_inputs(front, dim);
    expect_same_outcome(
        random_pool(draw, prompts.num_blocks(), conv.stride()), prompts.num_tokens() * conv.dim(),
        [&](NumericOutcome& on) {
          run_gated(BCx, dim, on.y, [&](auto x, auto y) {
            conv_prefill(layer, prompts.rows(), pool_of(on), {x, y, x_front});
          });
          for (float& value : on.y) value += 0.0F;
          return Status(Ok{});
        },
        [&](NumericOutcome& on) {
          const Status status =
              kDevice.short_conv_prefill(layer, prompts.rows(), pool_of(on), {BCx, on.y, front});
          for (float& value : on.y) value += 0.0F;
          return status;
        });
  });
}

TEST(ConvCuda, AWidthThatNoKernelTakesIsRefused) {
  HS_NEED_CUDA();
  std::vector<float> five(5);
  const ConvLayer layer{.dim = 1, .width = 5, .state_len = 4, .weight = five};
  const Status status =
      conv_update_cuda(layer, DecodeRows{}, StatePool{five, 4}, ConvTokens{five, five}, nullptr);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "a convolution of width 5; kernels take 2 to 4");
}

}  // namespace

}  // namespace hybridscope::recurrences_cuda_test
