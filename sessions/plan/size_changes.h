// Which single setting would change the sizes, and by how much: each is tried.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "sessions/plan/size_answer.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// One setting with another value, and the sizes with it.
struct SizeChange {
  std::string setting = {};  // path in the settings table
  std::string value = {};    // as a command line writes it
  EngineSettings settings = {};
  std::int64_t requests = 0;  // that run together
  std::int64_t by_blocks = 0;
  std::int64_t block_size = 0;                       // tokens
  std::optional<std::int32_t> smallest_prefix = {};  // tokens
};

// Changes after which more requests run together or a shorter prefix can hit, in the order in which
// they were tried: max_num_seqs, the memory for one request more, dtypes, cache mode, drafts,
// tensor parallelism. A change that the model or the release does not allow is left out.
std::vector<SizeChange> useful_changes(const ModelSpec& model, const EngineSettings& settings,
                                       const SizeAnswer& answer);

}  // namespace hybridscope
