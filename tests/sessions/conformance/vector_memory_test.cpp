#include "sessions/conformance/vector_memory.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope::vector_memory_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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

}  // namespace
}  // namespace hybridscope::vector_memory_test
