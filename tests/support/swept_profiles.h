// Profiles for sweeps over everything that ships: those between which most rules change.
// HYBRIDSCOPE_TIMES=2, which nightly tests set, sweeps them all.
#pragma once

#include <vector>

#include "sessions/scenario/engine_profile.h"
#include "tests/support/property.h"

namespace hybridscope::test {

inline std::vector<EngineProfile> swept_profiles() {
  if (num_cases(1) > 1) return named_profiles();
  return {EngineProfile::safe, EngineProfile::reference, EngineProfile::vllm(Release::v0_33_0)};
}

}  // namespace hybridscope::test
