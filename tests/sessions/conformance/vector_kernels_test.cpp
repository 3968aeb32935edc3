// Vectors recomputed with kernels that decide for themselves, as those of a device do. Here they
// are functions of the host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/conformance/vector_states.h"
#include "tests/sessions/conformance/golden_on_device.h"
#include "tests/support/golden.h"

namespace hybridscope::vector_kernels_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Makes the copies that follow from the decisions.
Status carry_out(const HostStates& states, std::span<const StateCopyDecision> decisions) {
  std::vector<MambaBlockTable> tables;
  for (std::size_t i = 0; i < states.block_tables.size(); ++i)
    tables.push_back({.group = states.layout.mamba_group_ids[i],
                      .ids = states.block_tables[i],
                      .num_blocks_per_row = {}});
  const auto copies = plan_fused_copies(states.layout, launch_of(decisions, tables));
  if (!copies) return copies.error();
  return execute_copies(without_rows(copies.value()), states.bytes);
}

VectorKernels kernels_that_decide() {
  return {
      .on_device = true,
      .execute_copies = &execute_copies,
      .fused_postprocess = [](const HostStates& states, const PostprocessV1Inputs& inputs,
                              std::span<std::int32_t> counts) -> Status {
        std::vector<StateCopyDecision> decisions;
        if (Status status = run_fused_postprocess(inputs, counts, decisions); !status)
          return status;
        return carry_out(states, decisions);
      },
      .fused_postprocess_align = [](const HostStates& states, const PostprocessV2Inputs& inputs,
                                    std::span<std::int32_t> counts) -> Status {
        std::vector<StateCopyDecision> decisions;
        if (Status status = run_fused_postprocess_align(inputs, counts, decisions); !status)
          return status;
        return carry_out(states, decisions);
      },
      .advance_and_precopy = [](const HostStates& states, const AlignAdvanceInputs& inputs,
                                std::span<const std::int32_t> rows, AlignSlots& slots) -> Status {
        std::vector<StateCopyDecision> decisions;
        if (Status status = preprocess_mamba_align(inputs, slots, decisions); !status)
          return status;
        if (Status status = run_fused_precopy(rows, slots, decisions); !status) return status;
        return carry_out(states, decisions);
      },
      .gather_block_table =
          [](const BlockTableGatherInput& input) -> Result<std::vector<std::int32_t>> {
        const auto width = static_cast<std::size_t>(input.config.num_speculative_blocks) + 1;
        std::vector<std::int32_t> storage((width + 1) * input.seq_lens.size());
        const auto tensor = mamba_get_block_table_tensor(input, storage);
        if (!tensor) return tensor.error();
        storage.resize(static_cast<std::size_t>(tensor.value().size()));
        return storage;
      }};
}

FileReport check(const std::string& kind, const VectorKernels& kernels) {
  return check_vector_file(test::golden_path(kind), {.kernels = kernels});
}

class GoldenOnKernels : public testing::TestWithParam<test::GoldenOnDevice> {};
INSTANTIATE_TEST_SUITE_P(Kinds, GoldenOnKernels, testing::ValuesIn(test::golden_on_device()),
                         [](const auto& file) { return file.param.kind; });

TEST_P(GoldenOnKernels, WhatWasLaunchedAgreesAndTheRestIsNotRun) {
  const FileReport report = check(GetParam().kind, kernels_that_decide());
  EXPECT_EQ(report.cases, GetParam().run);
  EXPECT_EQ(report.passed, GetParam().run);
  EXPECT_EQ(report.not_run, GetParam().not_run);
  EXPECT_THAT(report.invalid, IsEmpty());
}

class NumericOnKernels : public testing::TestWithParam<test::GoldenOnDevice> {};
INSTANTIATE_TEST_SUITE_P(Kinds, NumericOnKernels,
                         testing::ValuesIn(test::numeric_golden_on_device()),
                         [](const auto& file) { return file.param.kind; });

TEST_P(NumericOnKernels, EveryCaseLaunchesAKernelAndAgrees) {
  const FileReport report = check("numeric/" + GetParam().kind, kernels_that_decide());
  EXPECT_EQ(report.passed, GetParam().run);
  EXPECT_EQ(report.not_run, 0);
  EXPECT_THAT(report.failed, IsEmpty());
}

TEST(VectorKernels, TheTableNamesTheKindsThatHaveKernels) {
  std::vector<std::string> names;
  for (const VectorKind& kind : vector_kinds())
    if (!kind.on_device.empty() && kind.numeric_op == nullptr) names.emplace_back(kind.name);
  EXPECT_THAT(names, testing::ElementsAre("block_table_gather", "preprocess_align",
                                          "postprocess_align", "precopy_align", "pipeline"));
}

TEST(VectorKernels, AKindWithoutAKernelIsNotRunOnADevice) {
  const FileReport report = check("fla_chunks", kernels_that_decide());
  EXPECT_EQ(report.cases, 0);
  EXPECT_EQ(report.passed, 0);
  EXPECT_EQ(report.not_run, 300);
}

TEST(VectorKernels, OnTheHostEveryCaseIsRun) {
  const FileReport report = check("block_table_gather", {.execute_copies = &execute_copies});
  EXPECT_EQ(report.passed, 400);
  EXPECT_EQ(report.not_run, 0);
}

// Where the first of a few cases differs when these kernels run it.
std::string first_failure(const std::string& kind, const VectorKernels& kernels) {
  const FileReport report =
      check_vector_file(test::golden_path(kind), {.filter = "_10", .kernels = kernels});
  return report.failed.empty() ? "nowhere" : report.failed.front().difference.pointer;
}

// Each kernel does nothing in turn: what it should have left is missed.
TEST(VectorKernels, TheAnswerIsWhatTheKernelsLeft) {
  VectorKernels kernels = kernels_that_decide();
  kernels.execute_copies = [](auto, auto) { return Ok{}; };
  EXPECT_THAT(first_failure("preprocess_align", kernels), HasSubstr("crc32"));
  EXPECT_EQ(first_failure("pipeline", kernels), "/final_state_crc32/0/0");

  kernels = kernels_that_decide();
  kernels.fused_postprocess = [](const auto&, const auto&, auto) { return Ok{}; };
  EXPECT_EQ(first_failure("postprocess_align", kernels), "/num_accepted_out/0");
  EXPECT_EQ(first_failure("pipeline", kernels), "/final_state_crc32/0/0");

  kernels = kernels_that_decide();
  kernels.fused_postprocess_align = [](const auto&, const auto&, auto) { return Ok{}; };
  EXPECT_EQ(first_failure("precopy_align", kernels), "/final_state_crc32/0/0");

  kernels = kernels_that_decide();
  kernels.advance_and_precopy = [](const auto&, const auto&, auto, auto&) { return Ok{}; };
  EXPECT_EQ(first_failure("precopy_align", kernels), "/final_state_crc32/0/0");
  // The copies are right, the slots stay: the next step contradicts the vector.
  kernels.advance_and_precopy = [](const HostStates& states, const AlignAdvanceInputs& inputs,
                                   std::span<const std::int32_t> rows, const AlignSlots& slots) {
    AlignSlots left = slots;
    return kernels_that_decide().advance_and_precopy(states, inputs, rows, left);
  };
  const FileReport stale = check("precopy_align", kernels);
  EXPECT_GT(stale.failed.size() + stale.invalid.size(), 0U);

  kernels = kernels_that_decide();
  kernels.gather_block_table =
      [](const BlockTableGatherInput& input) -> Result<std::vector<std::int32_t>> {
    const auto width = static_cast<std::size_t>(input.config.num_speculative_blocks) + 1;
    return std::vector<std::int32_t>(width * input.seq_lens.size(), -7);
  };
  EXPECT_EQ(first_failure("block_table_gather", kernels), "/data/0/0");
}

TEST(VectorKernels, ADeviceThatIsLostEndsTheFile) {
  int launches = 0;
  VectorKernels kernels = kernels_that_decide();
  kernels.fused_postprocess_align = [&launches](const HostStates& states,
                                                const PostprocessV2Inputs& inputs,
                                                std::span<std::int32_t> counts) -> Status {
    if (++launches > 3) return Error{ErrorKind::device, "CUDA device 0: lost"};
    return kernels_that_decide().fused_postprocess_align(states, inputs, counts);
  };
  const FileReport report = check("postprocess_align", kernels);
  ASSERT_TRUE(report.kernel_error);
  EXPECT_EQ(report.kernel_error->message, "CUDA device 0: lost");
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(report.passed, report.cases);
  EXPECT_LT(report.cases + report.not_run, 300);
}

// Not the device's fault: that case alone differs.
TEST(VectorKernels, AnInputThatAKernelDoesNotTakeIsADifference) {
  VectorKernels kernels = kernels_that_decide();
  kernels.gather_block_table = [](const BlockTableGatherInput&) {
    return Result<std::vector<std::int32_t>>(invalid_input("too wide"));
  };
  const FileReport report = check("block_table_gather", kernels);
  EXPECT_FALSE(report.kernel_error);
  ASSERT_THAT(report.failed, SizeIs(report.cases));
  EXPECT_EQ(report.failed.front().difference.got, "internal error: too wide");
}

using nlohmann::json;

// One buffer of 64 bytes with a temporal state of 4 blocks of 8 bytes, 16 bytes apart.
json config_json() {
  return json::parse(R"({"layout": "SD", "block_size": 4, "mamba_groups": [[1, ["a"]]],
    "memory": {"raw_bytes": [64], "pattern_seed": 3, "state_kinds": ["temporal"],
      "layers": [{"group_id": 1, "layer": "a", "states": [
        {"raw": 0, "byte_offset": 0, "dtype": "float32", "elem_size": 4,
         "shape": [4, 2], "stride": [4, 1]}]}]}})");
}

VectorMemory memory_of(const json& config) {
  const json document = {{"config", config}};
  const JsonValue value = JsonValue(document)["config"];
  return VectorMemory(value, read_mamba_state_tensors(value));
}

void expect_refused(const json& config, const std::string& pointer, const std::string& message) {
  try {
    memory_of(config);
    ADD_FAILURE() << "accepted";
  } catch (const JsonFault& error) {
    EXPECT_EQ(error.pointer(), pointer);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(VectorMemory, StartsWithThePatternOfTheFormat) {
  json config = config_json();
  config["memory"]["raw_bytes"] = {2};
  config["memory"]["layers"] = json::array();
  // Bytes 3 and 3 + 131 of buffer 0; zlib.crc32(bytes([3, 134])).
  EXPECT_EQ(memory_of(config).raw_crc32(), json::array({1848600361u}));
}

TEST(VectorMemory, AStatesChecksumLeavesThePaddingOut) {
  const json config = config_json();
  VectorMemory memory = memory_of(config);
  const json before = memory.state_crc32();
  // Bytes 8..15 of every block are padding.
  const StateCopy padding{.src_byte_offset = 0, .dst_byte_offset = 8, .row_bytes = 8};
  memory.execute({&padding, 1}, {.execute_copies = &execute_copies});
  EXPECT_EQ(memory.state_crc32(), before);
  const StateCopy block{.src_byte_offset = 16, .dst_byte_offset = 0, .row_bytes = 8};
  memory.execute({&block, 1}, {.execute_copies = &execute_copies});
  EXPECT_NE(memory.state_crc32(), before);
}

TEST(VectorMemory, RefusesACopyThatLeavesTheBuffer) {
  const json config = config_json();
  VectorMemory memory = memory_of(config);
  for (const StateCopy& copy :
       {StateCopy{.src_byte_offset = 60, .dst_byte_offset = 0, .row_bytes = 8},
        StateCopy{.src_byte_offset = 0, .dst_byte_offset = -8, .row_bytes = 8},
        StateCopy{.num_rows = 3, .dst_byte_offset = 32, .row_bytes = 8, .row_stride_bytes = 16}})
    EXPECT_THROW(memory.execute({&copy, 1}, {.execute_copies = &execute_copies}), JsonFault);
}

TEST(VectorMemory, RefusesAStateThatLeavesItsBuffer) {
  json config = config_json();
  config["memory"]["raw_bytes"] = {55};
  expect_refused(config, "/config/memory/layers/0/states/0", "56 bytes");
}

TEST(VectorMemory, RefusesABufferThatIsNotThere) {
  json config = config_json();
  config["memory"]["layers"][0]["states"][0]["raw"] = 1;
  expect_refused(config, "/config/memory/layers/0/states/0/raw", "from 0 to 0");
}

TEST(VectorMemory, RefusesSizesBeyondATestVector) {
  json config = config_json();
  config["memory"]["raw_bytes"] = {std::int64_t{1} << 40};
  expect_refused(config, "/config/memory/raw_bytes/0", "integer");
}

TEST(VectorStates, RefuseALayerInNoMambaGroup) {
  json config = config_json();
  config["memory"]["layers"][0]["group_id"] = 0;
  expect_refused(config, "/config/memory/layers/0/group_id", "mamba_groups");
}

TEST(VectorStates, RefuseALayerWithoutOneTensorAStateKind) {
  json config = config_json();
  config["memory"]["state_kinds"] = {"temporal", "temporal"};
  expect_refused(config, "/config/memory/layers/0/states", "1 states for 2 state_kinds");
}

TEST(VectorStates, RefuseStridesThatNoMemoryHas) {
  json config = config_json();
  config["memory"]["layers"][0]["states"][0]["shape"] = {1 << 28, 1 << 28, 1 << 28};
  config["memory"]["layers"][0]["states"][0]["stride"] = {1, 1, 1};
  expect_refused(config, "/config/memory/layers/0/states/0/shape", "larger than any memory");
}

const std::vector<std::int32_t> kBlockIds{4, 2, 7};

// 9 blocks of [4 positions, dim 3] in pages of 16 elements, 2 bytes each.
const StateTensor kConv{.shape = {9, 4, 3}, .stride = {16, 3, 1}, .elem_size = 2};
// 9 blocks of [2, 5] in pages of 16 elements, 4 bytes each.
const StateTensor kTemporal{.shape = {9, 2, 5}, .stride = {16, 5, 1}, .elem_size = 4};

CopySpec spec(std::int64_t start, std::int64_t elements, std::int64_t bytes) {
  return {.start_byte_offset = start, .num_elements = elements, .copy_bytes = bytes};
}

TEST(ConvCopySpec, TheSliceStartsAtTheAcceptedPosition) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 1, 3}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), spec(2 * 32 + 2 * 6, 6, 12));
}

TEST(ConvCopySpec, ASliceBehindTheWindowIsEmptyAndHasNoAddress) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 0, 5}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), CopySpec{});
}

TEST(ConvCopySpec, ANegativeStartCountsFromTheEndOfTheWindow) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 0, 0}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), spec(4 * 32 + 3 * 6, 3, 6));
}

TEST(ConvCopySpec, DimFirstCopiesTheWholeBlockOrNothing) {
  const auto whole = get_conv_copy_spec(kConv, {kBlockIds, 2, 1}, ConvStateLayout::DS);
  EXPECT_EQ(whole.value(), spec(7 * 32, 12, 24));
  EXPECT_FALSE(get_conv_copy_spec(kConv, {kBlockIds, 2, 2}, ConvStateLayout::DS).ok());
}

TEST(TemporalCopySpec, TheAcceptedCountSelectsTheColumn) {
  const auto got = get_temporal_copy_spec(kTemporal, {kBlockIds, 0, 3});
  EXPECT_EQ(got.value(), spec(7 * 64, 10, 40));
}

TEST(CopySpec, NegativeColumnsCountFromTheEnd) {
  EXPECT_EQ(get_temporal_copy_spec(kTemporal, {kBlockIds, -1, 1}).value(), spec(7 * 64, 10, 40));
  EXPECT_FALSE(get_temporal_copy_spec(kTemporal, {kBlockIds, -4, 1}).ok());
}

TEST(CopySpec, AColumnBehindTheRowIsAnError) {
  const auto got = get_temporal_copy_spec(kTemporal, {kBlockIds, 1, 3});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "column 3 is outside a row of 3 block ids");
}

TEST(CopySpec, ABlockOutsideTheStateIsAnError) {
  const std::vector<std::int32_t> block_ids{9};
  EXPECT_FALSE(get_conv_copy_spec(kConv, {block_ids, 0, 1}, ConvStateLayout::SD).ok());
  EXPECT_FALSE(get_temporal_copy_spec(kTemporal, {block_ids, 0, 1}).ok());
}

}  // namespace

}  // namespace hybridscope::vector_kernels_test
