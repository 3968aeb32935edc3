// Convolutions on a CUDA device against core/numeric, bit for bit.
#include "kernels/numeric/conv_cuda.h"

#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/random_rows.h"

namespace hybridscope::conv_cuda_test {
namespace {

using namespace hybridscope::test;

const NumericOnHost kDevice(0);

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
}  // namespace hybridscope::conv_cuda_test
