// How many cases of the vector files that have kernels launch one (`run`), and how many do not: an
// answer that is an error before any launch, a step without copies, a mode without a gather.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hybridscope::test {

struct GoldenOnDevice {
  std::string kind;
  std::int64_t run = 0;
  std::int64_t not_run = 0;
};

inline std::vector<GoldenOnDevice> golden_on_device() {
  return {{"block_table_gather", 212, 188},
          {"preprocess_align", 184, 16},
          {"postprocess_align", 300, 0},
          {"precopy_align", 193, 7},
          {"pipeline", 109, 1}};
}

}  // namespace hybridscope::test
