// Single changes of a trace, each of which some rule has to notice.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/core/check/planted.h"

namespace hybridscope::test {

struct TraceMutation {
  std::string name;             // which number of the trace, for all its places
  std::function<void()> plant;  // changes one of the places
};

// Every change that the trace has room for; arrays that are changed move to `arrays`.
std::vector<TraceMutation> trace_mutations(StepTrace& trace, OwnedArrays& arrays,
                                           std::mt19937_64& random);

}  // namespace hybridscope::test
