// Single changes of a trace, each of which a rule must notice.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/core/check/planted.h"

namespace hybridscope::test {

struct TraceMutation {
  std::string name;             // of the changed number, the same for all its places
  std::function<void()> plant;  // changes one of the places
};

// Every change that is possible in the trace; changed arrays move to `arrays`.
std::vector<TraceMutation> trace_mutations(StepTrace& trace, OwnedArrays& arrays,
                                           std::mt19937_64& random);

}  // namespace hybridscope::test
