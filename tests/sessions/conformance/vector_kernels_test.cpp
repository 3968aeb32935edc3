// Vectors recomputed with kernels that decide for themselves, as those of a device do. Here they
// are functions of the host.
#include "sessions/conformance/vector_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/conformance/vector_table.h"
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

}  // namespace
}  // namespace hybridscope::vector_kernels_test
