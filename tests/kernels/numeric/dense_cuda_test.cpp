// What the layers of a model share, on a CUDA device against core/numeric, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "app/vector_kernels.h"
#include "core/numeric/arithmetic.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/numeric_on_host.h"
#include "sessions/conformance/conformance.h"
#include "tests/kernels/numeric/numeric_case.h"
#include "tests/kernels/numeric/random_layers.h"
#include "tests/sessions/conformance/golden_on_device.h"
#include "tests/support/golden.h"

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

// States in bfloat16 on a CUDA device: those of the host's float32, rounded when they are stored.

using Words = std::vector<std::uint16_t>;

// To nearest, ties to even.
std::uint16_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
Words rounded(const std::vector<float>& values) {
  Words words;
  for (const float value : values) words.push_back(rounded(value));
  return words;
}
std::vector<float> widened(const Words& words) {
  std::vector<float> values;
  for (const std::uint16_t word : words)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16));
  return values;
}

template <class Layer>
void expect_same_decodes(NumericDraw& draw) {
  const Layer layer(draw);
  const RandomDecodeRows rows(draw, draw.one_of(kDecodeKinds));
  const auto tokens = layer.tokens(draw, rows.num_tokens());
  const std::int64_t elements = layer.block_elements();
  Words words = rounded(random_pool(draw, rows.num_blocks(), elements));
  std::vector<float> pool = widened(words);
  std::vector<float> expected(static_cast<std::size_t>(rows.num_tokens() * layer.outputs()));
  std::vector<float> got(expected.size(), 1.0F);
  Layer::update(layer.layer(), rows.rows(), {pool, elements}, tokens.view(expected));
  const Status status = Layer::update(kDevice, layer.layer(), rows.rows(),
                                      Bf16StatePool{words, elements}, tokens.view(got));
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(same_bits(expected, got)) << "of outputs";
  EXPECT_TRUE(same_bits(rounded(pool), words)) << "of blocks";
}

TEST(Bf16StatesCuda, AreThoseOfTheHostRoundedWhenStored) {
  HS_NEED_CUDA();
  for_each_numeric_case(60, [](NumericDraw& draw) {
    expect_same_decodes<RandomMamba2>(draw);
    expect_same_decodes<RandomGdn>(draw);
    expect_same_decodes<RandomKda>(draw);
    expect_same_decodes<WholeMamba2>(draw);
    expect_same_decodes<WholeGdn>(draw);
  });
}

void expect_same_convolution(NumericDraw& draw, const RandomDecodeRows& rows, std::int32_t dim) {
  const std::int32_t width = draw.chance(0.6) ? 4 : draw.number(2, 3);
  const std::int32_t state_len = width - 1 + rows.num_drafts();
  const std::vector<float> weight = draw.floats(dim * width);
  const std::vector<float> bias = draw.floats(dim);
  const ConvLayer layer{
      .dim = dim, .width = width, .state_len = state_len, .weight = weight, .bias = bias};
  const Words x = rounded(draw.floats(rows.num_tokens() * dim));
  Words words = rounded(random_pool(draw, rows.num_blocks(), state_len * dim));
  std::vector<float> pool = widened(words);
  std::vector<float> expected(x.size());
  Words got(x.size(), 1);
  conv_update(layer, rows.rows(), {pool, state_len * dim}, {widened(x), expected});
  const Status status = kDevice.conv_update(
      layer, rows.rows(), Bf16StatePool{words, state_len * dim}, Bf16ConvTokens{x, got});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(same_bits(rounded(expected), got)) << "of outputs";
  EXPECT_TRUE(same_bits(rounded(pool), words)) << "of blocks";
}

TEST(Bf16ConvCuda, OutputsAreThoseOfTheHostRoundedOnce) {
  HS_NEED_CUDA();
  for_each_numeric_case(200, [](NumericDraw& draw) {
    const RandomDecodeRows rows(draw, draw.one_of(kDecodeKinds));
    // Multiples of what a thread takes at once, and others.
    expect_same_convolution(draw, rows,
                            draw.chance(0.5) ? 8 * draw.number(1, 80) : draw.number(1, 600));
  });
}

TEST(Bf16ConvCuda, ManyRowsOfSeveralSlicesOfChannelsAreThoseOfTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(10, [](NumericDraw& draw) {
    const RandomDecodeRows rows(draw, draw.one_of(kDecodeKinds), {.rows = 500, .tokens = 2});
    expect_same_convolution(draw, rows, 8 * draw.number(200, 800));
  });
}

// `conformance --backend cuda` without the command: vectors of real recurrences on a CUDA device.

class NumericVectorsCuda : public testing::TestWithParam<test::GoldenOnDevice> {};
INSTANTIATE_TEST_SUITE_P(Kinds, NumericVectorsCuda,
                         testing::ValuesIn(test::numeric_golden_on_device()),
                         [](const auto& file) { return file.param.kind; });

TEST_P(NumericVectorsCuda, TheDeviceGivesTheBitsOfTheVectors) {
  const auto kernels = cuda_vector_kernels(0);
  if (!kernels) GTEST_SKIP() << kernels.error().message;
  const FileReport report = check_vector_file(test::golden_path("numeric/" + GetParam().kind),
                                              {.kernels = kernels.value()});
  EXPECT_FALSE(report.kernel_error) << report.kernel_error->message;
  EXPECT_EQ(report.passed, GetParam().run);
  EXPECT_EQ(report.not_run, 0);
  for (const FailedCase& failed : report.failed)
    ADD_FAILURE() << failed.id << " " << failed.difference.pointer << ": expected "
                  << failed.difference.expected << ", got " << failed.difference.got;
  for (const InvalidCase& invalid : report.invalid) ADD_FAILURE() << invalid.message;
}

}  // namespace

}  // namespace hybridscope::dense_cuda_test
