// Bytes that something else changed. One attention and one mamba group, W = 4, blocks of 8 tokens:
// layer 1's states are a conv window of 3 positions with 8 channels and a recurrent state of 32
// elements.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/run/step_judge.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_bytes_test {
namespace {

constexpr std::int32_t kConv = 0;
constexpr std::int32_t kTemporal = 1;

std::unique_ptr<CpuStateBackend> backend_of(const EngineConfig& config) {
  return CpuStateBackend::create(make_state_memory(config.kv_cache_config, {}).value()).value();
}

class PlantedBytes : public ::testing::Test {
 protected:
  explicit PlantedBytes(CheckScope scope = CheckScope::all)
      : backend_(backend_of(config_)), run_(scope, config_) {
    run_.keep_state_in(*backend_);
    run_.add(request_of(6, 8, 1));
  }
  // Where an element of the only layer begins; little endian.
  std::byte& first_byte(std::int32_t state, std::int32_t block, std::int64_t i) {
    const StateMemory& memory = backend_->memory();
    const auto kind = static_cast<std::size_t>(state);
    return backend_->bytes()[static_cast<std::size_t>(block * memory.page_size_bytes +
                                                      memory.state_offsets[kind] +
                                                      i * memory.layout.state_elem_sizes[kind])];
  }
  void change(std::int32_t state, std::int32_t block, std::int64_t i) {
    first_byte(state, block, i) ^= std::byte{1};
  }

  EngineConfig config_ = engine_config({});
  std::unique_ptr<CpuStateBackend> backend_;
  PlantedRun run_;
};

class PlantedBytesOfTheStep : public PlantedBytes {
 protected:
  PlantedBytesOfTheStep() : PlantedBytes(CheckScope::step) {}
};

// Request A's state is in block 2. Its prefill left the state of 6 tokens there.
TEST_F(PlantedBytes, ChangedElementOfATemporalState) {
  run_.steps(1);
  EXPECT_TRUE(nothing_found(run_.findings()));
  std::uint32_t right = 0;
  std::memcpy(&right, &first_byte(kTemporal, 2, 17), sizeof(right));
  change(kTemporal, 2, 17);
  run_.add(request_of(8, 1, 2)).apply(SetStepBudget{0}).steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .request = 0,
                                            .row = -1,
                                            .group = 1,
                                            .content = ContentKind::temporal,
                                            .block = 2,
                                            .expected = right,
                                            .seen = right ^ 1u,
                                            .detail = "not written in this step",
                                            .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6},
                                            .layer = 1,
                                            .state = kTemporal,
                                            .element = 17}}));
}

// Element 0 is part of the fingerprint: what the next step folds is wrong in every element.
TEST_F(PlantedBytesOfTheStep, ChangedFingerprintIsFoldedOn) {
  run_.steps(1);
  change(kTemporal, 2, 0);
  run_.steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .content = ContentKind::temporal,
                                            .block = 2,
                                            .detail = "written in this step",
                                            .cause = ExpectedCause{WriteKind::decode, 2, 0, 7},
                                            .element = 0}}));
}

// Position 2, channel 5. The next step shifts it to position 1.
TEST_F(PlantedBytesOfTheStep, ChangedConvPositionMovesWithItsWindow) {
  run_.steps(1);
  change(kConv, 2, 21);
  run_.steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .content = ContentKind::conv,
                                            .block = 2,
                                            .layer = 1,
                                            .state = kConv,
                                            .element = 13}}));
}

TEST_F(PlantedBytes, BlockThatNobodyWroteHoldsPoison) {
  change(kTemporal, 40, 3);
  run_.steps(1);
  EXPECT_TRUE(found_only(
      run_.findings(),
      {{.rule = Rule::state_bytes_wrong,
        .request = -1,
        .group = 1,
        .block = 40,
        .expected = 0xDEADDEAD,
        .seen = 0xDEADDEAC,
        .cause = ExpectedCause{.kind = WriteKind::never, .step = 0, .request = -1, .num_tokens = 0},
        .element = 3}}));
}

TEST_F(PlantedBytesOfTheStep, LooksOnlyAtWhatTheStepWrote) {
  change(kTemporal, 40, 3);
  run_.finish();
  EXPECT_TRUE(nothing_found(run_.findings()));
}

TEST(StateMirror, RefusesConvWindowsWithoutRoomForDrafts) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  std::get<MambaSpec>(config.kv_cache_config.groups[1].spec).states[0].shape = {3, 8};
  const auto backend = backend_of(config);
  const auto mirror = StateMirror::create(make_check_config(config), *backend);
  ASSERT_FALSE(mirror.ok());
  EXPECT_EQ(mirror.error().message,
            "conv windows have 3 positions, expected 5: a verify row would write past them (known "
            "bug conv-state-not-sized-for-spec)");
}

TEST(StateMirror, RefusesAMemoryOfAnotherModel) {
  const EngineConfig config = engine_config({});
  const auto backend = backend_of(config);
  CheckConfig larger = make_check_config(config);
  larger.kv_cache_config.num_blocks = 65;
  EXPECT_EQ(StateMirror::create(larger, *backend).error().message,
            "the memory has 64 blocks, expected 65");
  CheckConfig more_groups = make_check_config(config);
  more_groups.kv_cache_config.groups.push_back(more_groups.kv_cache_config.groups[1]);
  EXPECT_EQ(StateMirror::create(more_groups, *backend).error().message,
            "the memory and the checker have different KV cache groups");
}

}  // namespace
}  // namespace hybridscope::test::planted_bytes_test
