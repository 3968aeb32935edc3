// What a start plans before its first step, as the log says it: block size, groups, blocks, KV
// tokens, concurrency, or why it is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/startup/cache_groups.h"
#include "sessions/startup/cached_layers.h"
#include "sessions/startup/layer_spec.h"
#include "sessions/startup/startup_settings.h"

namespace hybridscope {

// Where a start is refused, in the order in which vLLM finds out.
enum class RefusalStage : std::uint8_t { none, block_size, memory, validate_block_size, graphs };

std::string_view refusal_stage_name(RefusalStage stage);  // "" of none

struct StartupPlan {
  StartupConfig config = {};
  SpecifiedModel layers = {};
  StartupGroups groups = {};
  std::int64_t blocks_per_request = 0;  // at max_model_len, in all groups
  std::int64_t longest_length = 0;      // refused for memory: of a request that fits; 0: none
  std::int64_t num_blocks = 0;          // the null block included
  std::int64_t kv_tokens = 0;
  double concurrency = 0;
  std::vector<std::string> lines = {};  // logged, in order
  RefusalStage refused_at = RefusalStage::none;
  std::string refusal = {};  // vLLM's exception: "ValueError: ..."
};

// Never fails: what is refused is a plan, too.
StartupPlan plan_startup(const StartupModel& model, const StartupSettings& settings);

}  // namespace hybridscope
