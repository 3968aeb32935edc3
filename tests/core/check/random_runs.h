// Random small engines and requests.
#pragma once

#include <random>

#include "tests/core/check/planted.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

using Random = std::mt19937_64;

// 0 .. limit - 1.
std::int32_t below(Random& random, std::int32_t limit);

// Any mode, kind of layer, speculation and budget; plenty of blocks.
SmallEngine random_engine(Random& random);

// A prompt of up to 35 tokens, part of it shared with the other requests.
AddRequest random_request(Random& random);

// In seven of twelve calls a command for one of the requests or the engine.
void random_command(Random& random, PlantedRun& run);

}  // namespace hybridscope::test
