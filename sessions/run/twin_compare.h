// Where two recorded runs differ and why.
#pragma once

#include <string>

#include "sessions/run/twin.h"

namespace hybridscope {

// How the sentences call the runs.
struct TwinNames {
  std::string told;
  std::string twin;
};

TwinComparison compare_twins(const TwinRun& told, const TwinRun& twin, const TwinNames& names);

}  // namespace hybridscope
