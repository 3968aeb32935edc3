// What the layers of a model share, on a CUDA device against core/numeric, bit for bit.
#include "kernels/numeric/dense_cuda.h"

#include <gmock/gmock.h>

#include "core/numeric/arithmetic.h"
#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/numeric_case.h"

namespace hybridscope::dense_cuda_test {
namespace {

using namespace hybridscope::test;
using testing::ElementsAre;

const NumericOnHost kDevice(0);

std::size_t size_of(std::int32_t n) { return static_cast<std::size_t>(n); }

// `host(on, t)` computes outputs of token t.
void expect_same_tokens(std::int32_t num_tokens, std::int32_t outputs,
                        const std::function<void(std::span<float> y, std::int32_t t)>& host,
                        const std::function<Status(std::span<float> y)>& device) {
  expect_same_outcome(
      {}, num_tokens * outputs,
      [&](NumericOutcome& on) {
        for (std::int32_t t = 0; t < num_tokens; ++t)
          host(std::span(on.y).subspan(size_of(t * outputs), size_of(outputs)), t);
        return Status(Ok{});
      },
      [&](NumericOutcome& on) { return device(on.y); });
}

std::span<const float> token_of(const std::vector<float>& values, std::int32_t t, std::int32_t n) {
  return std::span(values).subspan(size_of(t * n), size_of(n));
}

std::int32_t random_tokens(NumericDraw& draw) {
  return draw.one_of<std::int32_t>({0, 1, 2, 3, 8, 9, 33});
}

TEST(DenseCuda, LinearLayersHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) {
    const std::int32_t tokens = random_tokens(draw);
    const std::int32_t inputs = draw.number(1, 300);
    const std::int32_t outputs = draw.number(1, 100);
    const std::vector<float> weight = draw.floats(outputs * inputs);
    const std::vector<float> x = draw.floats(tokens * inputs);
    expect_same_tokens(
        tokens, outputs,
        [&](std::span<float> y, std::int32_t t) { linear(weight, token_of(x, t, inputs), y); },
        [&](std::span<float> y) {
          return kDevice.linear({tokens, inputs, outputs}, weight, x, y);
        });
  });
}

TEST(DenseCuda, GatedFeedForwardLayersHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) {
    const std::int32_t tokens = random_tokens(draw);
    const std::int32_t inputs = draw.number(1, 200);
    const std::int32_t inner = draw.number(1, 100);
    const std::int32_t outputs = draw.number(1, 100);
    const std::vector<float> gate = draw.floats(inner * inputs), up = draw.floats(inner * inputs),
                             down = draw.floats(outputs * inner), x = draw.floats(tokens * inputs);
    const GatedMlp mlp{gate, up, down, inner};
    expect_same_tokens(
        tokens, outputs,
        [&](std::span<float> y, std::int32_t t) { gated_mlp(mlp, token_of(x, t, inputs), y); },
        [&](std::span<float> y) { return kDevice.gated_mlp(mlp, tokens, x, y); });
  });
}

TEST(DenseCuda, NormsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(100, [](NumericDraw& draw) {
    const std::int32_t tokens = random_tokens(draw);
    const std::int32_t groups = draw.number(1, 4);
    const std::int32_t n = groups * draw.number(1, 120);
    const std::vector<float> weight = draw.floats(n), x = draw.floats(tokens * n, 2.0F),
                             z = draw.floats(tokens * n, 3.0F);
    const RmsNorm norm{weight, 1e-5F, draw.chance(0.5) ? NormWeight::plain : NormWeight::plus_one};
    expect_same_tokens(
        tokens, n,
        [&](std::span<float> y, std::int32_t t) { rms_norm(norm, token_of(x, t, n), y); },
        [&](std::span<float> y) { return kDevice.rms_norm(norm, x, y); });
    expect_same_tokens(
        tokens, n,
        [&](std::span<float> y, std::int32_t t) {
          gated_norm(norm, groups, token_of(x, t, n), token_of(z, t, n), y);
        },
        [&](std::span<float> y) { return kDevice.gated_norm(norm, groups, x, z, y); });
    const OutputGate gate = draw.chance(0.5) ? OutputGate::silu : OutputGate::sigma;
    expect_same_tokens(
        tokens, n,
        [&](std::span<float> y, std::int32_t t) {
          norm_gated(norm, gate, token_of(x, t, n), token_of(z, t, n), y);
        },
        [&](std::span<float> y) { return kDevice.norm_gated(norm, gate, x, z, y); });
  });
}

TEST(DenseCuda, RotaryPositionsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(50, [](NumericDraw& draw) {
    const std::int32_t heads = draw.number(1, 4);
    const std::int32_t dim = draw.number(2, 80);
    RopeTable table(2 * draw.number(0, dim / 2), 10000.0);
    std::vector<std::int32_t> positions(size_of(draw.number(1, 9)));
    for (std::int32_t& position : positions) position = draw.number(0, 400);
    const std::vector<float> x = draw.floats(std::ssize(positions) * heads * dim);
    std::vector<float> expected = x;
    std::vector<float> got = x;
    for (std::size_t t = 0; t < positions.size(); ++t)
      for (std::int32_t head = 0; head < heads; ++head)
        table.turn(positions[t],
                   std::span(expected).subspan((t * size_of(heads) + size_of(head)) * size_of(dim),
                                               size_of(dim)));
    ASSERT_TRUE(kDevice.rope(table, positions, dim, got).ok());
    EXPECT_TRUE(same_bits(expected, got));
  });
}

TEST(ArithmeticCuda, NoFloatHasAnotherValueOfAQuickFunction) {
  HS_NEED_CUDA();
  const Result<std::uint64_t> different = kDevice.compare_quick_functions();
  ASSERT_TRUE(different.ok()) << different.error().message;
  EXPECT_EQ(different.value(), 0);
}

TEST(ArithmeticCuda, FunctionsHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(10, [](NumericDraw& draw) {
    std::vector<float> x = draw.floats(100'000, 30.0F);
    for (float& value : x)
      if (draw.chance(0.2))
        value = std::bit_cast<float>(static_cast<std::uint32_t>(draw.random()()));
    const auto expect_same = [&](NumericFunction function, float (*of)(float)) {
      std::vector<float> expected, got(x.size());
      for (const float value : x) expected.push_back(of(value));
      ASSERT_TRUE(kDevice.apply(function, x, got).ok());
      EXPECT_TRUE(same_bits(expected, got));
    };
    expect_same(NumericFunction::exp, &exp_f32);
    expect_same(NumericFunction::softplus, &softplus_f32);
    expect_same(NumericFunction::sigma, &sigma_f32);
    expect_same(NumericFunction::silu, &silu_f32);
  });
}

TEST(TokensCuda, EmbeddingsAreLookedUpAndPlaceholdersRunAsToken0) {
  HS_NEED_CUDA();
  const std::vector<float> embedding{0.5F, 1.5F, 10.0F, 11.0F, 20.0F, 21.0F};
  const std::vector<std::int32_t> ids{2, -1, 1};
  std::vector<float> x(6);
  ASSERT_TRUE(kDevice.embed_tokens(ids, embedding, x).ok());
  EXPECT_THAT(x, ElementsAre(20.0F, 21.0F, 0.5F, 1.5F, 10.0F, 11.0F));
}

// The last row has no number: the last index, as on the host.
TEST(TokensCuda, TheSmallestIndexAmongEqualMaximaIsPicked) {
  HS_NEED_CUDA();
  constexpr std::int32_t kVocabulary = 1000;
  std::vector<float> logits(4 * kVocabulary, -5.0F);
  logits[990] = 2.0F;
  logits[260] = 2.0F;
  logits[kVocabulary + 999] = -4.0F;
  for (std::int32_t i = 0; i < kVocabulary; ++i) {
    logits[size_of(2 * kVocabulary + i)] = -std::numeric_limits<float>::infinity();
    logits[size_of(3 * kVocabulary + i)] = std::numeric_limits<float>::quiet_NaN();
  }
  std::vector<std::int32_t> ids(4, -1);
  ASSERT_TRUE(kDevice.greedy_tokens(logits, ids).ok());
  EXPECT_THAT(ids, ElementsAre(260, 999, 0, 999));
}

}  // namespace
}  // namespace hybridscope::dense_cuda_test
