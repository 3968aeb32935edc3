// Form chunked on a CUDA device against core/numeric: within the tolerances of the form, and the
// same bits each time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/numeric/numeric_on_host.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "tests/kernels/numeric/numeric_case.h"
#include "tests/kernels/numeric/random_chunks.h"
#include "tests/kernels/numeric/random_layers.h"

namespace hybridscope::chunked_cuda_test {
namespace {

using namespace hybridscope::test;
using testing::HasSubstr;

const NumericOnHost kDevice(0);

// Every element within 2e-5 of its size and of the largest (numerics: tolerances, form chunked).
testing::AssertionResult is_close(std::span<const float> expected, std::span<const float> got) {
  float largest = 1;
  for (const float value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float e = expected[i];
    if (!std::isfinite(e) ? std::isfinite(got[i])
                          : !(std::fabs(got[i] - e) <= 2e-5F * (largest + std::fabs(e))))
      return testing::AssertionFailure()
             << "element " << i << " of " << got.size() << ": expected " << e << ", got " << got[i];
  }
  return testing::AssertionSuccess();
}

// Blocks that the host left alone have the bits of before.
testing::AssertionResult leaves_the_same_blocks(const NumericOutcome& host,
                                                const NumericOutcome& device,
                                                const std::vector<float>& before,
                                                std::int64_t block_elements) {
  const auto size = static_cast<std::size_t>(block_elements);
  const auto block = [size](const std::vector<float>& pool, std::size_t at) {
    return std::span<const float>(pool).subspan(at, size);
  };
  for (std::size_t at = 0; at < before.size(); at += size)
    if (same_bits(block(before, at), block(host.pool, at)) &&
        !same_bits(block(before, at), block(device.pool, at)))
      return testing::AssertionFailure() << "block " << at / size << " was written";
  return testing::AssertionSuccess();
}

// `host` and `device` on the same blocks; the device twice.
void expect_close_outcome(const std::vector<float>& pool, std::int64_t block_elements,
                          std::int64_t num_outputs, const NumericCall& host,
                          const NumericCall& device) {
  const auto size = static_cast<std::size_t>(num_outputs);
  NumericOutcome expected{.pool = pool, .y = std::vector<float>(size)};
  ASSERT_TRUE(host(expected).ok());
  std::vector<NumericOutcome> got(
      2, {.pool = pool, .y = std::vector<float>(size, std::numeric_limits<float>::quiet_NaN())});
  for (NumericOutcome& outcome : got) {
    const Status status = device(outcome);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  EXPECT_TRUE(is_close(expected.y, got[0].y)) << "of outputs";
  EXPECT_TRUE(is_close(expected.pool, got[0].pool)) << "of blocks";
  EXPECT_TRUE(leaves_the_same_blocks(expected, got[0], pool, block_elements));
  EXPECT_TRUE(same_bits(got[0].y, got[1].y)) << "of outputs, the second time";
  EXPECT_TRUE(same_bits(got[0].pool, got[1].pool)) << "of blocks, the second time";
}

// Gates whose decays, summed over a chunk in float32, stay exact enough: in long chunks of fast
// decays the host's own sums are off by more than the tolerance.
void slow_down(std::vector<float>& gates) {
  for (float& gate : gates) gate = 0.3F * gate - 4.0F;
}

enum class Arrays : std::uint8_t { healthy, planted };
constexpr std::int32_t kLongest = 200;  // tokens of a row: several pieces

template <class Layer>
void expect_close_delta_rule(NumericDraw& draw, Arrays arrays) {
  draw.leave_out_special_numbers();
  const Layer layer(draw);
  const RandomPrefillRows rows(draw, draw.chance(0.3), kLongest);
  auto tokens = layer.tokens(draw, rows.num_tokens());
  slow_down(tokens.a);
  std::vector<RowChunk> chunks = random_row_chunks(draw, rows.rows());
  if (arrays == Arrays::planted) plant_in(chunks, draw, rows.rows().num_rows(), rows.num_tokens());
  expect_close_outcome(
      random_pool(draw, rows.num_blocks(), layer.block_elements()), layer.block_elements(),
      rows.num_tokens() * layer.outputs(),
      [&](NumericOutcome& on) {
        delta_rule_prefill_chunked(layer.layer(), rows.rows(), {on.pool, layer.block_elements()},
                                   tokens.view(on.y), chunks);
        return Status(Ok{});
      },
      [&](NumericOutcome& on) {
        return kDevice.delta_rule_prefill_chunked(layer.layer(), rows.rows(),
                                                  {on.pool, layer.block_elements()},
                                                  tokens.view(on.y), chunks);
      });
}

template <class Layer>
void expect_close_mamba2(NumericDraw& draw, Arrays arrays) {
  draw.leave_out_special_numbers();
  const Layer layer(draw);
  const RandomPrefillRows rows(draw, draw.chance(0.5), kLongest);
  auto tokens = layer.tokens(draw, rows.num_tokens());
  slow_down(tokens.dt);
  const bool preps = draw.chance(0.8);
  RandomMamba2Chunks chunks(draw, rows.rows());
  if (arrays == Arrays::planted) chunks.plant(draw, rows.num_tokens());
  expect_close_outcome(
      random_pool(draw, rows.num_blocks(), layer.block_elements()), layer.block_elements(),
      rows.num_tokens() * layer.outputs(),
      [&](NumericOutcome& on) {
        mamba2_prefill_chunked(layer.layer(), rows.rows(), {on.pool, layer.block_elements()},
                               tokens.view(on.y), preps, chunks.view());
        return Status(Ok{});
      },
      [&](NumericOutcome& on) {
        return kDevice.mamba2_prefill_chunked(layer.layer(), rows.rows(),
                                              {on.pool, layer.block_elements()}, tokens.view(on.y),
                                              preps, chunks.view());
      });
}

TEST(ChunkedCuda, GatedDeltaNetIsCloseToTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(
      40, [](NumericDraw& draw) { expect_close_delta_rule<RandomGdn>(draw, Arrays::healthy); });
}

TEST(ChunkedCuda, KdaIsCloseToTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(
      30, [](NumericDraw& draw) { expect_close_delta_rule<RandomKda>(draw, Arrays::healthy); });
}

TEST(ChunkedCuda, Mamba2IsCloseToTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(
      60, [](NumericDraw& draw) { expect_close_mamba2<RandomMamba2>(draw, Arrays::healthy); });
}

TEST(ChunkedCuda, HeadsOf128ElementsAreCloseToTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(8, [](NumericDraw& draw) {
    expect_close_delta_rule<WholeGdn>(draw, Arrays::healthy);
    expect_close_mamba2<WholeMamba2>(draw, Arrays::healthy);
  });
}

// The arrays are what runs, whatever they say.
TEST(ChunkedCuda, ArraysWithAFaultDoWhatTheyDoOnTheHost) {
  HS_NEED_CUDA();
  for_each_numeric_case(60, [](NumericDraw& draw) {
    expect_close_mamba2<RandomMamba2>(draw, Arrays::planted);
    expect_close_delta_rule<RandomGdn>(draw, Arrays::planted);
  });
}

// One head, Dk = Dv = 2, 70 tokens of row 0 and 2 of row 1.
struct SmallGdn {
  std::vector<float> A_log = {-1.0F}, dt_bias = {0.1F};
  std::vector<float> q, k, v, a, b;
  std::vector<std::int32_t> starts = {0, 70, 72}, blocks = {1, 2};
  std::vector<std::uint8_t> has_initial_states = {1, 1};

  SmallGdn() {
    for (int i = 0; i < 144; ++i) {
      q.push_back(0.1F * static_cast<float>(i % 7) - 0.2F);
      k.push_back(0.1F * static_cast<float>(i % 11) - 0.3F);
      v.push_back(0.1F * static_cast<float>(i % 5) - 0.1F);
    }
    for (int t = 0; t < 72; ++t) {
      a.push_back(0.2F);
      b.push_back(0.05F * static_cast<float>(t % 9));
    }
  }
  DeltaRuleLayer layer() const {
    return {.num_key_heads = 1,
            .num_value_heads = 1,
            .key_dim = 2,
            .value_dim = 2,
            .A_log = A_log,
            .dt_bias = dt_bias};
  }
  // Outputs, then the two blocks.
  std::vector<float> run(std::vector<RowChunk> chunks) const {
    NumericOutcome on{.pool = std::vector<float>(12, 0.5F), .y = std::vector<float>(144)};
    const Status status =
        kDevice.delta_rule_prefill_chunked(layer(),
                                           {.query_start_loc = starts,
                                            .has_initial_states = has_initial_states,
                                            .state_indices = vector_view(blocks.data(), 2)},
                                           {on.pool, 4}, {q, k, v, a, b, on.y}, chunks);
    EXPECT_TRUE(status.ok());
    on.y.insert(on.y.end(), on.pool.begin() + 4, on.pool.end());
    return on.y;
  }
};

TEST(ChunkedCuda, AWrongChunkShowsInOutputsOrStates) {
  HS_NEED_CUDA();
  const SmallGdn gdn;
  const std::vector<float> right = gdn.run({{0, 0, 64}, {0, 64, 70}, {1, 70, 72}});
  EXPECT_TRUE(is_close(right, gdn.run({{0, 0, 32}, {0, 32, 70}, {1, 70, 72}})));
  EXPECT_FALSE(is_close(right, gdn.run({{0, 0, 64}, {1, 64, 70}, {1, 70, 72}})));
  EXPECT_FALSE(is_close(right, gdn.run({{0, 0, 64}, {1, 70, 72}})));
  EXPECT_FALSE(is_close(right, gdn.run({{0, 0, 63}, {0, 64, 70}, {1, 70, 72}})));
  EXPECT_FALSE(is_close(right, gdn.run({{0, 0, 64}, {0, 63, 70}, {1, 70, 72}})));
}

TEST(ChunkedCudaLimits, WhatNoKernelTakesIsRefused) {
  HS_NEED_CUDA();
  std::vector<float> one(1);
  const std::vector<std::uint8_t> flag = {0};
  const std::vector<std::int32_t> starts = {0, 1};
  const PrefillRows rows{.query_start_loc = starts, .has_initial_states = flag};
  DeltaRuleLayer layer{.num_key_heads = 1,
                       .num_value_heads = 1,
                       .key_dim = 257,
                       .value_dim = 1,
                       .A_log = one,
                       .dt_bias = one};
  const DeltaRuleTokens io{one, one, one, one, one, one};
  const Status large =
      delta_rule_prefill_chunked_cuda(layer, rows, {one, 257}, io, {}, {}, nullptr);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "a state of 257 elements a row; kernels take up to 256");
  layer.key_dim = 8;
  const Status cramped = delta_rule_prefill_chunked_cuda(
      layer, rows, {one, 8}, io, {}, {.num_pieces = 1, .scratch = one}, nullptr);
  ASSERT_FALSE(cramped);
  EXPECT_EQ(cramped.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(cramped.error().message, HasSubstr("scratch of 1 floats"));
}

// Pieces of chunks, counted in host memory; no device is needed.

TEST(ChunkPlan, APieceHasAtMost64TokensOfOneChunk) {
  const std::vector<RowChunk> chunks = {{0, 0, 64}, {0, 64, 65}, {1, 65, 65 + 129}};
  const ChunkPlan plan = plan_chunks(chunks, 200);
  EXPECT_EQ(plan.num_pieces, 1 + 1 + 3);
  EXPECT_FALSE(plan.in_turn);
}

TEST(ChunkPlan, ChunksThatDoNotRunHaveNoPieces) {
  const std::vector<RowChunk> chunks = {
      {-1, 0, 10}, {0, 4, 4}, {0, -1, 5}, {0, 90, 101}, {0, 5, 9}};
  EXPECT_EQ(plan_chunks(chunks, 100).num_pieces, 1);
}

TEST(ChunkPlan, ChunksOfMamba2EndWithTheTokens) {
  const std::vector<std::int32_t> ends = {-3, 64, 64, 500};
  const std::vector<std::int32_t> rows = {0, 0, 1};
  const std::vector<std::int32_t> last = {1, 2};
  const ChunkPlan plan = plan_chunks(Mamba2Chunks{ends, rows, last, 64}, 100);
  EXPECT_EQ(plan.num_pieces, 1 + 0 + 1);
  EXPECT_FALSE(plan.in_turn);
}

TEST(ChunkPlan, ChunksThatOverlapOrGoBackToARowRunInTurn) {
  EXPECT_TRUE(plan_chunks(std::vector<RowChunk>{{0, 0, 8}, {0, 7, 9}}, 9).in_turn);
  EXPECT_TRUE(plan_chunks(std::vector<RowChunk>{{1, 0, 8}, {0, 8, 9}}, 9).in_turn);
  EXPECT_FALSE(plan_chunks(std::vector<RowChunk>{{0, 0, 8}, {2, 9, 10}}, 10).in_turn);
}

}  // namespace

}  // namespace hybridscope::chunked_cuda_test
