// The golden vectors of align postprocess, decided and copied by the fused kernel itself: the bytes
// and counts that the reference's kernel left.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_buffer.cuh"
#include "kernels/cuda/fused_align.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_states.h"
#include "tests/kernels/cuda/golden_folder.h"

namespace hybridscope {
namespace {

// By flat state index.
using States = std::span<const std::span<std::byte>>;
using Array = DeviceBuffer<std::int32_t>;

void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

Array on_device(const std::vector<std::int32_t>& values) {
  return Array::create(std::span<const std::int32_t>(values)).value();
}

std::vector<std::int32_t> on_host(const Array& values) {
  std::vector<std::int32_t> result(values.size());
  must(cuda_status(
      cudaMemcpy(result.data(), values.data(), 4 * values.size(), cudaMemcpyDeviceToHost),
      std::string("download of the counts")));
  return result;
}

// Host memory that states lie in, and its copy on the device. States of one page overlap.
struct Region {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  DeviceBuffer<std::byte> device = {};
};

std::vector<Region> upload(States states) {
  std::vector<Region> regions;
  for (const std::span<std::byte> state : states)
    regions.push_back({.begin = state.data(), .end = state.data() + state.size()});
  std::ranges::sort(regions, {}, &Region::begin);
  std::vector<Region> merged;
  for (Region& region : regions) {
    if (!merged.empty() && region.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, region.end);
    else
      merged.push_back(std::move(region));
  }
  for (Region& region : merged)
    region.device =
        DeviceBuffer<std::byte>::create(std::span<const std::byte>(region.begin, region.end))
            .value();
  return merged;
}

std::vector<std::uintptr_t> addresses_of(States states, const std::vector<Region>& regions) {
  std::vector<std::uintptr_t> addresses;
  for (const std::span<std::byte> state : states)
    for (const Region& region : regions)
      if (state.data() >= region.begin && state.data() < region.end)
        addresses.push_back(reinterpret_cast<std::uintptr_t>(region.device.data()) +
                            static_cast<std::uintptr_t>(state.data() - region.begin));
  return addresses;
}

// The case that is being checked: what its launch reads, and the counts that it left.
struct Current {
  const VectorCase* vector = nullptr;
  std::vector<std::int32_t> counts = {};
};
Current current;

std::vector<std::int32_t> launch_v1(const FusedAlign& fused, const VectorCase& vector,
                                    DeviceBlockTables tables) {
  const std::int32_t max_num_reqs = read_max_num_reqs(vector.config);
  const VectorValue& input = vector.input;
  const Array accepted = on_device(read_counts(input["num_accepted_tokens"], max_num_reqs));
  const Array column = on_device(read_counts(input["mamba_state_idx"], max_num_reqs));
  const Array scheduled = on_device(read_counts(input["num_scheduled_tokens"], max_num_reqs));
  const Array computed = on_device(read_counts(input["num_computed_tokens"], max_num_reqs));
  const Array drafts = on_device(read_counts(input["num_draft_tokens"], max_num_reqs));
  const Array out = on_device(std::vector<std::int32_t>(static_cast<std::size_t>(max_num_reqs), 0));
  must(fused.postprocess({.num_reqs = input["num_reqs"].int32(),
                          .num_accepted_tokens = accepted.data(),
                          .mamba_state_idx = column.data(),
                          .num_scheduled_tokens = scheduled.data(),
                          .num_computed_tokens = computed.data(),
                          .num_draft_tokens = drafts.data(),
                          .block_tables = tables,
                          .num_accepted_tokens_out = out.data()},
                         nullptr));
  return on_host(out);
}

std::vector<std::int32_t> launch_v2(const FusedAlign& fused, const VectorCase& vector,
                                    DeviceBlockTables tables) {
  const VectorValue& input = vector.input;
  const std::vector<std::int32_t> counts = read_counts(input["num_accepted_tokens"]);
  const Array idx_mapping = on_device(read_counts(input["idx_mapping"]));
  const Array accepted = on_device(counts);
  const Array column = on_device(read_counts(input["mamba_state_idx"]));
  const Array computed = on_device(read_counts(input["new_num_computed_tokens"]));
  const Array out = on_device(std::vector<std::int32_t>(counts.size(), 77));
  must(fused.postprocess_align({.num_reqs = input["num_reqs"].int32(),
                                .num_slots = static_cast<std::int32_t>(counts.size()),
                                .idx_mapping = idx_mapping.data(),
                                .num_accepted_tokens = accepted.data(),
                                .state_idx = column.data(),
                                .new_num_computed_tokens = computed.data(),
                                .block_tables = tables,
                                .num_accepted_tokens_out = out.data()},
                               nullptr));
  return on_host(out);
}

// In place of executing the copies that the host has planned.
void launch_fused(std::span<const StateCopy>, States states) {
  const VectorCase& vector = *current.vector;
  const VectorBlockTables tables(vector.input["block_tables"]);
  std::vector<Array> device_tables;
  std::vector<const std::int32_t*> pointers;
  for (const TensorView<std::int32_t>& table : tables.views())
    device_tables.push_back(on_device({table.data, table.data + table.size()}));
  for (const Array& table : device_tables) pointers.push_back(table.data());
  std::vector<Region> regions = upload(states);
  const StateLayout layout =
      make_state_layout(read_mamba_state_tensors(vector.config), tables.row_strides()).value();
  const FusedAlign fused = FusedAlign::create(layout, addresses_of(states, regions)).value();
  current.counts = vector.config["form"].one_of({"V1", "V2"}) == 0
                       ? launch_v1(fused, vector, pointers)
                       : launch_v2(fused, vector, pointers);
  for (const Region& region : regions)
    must(cuda_status(
        cudaMemcpy(region.begin, region.device.data(),
                   static_cast<std::size_t>(region.end - region.begin), cudaMemcpyDeviceToHost),
        std::string("download of the states")));
}

TEST(GoldenFusedCuda, PostprocessLeavesTheBytesAndCountsOfTheReference) {
  if (const auto description = describe_cuda(); !description)
    GTEST_SKIP() << description.error().message;
  const std::string path = test::golden_folder() + "/postprocess_align.jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path;
  const VectorKind* kind = recognise_by_name(path);
  ASSERT_NE(kind, nullptr);
  int launched = 0;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json vector = nlohmann::json::parse(line);
    const VectorCase opened = open_vector(*kind, vector);
    current = {.vector = &opened};
    const auto difference = check_vector(*kind, vector, &launch_fused);
    EXPECT_FALSE(difference.has_value())
        << vector["id"] << " " << difference->pointer << ": expected " << difference->expected
        << ", got " << difference->got;
    if (current.counts.empty()) continue;
    ++launched;
    EXPECT_EQ(nlohmann::json(current.counts), vector["output"]["num_accepted_out"]) << vector["id"];
  }
  EXPECT_GT(launched, 250);
}

}  // namespace
}  // namespace hybridscope
