// A language model beside the engine: the texts put together out of what each step said, and the
// memory that holds its floats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <variant>
#include <vector>

#include "core/language/numeric_memory.h"
#include "core/language/replayed_buffers.h"
#include "core/language/spoken_texts.h"
#include "core/language/twin_sequence.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::spoken_texts_test {
namespace {

constexpr RequestId kA{0};

StepWords::Token said(std::int64_t step, std::int32_t position, std::int32_t id,
                      std::int32_t twin_id) {
  return {kA, {.step = step, .position = position, .id = id, .twin_id = twin_id}};
}

TEST(SpokenTexts, AreWhatTheSchedulerTookOfWhatRowsSampled) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5, 6}}}, .tokens = {said(0, 2, 7, 7)}, .taken = {{kA, 1}}});
  texts.add({.tokens = {said(1, 3, 8, 8), said(1, 4, 9, 9)},
             .rejected = {{kA, {1, 5, 3}}},
             .taken = {{kA, 1}}});
  const SpokenText taken = texts.taken().at(0);
  EXPECT_EQ(taken.prompt, (std::vector<std::int32_t>{5, 6}));
  ASSERT_EQ(taken.tokens.size(), 2U);
  EXPECT_EQ(taken.tokens[1].id, 8);
  EXPECT_EQ(taken.rejected, (std::vector<RejectedDraft>{{1, 5, 3}}));
  EXPECT_EQ(texts.sampled().at(0).tokens.size(), 3U);
}

TEST(SpokenTexts, OfARequestThatBeginsAgainHaveItsLastTokens) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  texts.add({.tokens = {said(1, 2, 8, 8)}});
  texts.add({.tokens = {said(2, 1, 9, 9)}});
  const SpokenText text = texts.sampled().at(0);
  ASSERT_EQ(text.tokens.size(), 1U);
  EXPECT_EQ(text.tokens[0].id, 9);
}

TEST(SpokenTexts, PartFromTheLoneRunWhereATokenIsNotItsChoice) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  EXPECT_FALSE(parts_from_lone_run(texts.sampled()[0]));
  texts.add({.tokens = {said(1, 2, 8, 9)}});
  EXPECT_TRUE(parts_from_lone_run(texts.sampled()[0]));
}

// What the lone run says by itself is as long as what the run says.
TEST(SpokenTexts, HaveWhatTheLoneRunSaysFromTheStepInWhichTheyPart) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  EXPECT_TRUE(texts.sampled()[0].alone.empty());
  texts.add({.tokens = {said(1, 2, 8, 9)}, .taken = {{kA, 1}}, .alone = {{kA, {7, 9}}}});
  EXPECT_EQ(texts.sampled()[0].alone, (std::vector<std::int32_t>{7, 9}));
  EXPECT_TRUE(texts.taken()[0].alone.empty());  // the token that differs was not taken
}

// The lone run says as many tokens as the run has, from the step in which they part.
TEST(AloneTexts, AreAsLongAsTheRunsText) {
  const HybridModel model = test::small_language_model();
  const std::vector<std::int32_t> prompt{5, 6, 7};
  EXPECT_EQ(say_alone(model, prompt, 3), (std::vector<std::int32_t>{3, 13, 21}));
  AloneTexts texts(model);
  StepWords words{.prompts = {{kA, prompt}}, .tokens = {said(0, 3, 3, 3)}};
  texts.add_to(words);
  EXPECT_TRUE(words.alone.empty());
  words = {.tokens = {said(1, 4, 14, 13)}};
  texts.add_to(words);
  ASSERT_EQ(words.alone.size(), 1U);
  EXPECT_EQ(words.alone[0].ids, (std::vector<std::int32_t>{3, 13}));
  words = {.tokens = {said(2, 5, 1, 1)}};
  texts.add_to(words);
  EXPECT_EQ(words.alone.at(0).ids, (std::vector<std::int32_t>{21}));
}

// Which tokens of a model stand for the engine's.

constexpr TokenContent kGenerated = tagged_token(TokenKind::output, 0x1234567890ULL);

TEST(LanguageTokenIds, BytesOfATextAreTheirOwnTokens) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.id(prompt_token(kByteText, 'k')), 'k');
  EXPECT_EQ(ids.id(prompt_token(kByteText, 0xF3)), 0xF3);
}

TEST(LanguageTokenIds, EqualContentsAreEqualTokens) {
  ModelTokenIds ids(50);
  const TokenContent content = prompt_token(7, 3);
  EXPECT_EQ(ids.id(content), ids.id(content));
  EXPECT_LT(ids.id(content), 50);
}

TEST(LanguageTokenIds, AGeneratedTokenIsWhatTheRunSampled) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.generated(kGenerated, 65), 65);
  EXPECT_EQ(ids.id(kGenerated), 65);
}

// A prompt that continues an answer before it exists settles what it says.
TEST(LanguageTokenIds, AContentThatWasNeededBeforeItWasGeneratedKeepsItsToken) {
  ModelTokenIds ids(256);
  const std::int32_t needed = ids.id(kGenerated);
  EXPECT_EQ(ids.generated(kGenerated, (needed + 1) % 256), needed);
}

// A request that begins again after a reset may sample another token at the same place.
TEST(LanguageTokenIds, ATokenThatIsGeneratedAgainReplacesTheOldOne) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.generated(kGenerated, 65), 65);
  EXPECT_EQ(ids.generated(kGenerated, 66), 66);
  EXPECT_EQ(ids.settled(kGenerated), std::nullopt);
}

TEST(LanguageTokenIds, ADraftThatIsRejectedIsAnotherToken) {
  const ModelTokenIds ids(5);
  for (std::uint64_t content = 0; content < 40; ++content)
    for (std::int32_t right = 0; right < 5; ++right) {
      const std::int32_t wrong = ids.wrong_draft(right, content);
      EXPECT_NE(wrong, right);
      EXPECT_GE(wrong, 0);
      EXPECT_LT(wrong, 5);
    }
}

// The lone run of a request goes back, on and anew, and is always what a run from the start is.

class LanguageTwin : public testing::Test {
 protected:
  std::vector<LayerStates> from_start(std::size_t num_tokens) const {
    LoneRun run(model_);
    run.extend(std::span(tokens_).first(num_tokens));
    return run.states();
  }

  HybridModel model_ = test::small_language_model();
  std::vector<std::int32_t> tokens_{3, 14, 15, 9, 26, 5, 35, 8, 9, 7};
};

TEST_F(LanguageTwin, GoesOnFromWhereItStands) {
  TwinSequence twin(model_);
  twin.stand_behind(4, tokens_);
  twin.extend(std::span(tokens_).subspan(4, 3));
  EXPECT_EQ(*twin.states_after(4), from_start(4));
  EXPECT_EQ(*twin.states_after(7), from_start(7));
  EXPECT_EQ(twin.states_after(5), nullptr);
}

// Rejected drafts are taken back.
TEST_F(LanguageTwin, GoesBackToAStateThatItKept) {
  TwinSequence twin(model_);
  twin.stand_behind(4, tokens_);
  const std::int32_t wrong[] = {40, 41};
  twin.extend({&tokens_[4], 1});
  twin.extend({&wrong[0], 1});
  twin.extend({&wrong[1], 1});
  twin.stand_behind(6, tokens_);
  EXPECT_EQ(*twin.states_after(6), from_start(6)) << "a state with a rejected draft was kept";
}

// A request that was preempted begins again.
TEST_F(LanguageTwin, BeginsAnewWhereNothingWasKept) {
  TwinSequence twin(model_);
  twin.stand_behind(8, tokens_);
  twin.stand_behind(2, tokens_);
  EXPECT_EQ(*twin.states_after(2), from_start(2));
  EXPECT_EQ(twin.num_tokens(), 2);
}

// What copies do to the floats of blocks.

using testing::ElementsAre;
using testing::HasSubstr;

KVCacheConfig two_groups() {
  KVCacheConfig config{.num_blocks = 6, .groups = {}};
  config.groups.push_back({.spec = FullAttentionSpec{.block_size = 4}, .layers = {0}});
  config.groups.push_back({.spec = MambaSpec{.block_size = 4}, .layers = {1, 2}});
  return config;
}

class LanguageMemory : public testing::Test {
 protected:
  std::span<float> conv(std::int32_t block) const { return memory_.layers()[1].conv.block(block); }
  std::span<float> temporal(std::int32_t block) const {
    return memory_.layers()[1].temporal.block(block);
  }

  HybridModel model_ = test::small_language_model();
  NumericMemory memory_ = NumericMemory::create(model_, two_groups(), {.num_drafts = 2}).value();
};

// GatedDeltaNet: W - 1 + K = 5 positions of 24 channels, a state of 2 * 4 * 4; short convolution:
// 4 positions of 16; attention: 4 slots of 8 for keys and for values.
TEST_F(LanguageMemory, BlocksHaveTheStatesOfTheirLayers) {
  EXPECT_EQ(memory_.layers()[1].conv.block_elements, 5 * 24);
  EXPECT_EQ(memory_.layers()[1].temporal.block_elements, 32);
  EXPECT_EQ(memory_.layers()[2].conv.block_elements, 4 * 16);
  EXPECT_EQ(memory_.layers()[2].temporal.block_elements, 0);
  EXPECT_EQ(memory_.layers()[0].kv.keys.size(), 6U * 4 * 8);
  EXPECT_EQ(make_language_layout(model_, two_groups(), {.num_drafts = 2}).value().bytes_per_block(),
            4 * (5 * 24 + 32 + 4 * 16 + 2 * 4 * 8));
}

// Positions 2.. of the source go to positions 0..; the last two of the destination stay.
TEST_F(LanguageMemory, ACopyShiftsTheConvWindow) {
  std::iota(conv(1).begin(), conv(1).end(), 0.0F);
  std::ranges::fill(conv(2), -1.0F);
  std::ranges::fill(temporal(3), 7.0F);
  const StateCopyOp copy{
      .conv_src_block = 1, .temporal_src_block = 3, .dst_block = 2, .accept_token_bias = 2};
  memory_.copy({&copy, 1});
  EXPECT_EQ(conv(2)[0], 48.0F);
  EXPECT_EQ(conv(2)[71], 119.0F);
  EXPECT_EQ(conv(2)[72], -1.0F);
  EXPECT_EQ(temporal(2)[31], 7.0F);
}

// Two copies of one launch that swap blocks.
TEST_F(LanguageMemory, EverySourceIsReadBeforeAnythingIsWritten) {
  std::ranges::fill(temporal(1), 1.0F);
  std::ranges::fill(temporal(2), 2.0F);
  const StateCopyOp copies[] = {{.conv_src_block = 1, .temporal_src_block = 1, .dst_block = 2},
                                {.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 1}};
  memory_.copy(copies);
  EXPECT_EQ(temporal(1)[0], 2.0F);
  EXPECT_EQ(temporal(2)[0], 1.0F);
}

// Known bug 25: 3 of the 5 positions are there, and position 3 is the front of the state.
TEST_F(LanguageMemory, AWindowThatIsTooShortRunsOnIntoTheState) {
  const NumericMemory memory =
      NumericMemory::create(model_, two_groups(), {.num_drafts = 2, .missing = 2}).value();
  const LayerMemory& layer = memory.layers()[1];
  std::ranges::fill(layer.temporal.block(5), 7.0F);
  std::ranges::fill(layer.conv.block(5).subspan(3 * 24, 24), 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[0], 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[23], 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[24], 7.0F);
  EXPECT_EQ(layer.temporal.block(4)[0], 0.0F);
}

TEST_F(LanguageMemory, ABlockOfANewOwnerHoldsNumbersThatShow) {
  memory_.poison(4);
  EXPECT_LT(temporal(4)[0], -1e18F);
  EXPECT_LT(memory_.layers()[0].kv.keys[4 * 4 * 8], -1e18F);
  EXPECT_EQ(temporal(3)[0], 0.0F);
  memory_.poison(0);  // the null block is never given out
  EXPECT_EQ(memory_.layers()[0].kv.keys[0], 0.0F);
}

// Another model's groups: attention layers go to attention groups, recurrent ones in turn.
TEST_F(LanguageMemory, LayersOfAnotherModelAreDealtOutInTurn) {
  KVCacheConfig config{.num_blocks = 6, .groups = {}};
  config.groups.push_back({.spec = MambaSpec{}, .layers = {0}});
  config.groups.push_back({.spec = FullAttentionSpec{}, .layers = {1}});
  config.groups.push_back({.spec = MambaSpec{}, .layers = {2, 3}});
  EXPECT_THAT(groups_of_layers(model_, config).value(), ElementsAre(1, 0, 2));
  config.groups.erase(config.groups.begin() + 1);
  EXPECT_THAT(groups_of_layers(model_, config).error().message,
              HasSubstr("layer 0 of the weights is attention"));
}

// What replayed graphs read: the arrays of their step, or those that an earlier build left.

constexpr std::array<std::string_view, 1> kMambaArrays = {"state_indices_tensor_d"};
constexpr std::array<std::string_view, 2> kGdnArrays = {"non_spec_state_indices_tensor",
                                                        "non_spec_query_start_loc"};

// A full graph of two rows, in step `step`.
StepTrace replay(std::int64_t step) {
  StepTrace trace;
  trace.step = step;
  trace.graph = {.runtime_mode = CUDAGraphMode::full, .num_tokens_padded = 2, .num_reqs_padded = 2};
  return trace;
}

GroupTrace group_of(const BuilderMetadata& metadata, std::int64_t written_in,
                    std::span<const std::string_view> arrays) {
  GroupTrace group;
  group.is_mamba = true;
  group.metadata = metadata;
  group.persistent_buffers_step = written_in;
  group.replayed_arrays = arrays;
  return group;
}

std::vector<std::int32_t> values_of(const TensorView<std::int32_t>& view) {
  return {view.data, view.data + view.size()};
}

const std::vector<std::int32_t> kBlocks = {7, 4};

MambaMetadata decodes() {
  return {.num_decodes = 2,
          .num_decode_tokens = 2,
          .state_indices_tensor_d = matrix_view(kBlocks.data(), 2, 1)};
}
MambaMetadata prefill() { return {.num_prefills = 1, .num_prefill_tokens = 2}; }

TEST(ReplayedBuffers, AGraphReadsWhatItsStepHasWritten) {
  ReplayedBuffers buffers;
  EXPECT_FALSE(buffers.read(replay(1), group_of(decodes(), 1, kMambaArrays)));
}

TEST(ReplayedBuffers, WithoutAFullGraphTheMetadataIsRead) {
  ReplayedBuffers buffers;
  StepTrace trace = replay(1);
  trace.graph.runtime_mode = CUDAGraphMode::piecewise;
  EXPECT_FALSE(buffers.read(trace, group_of(prefill(), 0, kMambaArrays)));
}

// Step 2 has a prompt row, whose build writes no decode arrays: its graph runs the decodes of step
// 1 again.
TEST(ReplayedBuffers, AGraphReadsWhatAnEarlierBuildLeft) {
  ReplayedBuffers buffers;
  (void)buffers.read(replay(1), group_of(decodes(), 1, kMambaArrays));
  const auto read = buffers.read(replay(2), group_of(prefill(), 1, kMambaArrays));
  ASSERT_TRUE(read);
  const auto& metadata = std::get<MambaMetadata>(*read);
  EXPECT_EQ(metadata.num_prefills, 0);
  EXPECT_EQ(metadata.num_decodes, 2);
  EXPECT_THAT(values_of(metadata.state_indices_tensor_d), ElementsAre(7, 4));
}

TEST(ReplayedBuffers, WhatNoBuildHasWrittenIsNoBlock) {
  ReplayedBuffers buffers;
  const auto read = buffers.read(replay(1), group_of(prefill(), 0, kMambaArrays));
  ASSERT_TRUE(read);
  EXPECT_THAT(values_of(std::get<MambaMetadata>(*read).state_indices_tensor_d),
              ElementsAre(-1, -1));
}

// A group that takes over another one's metadata writes its own state indices only.
TEST(ReplayedBuffers, ReusedMetadataBringsNewBlocksAlone) {
  constexpr std::array<std::string_view, 3> kAll = {
      "state_indices_tensor_d", "block_idx_last_scheduled_token", "block_idx_last_computed_token"};
  ReplayedBuffers buffers;
  const std::vector<std::int32_t> old_columns = {3, 3};
  MambaMetadata before = decodes();
  before.block_idx_last_scheduled_token = vector_view(old_columns.data(), 2);
  before.block_idx_last_computed_token = vector_view(old_columns.data(), 2);
  (void)buffers.read(replay(1), group_of(before, 1, kAll));
  const std::vector<std::int32_t> blocks = {8, 9};
  const std::vector<std::int32_t> columns = {5, 5};
  MambaMetadata now = decodes();
  now.state_indices_tensor_d = matrix_view(blocks.data(), 2, 1);
  now.block_idx_last_scheduled_token = vector_view(columns.data(), 2);
  GroupTrace group = group_of(now, 1, kAll);
  group.reused_metadata = true;
  const auto read = buffers.read(replay(2), group);
  ASSERT_TRUE(read);
  const auto& metadata = std::get<MambaMetadata>(*read);
  EXPECT_THAT(values_of(metadata.state_indices_tensor_d), ElementsAre(8, 9));
  EXPECT_THAT(values_of(metadata.block_idx_last_scheduled_token), ElementsAre(3, 3));
}

TEST(ReplayedBuffers, GdnGraphsReadTheirOffsetsToo) {
  ReplayedBuffers buffers;
  const std::vector<std::int32_t> starts = {0, 1, 2};
  const GdnMetadata written{.num_decodes = 2,
                            .non_spec_query_start_loc = vector_view(starts.data(), 3),
                            .non_spec_state_indices_tensor = vector_view(kBlocks.data(), 2)};
  (void)buffers.read(replay(1), group_of(written, 1, kGdnArrays));
  const auto read =
      buffers.read(replay(2), group_of(GdnMetadata{.num_prefills = 1}, 1, kGdnArrays));
  ASSERT_TRUE(read);
  const auto& metadata = std::get<GdnMetadata>(*read);
  EXPECT_EQ(metadata.num_decodes, 2);
  EXPECT_THAT(values_of(metadata.non_spec_state_indices_tensor), ElementsAre(7, 4));
  EXPECT_THAT(values_of(metadata.non_spec_query_start_loc), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace hybridscope::spoken_texts_test
