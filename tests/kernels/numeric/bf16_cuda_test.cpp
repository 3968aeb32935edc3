// States in bfloat16 on a CUDA device: those of the host's float32, rounded when they are stored.
#include <bit>

#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/random_layers.h"
#include "tests/kernels/numeric/random_rows.h"

namespace hybridscope::bf16_cuda_test {
namespace {

using namespace hybridscope::test;

const NumericOnHost kDevice(0);

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

}  // namespace
}  // namespace hybridscope::bf16_cuda_test
