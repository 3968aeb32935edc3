// What the summary of a run, its page and the window say of it in the same words.
#pragma once

#include <cstdint>
#include <string>

namespace hybridscope {

// From `step` on, the first one with a stale-persistent-array, states came from fresh arrays:
// without a language model, which runs what the replayed graph reads.
std::string fresh_arrays_words(std::int64_t step);

}  // namespace hybridscope
