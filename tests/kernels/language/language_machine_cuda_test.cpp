// The machine of a CUDA device by itself: graphs, memory, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/language/language_machine.h"
#include "kernels/language/cuda_language_machine.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::test::language_machine_cuda_test {
namespace {

using testing::HasSubstr;

KVCacheConfig two_groups(std::int32_t num_blocks = 24) {
  KVCacheConfig config{.num_blocks = num_blocks, .groups = {}};
  config.groups.push_back({.spec = FullAttentionSpec{.block_size = 4}, .layers = {0}});
  config.groups.push_back({.spec = MambaSpec{.block_size = 4}, .layers = {1, 2}});
  return config;
}

// Decodes at `position`, and a padding row behind them; row r has blocks `first` + r for its states
// and 10 + 2 r and the next one for its keys.
class Decodes {
 public:
  Decodes(std::int32_t position, std::int32_t first, std::int32_t num_decodes = 3)
      : row_starts_{0} {
    const std::int32_t num_rows = num_decodes + 1;
    starts_.push_back(0);
    DecodePart part;
    for (std::int32_t row = 0; row < num_rows; ++row) {
      const bool decodes = row < num_decodes;
      ids_.push_back(decodes ? 3 + row % 3 : 0);
      positions_.push_back(decodes ? position : 0);
      starts_.push_back(decodes ? row + 1 : num_decodes);
      lengths_.push_back(decodes ? position + 1 : 0);
      states_.push_back(decodes ? first + row : 0);
      keys_.push_back(decodes ? 10 + 2 * row : 0);
      keys_.push_back(decodes ? 11 + 2 * row : 0);
      row_starts_.push_back(row + 1);
      part.tokens.push_back(row);
    }
    groups_[0].attention = {.query_start_loc = starts_,
                            .seq_lens = lengths_,
                            .block_table = matrix_view(keys_.data(), num_rows, 2)};
    groups_[0].block_size = 4;
    part.rows = {.state_indices = matrix_view(states_.data(), num_rows, 1),
                 .query_start_loc = row_starts_};
    groups_[1].decodes.push_back(std::move(part));
  }
  MachineForward forward() const {
    return {.token_ids = ids_, .positions = positions_, .groups = groups_, .replays_graph = true};
  }

 private:
  std::vector<std::int32_t> ids_, positions_, starts_, lengths_, states_, keys_, row_starts_;
  std::vector<ForwardGroup> groups_{2};
};

// Prompts of 20 tokens and of 3 in form chunked; `chunks` of the recurrent layers, whose states
// are `states` and go on where `continues`.
class Prompts {
 public:
  explicit Prompts(std::vector<RowChunk> chunks, std::vector<std::int32_t> states = {1, 2},
                   std::vector<std::uint8_t> continues = {0, 0})
      : keys_{10, 11, 12, 13, 14, 15, 0, 0, 0, 0},
        states_(std::move(states)),
        continues_(std::move(continues)) {
    for (std::int32_t i = 0; i < 23; ++i) {
      ids_.push_back(i % 7);
      positions_.push_back(i < 20 ? i : i - 20);
    }
    groups_[0].attention = {.query_start_loc = starts_,
                            .seq_lens = lengths_,
                            .block_table = matrix_view(keys_.data(), 2, 5)};
    groups_[0].block_size = 4;
    PrefillPart part;
    part.rows = {.query_start_loc = starts_,
                 .has_initial_states = continues_,
                 .state_indices = vector_view(states_.data(), 2)};
    part.tokens.resize(23);
    std::iota(part.tokens.begin(), part.tokens.end(), 0);
    part.row_chunks = std::move(chunks);
    groups_[1].prefills.push_back(std::move(part));
  }
  MachineForward forward() const {
    return {.token_ids = ids_, .positions = positions_, .groups = groups_};
  }

 private:
  std::vector<std::int32_t> ids_, positions_, keys_;
  std::vector<std::int32_t> starts_ = {0, 20, 23}, lengths_ = {20, 3}, states_;
  std::vector<std::uint8_t> continues_;
  std::vector<ForwardGroup> groups_{2};
};

// What a step leaves: every state of the recurrent layers' first blocks, and the logits of rows.
template <class Batch>
std::vector<float> step(LanguageMachine& machine, const Batch& batch, std::int32_t num_blocks = 9,
                        std::int32_t num_rows = 3) {
  machine.forward(batch.forward());
  std::size_t count = 0;
  for (std::int32_t block = 0; block < num_blocks; ++block)
    for (const auto& [layer, kind] :
         {std::pair(1, StateKind::conv), std::pair(1, StateKind::temporal),
          std::pair(2, StateKind::conv)}) {
      const BlockElements& of = machine.layout().blocks[static_cast<std::size_t>(layer)];
      machine.keep_state({layer, kind, block, 0, kind == StateKind::conv ? of.conv : of.temporal});
      ++count;
    }
  for (std::int32_t row = 0; row < num_rows; ++row, ++count) machine.keep_logits(row);
  EXPECT_TRUE(machine.finish());
  std::vector<float> kept;
  for (std::size_t i = 0; i < count; ++i)
    kept.insert(kept.end(), machine.kept(i).begin(), machine.kept(i).end());
  return kept;
}

class LanguageMachineCuda : public testing::Test {
 protected:
  LanguageMachineRequest request() const {
    return {.model = model_, .kv_cache_config = config_, .max_num_tokens = 16};
  }
  HybridModel model_ = small_language_model();
  KVCacheConfig config_ = two_groups();
};

// The blocks change from step to step: a replayed graph reads them anew.
TEST_F(LanguageMachineCuda, BatchesOfOneSizeReplayOneGraph) {
  HS_NEED_CUDA();
  const auto host = HostLanguageMachine::create(request()).value();
  const auto device = CudaLanguageMachine::create(request()).value();
  for (std::int32_t i = 0; i < 5; ++i) {
    const Decodes batch(i, i < 3 ? 1 : 4);
    EXPECT_EQ(step(*device, batch), step(*host, batch)) << "step " << i;
  }
  EXPECT_EQ(device->delays().num_captures, 1);
  EXPECT_EQ(device->delays().num_replays, 5);
}

// Room for 16 tokens: a larger step moves what the graphs of smaller ones read and write.
TEST_F(LanguageMachineCuda, AGraphIsCapturedAgainWhenItsArraysHaveMoved) {
  HS_NEED_CUDA();
  config_ = two_groups(80);
  const auto host = HostLanguageMachine::create(request()).value();
  const auto device = CudaLanguageMachine::create(request()).value();
  std::vector<std::int64_t> captures;
  std::int32_t position = 0;
  for (const std::int32_t num_decodes : {2, 19, 29, 2, 2}) {
    const Decodes batch(position++, 1, num_decodes);
    EXPECT_EQ(step(*device, batch, 32, num_decodes), step(*host, batch, 32, num_decodes))
        << num_decodes << " decodes";
    captures.push_back(device->delays().num_captures);
  }
  EXPECT_THAT(captures, testing::ElementsAre(1, 2, 3, 4, 4));
  EXPECT_EQ(device->delays().num_replays, 5);
}

TEST_F(LanguageMachineCuda, OnlyALargerStepAllocates) {
  HS_NEED_CUDA();
  const auto device = CudaLanguageMachine::create(request()).value();
  const Decodes batch(0, 1);
  (void)step(*device, batch);
  const std::int64_t first = device->delays().num_allocations;
  for (int i = 0; i < 3; ++i) (void)step(*device, batch);
  EXPECT_EQ(device->delays().num_allocations, first);
}

TEST_F(LanguageMachineCuda, AStepWithoutWorkKeepsNothing) {
  HS_NEED_CUDA();
  const auto device = CudaLanguageMachine::create(request()).value();
  EXPECT_TRUE(device->finish());
  device->poison(std::vector<std::int32_t>{0, -1, 99});  // no blocks
  EXPECT_TRUE(device->finish());
}

TEST_F(LanguageMachineCuda, BlocksThatDoNotFitAreRefusedWithTheNumbers) {
  HS_NEED_CUDA();
  config_ = two_groups(2'000'000'000);
  const auto device = CudaLanguageMachine::create(request());
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::not_available);
  EXPECT_THAT(device.error().message, HasSubstr("bytes are needed"));
}

// The largest difference of two steps' numbers.
float difference(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

TEST_F(LanguageMachineCuda, AWrongChunkShowsInFormChunkedAsOnTheHost) {
  HS_NEED_CUDA();
  LanguageMachineRequest chunked = request();
  chunked.form = NumericForm::chunked;
  std::vector<std::vector<float>> kept;
  for (const std::vector<RowChunk>& chunks :
       {std::vector<RowChunk>{{0, 0, 16}, {0, 16, 20}, {1, 20, 23}},
        std::vector<RowChunk>{{0, 0, 16}, {1, 16, 20}, {1, 20, 23}},
        std::vector<RowChunk>{{0, 0, 16}, {0, 15, 20}, {1, 20, 23}},
        std::vector<RowChunk>{{1, 20, 23}, {0, 0, 16}, {0, 16, 19}}}) {
    const Prompts batch(chunks);
    const auto host = HostLanguageMachine::create(chunked).value();
    const auto device = CudaLanguageMachine::create(chunked).value();
    kept.push_back(step(*device, batch));
    EXPECT_LT(difference(step(*host, batch), kept.back()), 1e-4F);
    EXPECT_EQ(step(*CudaLanguageMachine::create(chunked).value(), batch), kept.back());
  }
  for (std::size_t i = 1; i < kept.size(); ++i)
    EXPECT_GT(difference(kept.front(), kept[i]), 1e-2F) << i;
}

// The second row goes on from what the first one left, which a device that ran both at once would
// not see.
TEST_F(LanguageMachineCuda, RowsThatMeetRunInTurnInFormChunkedAsOnTheHost) {
  HS_NEED_CUDA();
  LanguageMachineRequest chunked = request();
  chunked.form = NumericForm::chunked;
  std::vector<std::vector<float>> kept;
  for (const std::vector<RowChunk>& chunks :
       {std::vector<RowChunk>{{0, 0, 16}, {0, 16, 20}, {1, 20, 23}},
        std::vector<RowChunk>{{1, 20, 23}, {0, 0, 16}, {0, 16, 20}}}) {
    for (const std::vector<std::int32_t>& states :
         {std::vector<std::int32_t>{1, 1}, std::vector<std::int32_t>{1, 2}}) {
      const Prompts batch(chunks, states, {0, 1});
      const auto host = HostLanguageMachine::create(chunked).value();
      const auto device = CudaLanguageMachine::create(chunked).value();
      kept.push_back(step(*device, batch));
      EXPECT_LT(difference(step(*host, batch), kept.back()), 1e-4F);
    }
    EXPECT_GT(difference(kept[kept.size() - 2], kept.back()), 1e-2F);
  }
}

// Its scratch grows with the pieces of chunks, and graphs that read it before are captured anew.
TEST_F(LanguageMachineCuda, FormChunkedAllocatesOnceForMorePieces) {
  HS_NEED_CUDA();
  LanguageMachineRequest chunked = request();
  chunked.form = NumericForm::chunked;
  chunked.max_num_tokens = 23;
  const auto device = CudaLanguageMachine::create(chunked).value();
  (void)step(*device, Decodes(0, 4));
  (void)step(*device, Prompts({{0, 0, 16}, {0, 16, 20}, {1, 20, 23}}));
  const std::int64_t first = device->delays().num_allocations;
  std::vector<RowChunk> many;
  for (std::int32_t t = 0; t < 23; ++t) many.push_back({t < 20 ? 0 : 1, t, t + 1});
  for (int i = 0; i < 2; ++i) (void)step(*device, Prompts(many));
  EXPECT_EQ(device->delays().num_allocations, first + 1);
  (void)step(*device, Decodes(0, 4));
  EXPECT_EQ(device->delays().num_captures, 2);
}

}  // namespace
}  // namespace hybridscope::test::language_machine_cuda_test
