#include "tests/cli/suite_scenarios.h"

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test {
namespace {

nlohmann::ordered_json small_scenario(const std::string& name) {
  return nlohmann::ordered_json::parse(R"({
    "version": 1, "name": ")" + name + R"(", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 3}]})");
}

}  // namespace

std::string fine_scenario(const std::string& name) { return small_scenario(name).dump(1); }

std::string faulty_scenario(const std::string& name) {
  auto scenario = nlohmann::ordered_json::parse(
      read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/starved_request.json"));
  scenario["name"] = name;
  scenario["settings"]["policies"]["accepted_count_owner"] = "persistent_row";
  return scenario.dump(1);
}

std::string unmet_scenario(const std::string& name) {
  auto scenario = small_scenario(name);
  scenario["expect"]["steps"] = 99;
  return scenario.dump(1);
}

}  // namespace hybridscope::test
