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

// Of real recurrences; every case launches a kernel.
inline std::vector<GoldenOnDevice> numeric_golden_on_device() {
  return {{"arith", 15},
          {"attention", 20},
          {"conv_prefill", 30},
          {"conv_update", 30},
          {"gated_norm", 12},
          {"gdn_prefill", 20},
          {"gdn_update", 24},
          {"kda_prefill", 12},
          {"kda_update", 12},
          {"lightning_prefill", 12},
          {"lightning_update", 12},
          {"mamba1_prefill", 12},
          {"mamba1_update", 12},
          {"mamba2_prefill", 24},
          {"mamba2_update", 25},
          {"mlp", 12},
          {"norm_gated", 12},
          {"rms_norm", 16},
          {"rope", 12},
          {"short_conv", 16}};
}

}  // namespace hybridscope::test
