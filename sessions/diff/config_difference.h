// How two engines differ before their first step, and whether their steps can be compared.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine_config.h"

namespace hybridscope {

struct ConfigDifference {
  std::string setting;  // path in the table of settings: "policies/aligned_split"
  std::string a;
  std::string b;
};

// In the order of the settings table, then the KV cache groups. A single entry "engine" replaces
// the policies when either side has all policies of a profile.
std::vector<ConfigDifference> compare_configs(const EngineConfig& a, const EngineConfig& b);

// Why the steps of the two engines cannot be compared, one sentence per reason; empty: they can.
std::vector<std::string> reasons_against_steps(const EngineConfig& a, const EngineConfig& b);

}  // namespace hybridscope
