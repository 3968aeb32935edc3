// The golden vectors of align postprocess, decided and copied by the fused kernel itself: the bytes
// and counts that the reference's kernel left.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/fused_align.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_states.h"
#include "tests/kernels/cuda/golden_device.h"
#include "tests/support/golden.h"

namespace hybridscope::test::golden_fused_cuda_test {
namespace {

// The case that is being checked: what its launch reads, and the counts that it left.
struct Current {
  const VectorCase* vector = nullptr;
  std::vector<std::int32_t> counts = {};
};
Current current;

std::vector<std::int32_t> launch_v1(const GoldenDevice& device, const VectorCase& vector) {
  const std::int32_t max_num_reqs = read_max_num_reqs(vector.config);
  const VectorValue& input = vector.input;
  const DeviceArray accepted = on_device(read_counts(input["num_accepted_tokens"], max_num_reqs));
  const DeviceArray column = on_device(read_counts(input["mamba_state_idx"], max_num_reqs));
  const DeviceArray scheduled = on_device(read_counts(input["num_scheduled_tokens"], max_num_reqs));
  const DeviceArray computed = on_device(read_counts(input["num_computed_tokens"], max_num_reqs));
  const DeviceArray drafts = on_device(read_counts(input["num_draft_tokens"], max_num_reqs));
  const DeviceArray out =
      on_device(std::vector<std::int32_t>(static_cast<std::size_t>(max_num_reqs), 0));
  must(device.fused().postprocess({.num_reqs = input["num_reqs"].int32(),
                                   .num_accepted_tokens = accepted.data(),
                                   .mamba_state_idx = column.data(),
                                   .num_scheduled_tokens = scheduled.data(),
                                   .num_computed_tokens = computed.data(),
                                   .num_draft_tokens = drafts.data(),
                                   .block_tables = device.block_tables(),
                                   .num_accepted_tokens_out = out.data()},
                                  nullptr));
  return on_host(out);
}

std::vector<std::int32_t> launch_v2(const GoldenDevice& device, const VectorCase& vector) {
  const VectorValue& input = vector.input;
  const std::vector<std::int32_t> counts = read_counts(input["num_accepted_tokens"]);
  const DeviceArray idx_mapping = on_device(read_counts(input["idx_mapping"]));
  const DeviceArray accepted = on_device(counts);
  const DeviceArray column = on_device(read_counts(input["mamba_state_idx"]));
  const DeviceArray computed = on_device(read_counts(input["new_num_computed_tokens"]));
  const DeviceArray out = on_device(std::vector<std::int32_t>(counts.size(), 77));
  must(device.fused().postprocess_align({.num_reqs = input["num_reqs"].int32(),
                                         .num_slots = static_cast<std::int32_t>(counts.size()),
                                         .idx_mapping = idx_mapping.data(),
                                         .num_accepted_tokens = accepted.data(),
                                         .state_idx = column.data(),
                                         .new_num_computed_tokens = computed.data(),
                                         .block_tables = device.block_tables(),
                                         .num_accepted_tokens_out = out.data()},
                                        nullptr));
  return on_host(out);
}

// In place of executing the copies that the host has planned.
void launch_fused(std::span<const StateCopy>, HostStates states) {
  const VectorCase& vector = *current.vector;
  const GoldenDevice device(vector.config, vector.input["block_tables"], states);
  current.counts = vector.config["form"].one_of({"V1", "V2"}) == 0 ? launch_v1(device, vector)
                                                                   : launch_v2(device, vector);
  device.download();
}

TEST(GoldenFusedCuda, PostprocessLeavesTheBytesAndCountsOfTheReference) {
  if (const auto description = describe_cuda(); !description)
    GTEST_SKIP() << description.error().message;
  const VectorKind* kind = recognise_by_name("postprocess_align");
  ASSERT_NE(kind, nullptr);
  int launched = 0;
  for_each_case("postprocess_align", [&](const nlohmann::json& vector) {
    const VectorCase opened = open_vector(*kind, vector);
    current = {.vector = &opened};
    const auto difference = check_vector(*kind, vector, &launch_fused);
    EXPECT_FALSE(difference.has_value())
        << vector["id"] << " " << difference->pointer << ": expected " << difference->expected
        << ", got " << difference->got;
    if (current.counts.empty()) return;
    ++launched;
    EXPECT_EQ(nlohmann::json(current.counts), vector["output"]["num_accepted_out"]) << vector["id"];
  });
  EXPECT_GT(launched, 250);
}

}  // namespace
}  // namespace hybridscope::test::golden_fused_cuda_test
