// In what two engines differ before their first step, and whether their steps can be compared.
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

// In the order of the table of settings, then the KV-cache groups. "engine" where either side has
// the policies of a profile as a whole.
std::vector<ConfigDifference> compare_configs(const EngineConfig& a, const EngineConfig& b);

// Why a step of one says nothing about the step of the other, one sentence each; empty: steps can
// be compared.
std::vector<std::string> reasons_against_steps(const EngineConfig& a, const EngineConfig& b);

}  // namespace hybridscope
