// Finds where two recorded runs differ, and why.
#pragma once

#include <string>

#include "sessions/run/twin.h"

namespace hybridscope {

// The names of the runs in the sentences.
struct TwinNames {
  std::string base;
  std::string twin;
};

TwinComparison compare_twins(const TwinRun& base, const TwinRun& twin, const TwinNames& names);

}  // namespace hybridscope
