// Recurrences on a CUDA device against core/numeric, bit for bit.
#include "kernels/numeric/recurrences_cuda.h"

#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/random_layers.h"
#include "tests/kernels/numeric/random_rows.h"

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

}  // namespace
}  // namespace hybridscope::recurrences_cuda_test
