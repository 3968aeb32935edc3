#include "sessions/run/run_notes.h"

#include <fmt/core.h>

namespace hybridscope {

std::string fresh_arrays_words(std::int64_t step) {
  return fmt::format(
      "from step {} on states were computed from the arrays of each step, not from the stale ones "
      "that the replayed graph reads: run --state numeric shows what those do",
      step);
}

}  // namespace hybridscope
