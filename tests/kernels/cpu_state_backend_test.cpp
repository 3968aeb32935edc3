#include "kernels/cpu/cpu_state_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/result.h"
#include "tests/kernels/random_state.h"
#include "tests/support/property.h"

namespace hybridscope::cpu_state_backend_test {
namespace {

using test::conv_spec;
using test::MemoryShape;
using test::temporal_spec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ConvStateLayout kSD = ConvStateLayout::SD;
constexpr ConvStateLayout kDS = ConvStateLayout::DS;

std::unique_ptr<CpuStateBackend> backend_of(const MemoryShape& shape) {
  return CpuStateBackend::create(test::make_memory(shape)).value();
}

// W = 4 and one draft: 4 positions of 2 channels; a recurrent state of 4 elements, no padding.
MemoryShape one_layer(ConvStateLayout layout) {
  return {.layout = layout,
          .states = {conv_spec(layout, 4, 2, Dtype::float32), temporal_spec({4}, Dtype::float32)}};
}

std::vector<std::uint32_t> read(CpuStateBackend& backend, std::int32_t state, std::int32_t block) {
  const MemoryMap map = make_memory_map(backend.memory(), backend.bytes().data()).value();
  const StateView& view = map.states.at(static_cast<std::size_t>(state));
  std::vector<std::uint32_t> elements(
      static_cast<std::size_t>(view.num_elements * view.geometry.elem_size / 4));
  std::memcpy(elements.data(), view.block(block), elements.size() * 4);
  return elements;
}

// Positions that hold tokens 0xA1.., 4 bytes of each are the fingerprint's lower half.
BlockContents conv_content(std::int32_t block, std::vector<Fingerprint> positions) {
  return {.blocks = {{.kind = StateKind::conv, .block = block}},
          .conv_fingerprints = std::move(positions)};
}

BlockContents temporal_content(std::int32_t block, Fingerprint fingerprint) {
  return {.blocks = {{.kind = StateKind::temporal, .block = block, .fingerprint = fingerprint}},
          .conv_fingerprints = {}};
}

TEST(CpuStateBackend, MemoryBeginsAsPoisonPaddingIncluded) {
  MemoryShape shape = one_layer(kSD);
  shape.num_blocks = 1;
  shape.padding_bytes = 8;
  const auto backend = backend_of(shape);
  ASSERT_EQ(backend->bytes().size(), 32U + 16U + 8U);
  for (std::size_t i = 0; i < backend->bytes().size(); i += 2) {
    EXPECT_EQ(backend->bytes()[i], std::byte{0xAD});
    EXPECT_EQ(backend->bytes()[i + 1], std::byte{0xDE});
  }
}

TEST(CpuStateBackend, ATemporalStateBeginsWithItsFingerprint) {
  const auto backend = backend_of(one_layer(kSD));
  test::fill_state(*backend, temporal_content(2, 0x1111222233334444ULL));
  EXPECT_THAT(
      read(*backend, 1, 2),
      ElementsAre(0x33334444U, 0x11112222U, static_cast<std::uint32_t>(mix(0x1111222233334444U, 2)),
                  static_cast<std::uint32_t>(mix(0x1111222233334444U, 3))));
}

// Channel 0 is the lower half of the token's fingerprint, channel 1 the upper one.
TEST(CpuStateBackend, ConvPositionsLieOneBehindTheOtherInSd) {
  const auto backend = backend_of(one_layer(kSD));
  test::fill_state(*backend, conv_content(1, {0x1'0000'00A1, 0x2'0000'00A2, 0, kPoison}));
  EXPECT_THAT(read(*backend, 0, 1), ElementsAre(0xA1, 1, 0xA2, 2, 0, 0, 0xDEADDEAD, 0xDEADDEAD));
}

TEST(CpuStateBackend, ConvChannelsLieOneBehindTheOtherInDs) {
  const auto backend = backend_of(one_layer(kDS));
  test::fill_state(*backend, conv_content(1, {0x1'0000'00A1, 0x2'0000'00A2, 0, kPoison}));
  EXPECT_THAT(read(*backend, 0, 1), ElementsAre(0xA1, 0xA2, 0, 0xDEADDEAD, 1, 2, 0, 0xDEADDEAD));
}

class EveryLayout : public ::testing::TestWithParam<ConvStateLayout> {
 protected:
  // The first channel of each position of block `block`.
  std::vector<std::uint32_t> first_channels(CpuStateBackend& backend, std::int32_t block) {
    const std::vector<std::uint32_t> elements = read(backend, 0, block);
    const std::size_t stride = GetParam() == kSD ? 2 : 1;
    return {elements[0], elements[stride], elements[2 * stride], elements[3 * stride]};
  }
};
INSTANTIATE_TEST_SUITE_P(CpuStateBackend, EveryLayout, ::testing::Values(kSD, kDS),
                         [](const auto& param) { return param.param == kSD ? "SD" : "DS"; });

// Known bug 4: a shift in its own block moves every position once.
TEST_P(EveryLayout, ACopyInsideABlockShiftsLikeMemmove) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(3, {0xA1, 0xA2, 0xA3, 0xA4}));
  StateOps ops;
  ops.add_copy(
      {.conv_src_block = 3, .temporal_src_block = 3, .dst_block = 3, .accept_token_bias = 1});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 3), ElementsAre(0xA2, 0xA3, 0xA4, 0xA4));
}

TEST_P(EveryLayout, ACopyReadsConvAndTemporalStatesFromTheirOwnBlocks) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(0, {0xA1, 0xA2, 0xA3, 0xA4}));
  test::fill_state(*backend, temporal_content(1, 0xB1));
  StateOps ops;
  ops.add_copy(
      {.conv_src_block = 0, .temporal_src_block = 1, .dst_block = 2, .accept_token_bias = 2});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 2), ElementsAre(0xA3, 0xA4, 0xDEADDEAD, 0xDEADDEAD));
  EXPECT_EQ(read(*backend, 1, 2)[0], 0xB1U);
}

TEST_P(EveryLayout, ACopyFromAPoisonSourcePoisonsWhatItWouldWrite) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(2, {0xA1, 0xA2, 0xA3, 0xA4}));
  test::fill_state(*backend, temporal_content(1, 0xB1));
  StateOps ops;
  ops.add_copy({.conv_src_block = kPoisonSource,
                .temporal_src_block = 1,
                .dst_block = 2,
                .accept_token_bias = 3});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 2), ElementsAre(0xDEADDEAD, 0xA2, 0xA3, 0xA4));
  EXPECT_EQ(read(*backend, 1, 2)[0], 0xB1U);
}

// W - 2 old positions, then the row's tokens (semantics: decode-conv).
TEST_P(EveryLayout, AWindowKeepsTwoOldPositionsAndAppendsTheTokens) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(1, {0xA1, 0xA2, 0xA3, 0xA4}));
  StateOps ops;
  ops.tokens = {7, 8};
  ops.token_fingerprints = {0xC1, 0xC2};
  ops.writes = {{ForwardWriteKind::conv_window, 1, 2}};
  ops.add_row({.conv_src_block = 1, .conv_src_position = 1, .num_tokens = 2, .num_writes = 1});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 1), ElementsAre(0xA3, 0xA4, 0xC1, 0xC2));
}

// The old window is shifted when the row is shorter than it (semantics: prefill-conv).
TEST_P(EveryLayout, ATailKeepsTheLastThreeTokensAndLeavesTheRestAlone) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(1, {0xA1, 0xA2, 0xA3, 0xA4}));
  StateOps ops;
  ops.tokens = {7};
  ops.token_fingerprints = {0xC1};
  ops.writes = {{ForwardWriteKind::conv_tail, 1, 1}};
  ops.add_row({.conv_src_block = 1, .num_tokens = 1, .num_writes = 1});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 1), ElementsAre(0xA2, 0xA3, 0xC1, 0xA4));
}

TEST_P(EveryLayout, ARowWithoutAWindowStartsFromZerosAndBehindTheEndThereIsPoison) {
  const auto backend = backend_of(one_layer(GetParam()));
  test::fill_state(*backend, conv_content(3, {0xA1, 0xA2, 0xA3, 0xA4}));
  StateOps ops;
  ops.writes = {{ForwardWriteKind::conv_tail, 1, 0}, {ForwardWriteKind::conv_tail, 2, 0}};
  ops.add_row({.conv_src_block = kNoSource, .num_writes = 1});
  ops.add_row({.conv_src_block = 3, .conv_src_position = 2, .first_write = 1, .num_writes = 1});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(first_channels(*backend, 1), ElementsAre(0, 0, 0, 0xDEADDEAD));
  EXPECT_THAT(first_channels(*backend, 2), ElementsAre(0xA3, 0xA4, 0xDEADDEAD, 0xDEADDEAD));
}

TEST(CpuStateBackend, ARowFoldsItsTokensIntoTheStateItReads) {
  const auto backend = backend_of(one_layer(kSD));
  test::fill_state(*backend, temporal_content(1, 0xF0));
  StateOps ops;
  ops.tokens = {7, 8};
  ops.token_fingerprints = {1, 2};
  ops.writes = {{ForwardWriteKind::temporal, 2, 1}, {ForwardWriteKind::temporal, 3, 2}};
  ops.add_row({.temporal_src_block = 1, .num_tokens = 2, .num_writes = 2});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_TRUE(backend->verify(temporal_content(2, mix(0xF0, 7))).value().empty());
  EXPECT_TRUE(backend->verify(temporal_content(3, mix(mix(0xF0, 7), 8))).value().empty());
}

TEST(CpuStateBackend, OfTwoWritesToOneBlockTheLastStays) {
  const auto backend = backend_of(one_layer(kSD));
  StateOps ops;
  ops.tokens = {7, 8};
  ops.token_fingerprints = {1, 2};
  ops.writes = {{ForwardWriteKind::temporal, 2, 2}, {ForwardWriteKind::temporal, 2, 1}};
  ops.add_row({.temporal_src_block = kNoSource, .num_tokens = 2, .num_writes = 2, .start = 0xF0});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_TRUE(backend->verify(temporal_content(2, mix(0xF0, 7))).value().empty());
}

// Each layer reads its own state: what one lost stays lost there and nowhere else.
TEST(CpuStateBackend, ALayerThatDiffersStaysDifferent) {
  MemoryShape shape = one_layer(kSD);
  shape.group_layers = {2};
  const auto backend = backend_of(shape);
  test::fill_state(*backend, temporal_content(1, 0xF0));
  const std::size_t second_layer = 4 * 48 + 48 + 32;  // buffer 1, block 1, behind the conv state
  backend->bytes()[second_layer] ^= std::byte{1};
  StateOps ops;
  ops.tokens = {7};
  ops.token_fingerprints = {1};
  ops.writes = {{ForwardWriteKind::temporal, 1, 1}};
  ops.add_row({.temporal_src_block = 1, .num_tokens = 1, .num_writes = 1});
  ASSERT_TRUE(backend->run(ops));
  const auto mismatches = backend->verify(temporal_content(1, mix(0xF0, 7))).value();
  const auto half = [](Fingerprint fingerprint) { return fingerprint & 0xFFFFFFFFU; };
  EXPECT_THAT(mismatches, ElementsAre(StateMismatch{.content = 0,
                                                    .state_index = 3,
                                                    .element = 0,
                                                    .expected = half(mix(0xF0, 7)),
                                                    .seen = half(mix(0xF1, 7))}));
}

TEST(CpuStateBackend, AMismatchNamesTheFirstElementByPositionThenChannel) {
  const auto backend = backend_of(one_layer(kDS));
  const BlockContents contents = conv_content(0, {0xA1, 0xA2, 0xA3, 0xA4});
  test::fill_state(*backend, contents);
  backend->bytes()[(0 * 4 + 3) * 4] = std::byte{0x55};  // channel 0, position 3: element 6
  backend->bytes()[(1 * 4 + 2) * 4] = std::byte{0x66};  // channel 1, position 2: element 5
  EXPECT_THAT(backend->verify(contents).value(),
              ElementsAre(StateMismatch{
                  .content = 0, .state_index = 0, .element = 5, .expected = 0, .seen = 0x66}));
}

// KDA: three conv states; each is written as far as it is wide.
TEST(CpuStateBackend, EachConvStateIsWrittenAsFarAsItReaches) {
  const auto backend = backend_of(
      {.states = {conv_spec(kSD, 3, 2, Dtype::float32), conv_spec(kSD, 4, 2, Dtype::float32),
                  conv_spec(kSD, 3, 4, Dtype::float16)}});
  StateOps ops;
  ops.tokens = {1, 2};
  ops.token_fingerprints = {0xC1, 0xC2};
  ops.writes = {{ForwardWriteKind::conv_window, 0, 2}};
  ops.add_row({.conv_src_block = kNoSource, .num_tokens = 2, .num_writes = 1});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_THAT(read(*backend, 0, 0), ElementsAre(0, 0, 0, 0, 0xC1, 0));
  EXPECT_THAT(read(*backend, 1, 0), ElementsAre(0, 0, 0, 0, 0xC1, 0, 0xC2, 0));
  EXPECT_THAT(read(*backend, 2, 0), ElementsAre(0, 0, 0, 0, 0xC1, 0));
}

// Copies of one launch read before any of them writes (semantics: I13): two blocks change places.
TEST(CpuStateBackend, TwoCopiesOfALaunchExchangeTheirBlocks) {
  const auto backend = backend_of(one_layer(kSD));
  test::fill_state(*backend, temporal_content(0, 0xB0));
  test::fill_state(*backend, temporal_content(1, 0xB1));
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.conv_src_block = 0, .temporal_src_block = 0, .dst_block = 1});
  ops.add_copy({.conv_src_block = 1, .temporal_src_block = 1, .dst_block = 0});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_EQ(read(*backend, 1, 0)[0], 0xB1U);
  EXPECT_EQ(read(*backend, 1, 1)[0], 0xB0U);
}

TEST(CpuStateBackend, ASecondLaunchReadsWhatTheFirstWrote) {
  const auto backend = backend_of(one_layer(kSD));
  test::fill_state(*backend, temporal_content(0, 0xB0));
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.conv_src_block = 0, .temporal_src_block = 0, .dst_block = 1});
  ops.begin_launch();
  ops.add_copy({.conv_src_block = 1, .temporal_src_block = 1, .dst_block = 2});
  ASSERT_TRUE(backend->run(ops));
  EXPECT_EQ(read(*backend, 1, 2)[0], 0xB0U);
}

TEST(CpuStateBackend, PoisonLeavesPaddingAndNeighboursAlone) {
  MemoryShape shape = one_layer(kSD);
  shape.num_blocks = 3;
  shape.padding_bytes = 8;
  const auto backend = backend_of(shape);
  std::ranges::fill(backend->bytes(), std::byte{0x77});
  StateOps ops;
  ops.add_poison(1);
  ASSERT_TRUE(backend->run(ops));
  EXPECT_EQ(std::ranges::count(backend->bytes(), std::byte{0x77}), 56 + 8 + 56);
  EXPECT_EQ(backend->bytes()[56], std::byte{0xAD});
  EXPECT_EQ(backend->bytes()[56 + 48], std::byte{0x77});
}

// A page of 12 bytes is two words, the second filled up with zeros.
TEST(CpuStateBackend, ADigestIsTheSumOfAllWordsMixedWithTheirPlace) {
  const auto backend = backend_of({.num_blocks = 2,
                                   .group_layers = {2},
                                   .states = {temporal_spec({2}, Dtype::float32)},
                                   .padding_bytes = 4});
  const std::int32_t blocks[] = {1, 0};
  for (std::size_t i = 0; i < 48; ++i) backend->bytes()[i] = static_cast<std::byte>(i);
  // Buffer 0, block 1: bytes 12..23; buffer 1, block 1: bytes 36..47.
  const std::uint64_t block_1 = mix(0, 0x131211100F0E0D0CULL) + mix(1, 0x17161514ULL) +
                                mix(2, 0x2B2A292827262524ULL) + mix(3, 0x2F2E2D2CULL);
  const std::uint64_t block_0 = mix(0, 0x0706050403020100ULL) + mix(1, 0x0B0A0908ULL) +
                                mix(2, 0x1F1E1D1C1B1A1918ULL) + mix(3, 0x23222120ULL);
  EXPECT_THAT(backend->digests(blocks).value(), ElementsAre(block_1, block_0));
}

TEST(CpuStateBackend, MoreThanTheMachineHasIsRefusedWithBothNumbers) {
  const auto backend = CpuStateBackend::create(test::make_memory(
      {.num_blocks = 1 << 20, .states = {temporal_spec({1 << 20, 1 << 10}, Dtype::float32)}}));
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().kind, ErrorKind::not_available);
  EXPECT_THAT(backend.error().message,
              HasSubstr("the states take 4503599627370496 bytes, this machine has "));
}

TEST(CpuStateBackend, AStateTooSmallForAFingerprintIsRefused) {
  const auto backend =
      CpuStateBackend::create(test::make_memory({.states = {temporal_spec({3}, Dtype::bfloat16)}}));
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().message,
            "state 0: a recurrent state of 6 bytes cannot hold a fingerprint of 8 bytes");
}

TEST(CpuStateBackend, ABlockOutsideTheMemoryIsOurBug) {
  const auto backend = backend_of(one_layer(kSD));
  StateOps ops;
  ops.add_poison(4);
  EXPECT_THROW((void)backend->run(ops), ContractViolation);
}

// Random layouts and operations, several steps on the same memory: every byte, padding included.
TEST(CpuStateBackend, EveryByteIsWhatTheNaiveModelSays) {
  test::check_property(300, [] {
    const StateMemory memory = test::random_memory(test::draw);
    const auto backend = CpuStateBackend::create(memory).value();
    test::NaiveState naive(memory);
    for (int step = 0; step < 3; ++step) {
      const BlockContents contents = test::random_contents(test::draw, memory, test::draw(0, 3));
      test::fill_state(*backend, contents);
      naive.fill(contents);
      const StateOps ops = test::random_ops(test::draw, memory, 4);
      RC_ASSERT(backend->run(ops).ok());
      naive.run(ops);
      RC_ASSERT(std::ranges::equal(backend->bytes(), naive.bytes()));
    }
  });
}

// What was filled last verifies; a byte that changes is found in its element.
TEST(CpuStateBackend, WhatWasFilledVerifiesUntilAByteChanges) {
  test::check_property(200, [] {
    const StateMemory memory = test::random_memory(test::draw);
    const auto backend = CpuStateBackend::create(memory).value();
    const BlockContents contents = test::random_contents(test::draw, memory, 1);
    test::fill_state(*backend, contents);
    RC_ASSERT(backend->verify(contents).value().empty());
    const BlockContent& content = contents.blocks[0];
    const auto kinds = memory.tensors.state_kinds;
    const auto num_kinds = static_cast<std::int32_t>(kinds.size());
    const std::int32_t state = test::draw(0, memory.layout.num_states() - 1);
    const StateGeometry geometry = memory.layout.geometry(state);
    RC_PRE(geometry.group_index == content.group_index &&
           kinds[static_cast<std::size_t>(state % num_kinds)] == content.kind);
    const auto kind = static_cast<std::size_t>(state % num_kinds);
    const std::int64_t byte =
        memory.layer_buffers[static_cast<std::size_t>(state / num_kinds)] * memory.buffer_bytes() +
        content.block * memory.page_size_bytes + memory.state_offsets[kind];
    backend->bytes()[static_cast<std::size_t>(byte)] ^= std::byte{0x10};
    const auto mismatches = backend->verify(contents).value();
    RC_ASSERT(mismatches.size() == 1U);
    RC_ASSERT(mismatches[0].state_index == state);
    RC_ASSERT(mismatches[0].element == 0);
    RC_ASSERT((mismatches[0].expected ^ mismatches[0].seen) == 0x10U);
  });
}

}  // namespace
}  // namespace hybridscope::cpu_state_backend_test
