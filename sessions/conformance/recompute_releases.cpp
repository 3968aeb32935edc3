// What installed releases of vLLM decided.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/caching/mamba_manager_policies.h"
#include "core/engine/aligned_split.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/releases.h"
#include "sessions/conformance/recompute.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMaxSplitTokens = 1 << 26;

std::int32_t tokens(const JsonValue& object, std::string_view name, std::int32_t least = 0) {
  return object[name].int32({least, kMaxSplitTokens});
}

AlignedSplitSettings read_split_settings(const JsonValue& config, const PolicySet& policies) {
  const auto alignment = config.find_non_null("prefill_checkpoint_alignment");
  const std::int32_t budget = tokens(config, "max_num_scheduled_tokens");
  const std::int32_t threshold = tokens(config, "long_prefill_token_threshold");
  return {.block_size = tokens(config, "block_size", 1),
          .hash_block_size = tokens(config, "hash_block_size", 1),
          .scheduler_block_size = tokens(config, "scheduler_block_size", 1),
          .fine_grained_hits = config["fine"].boolean(),
          .use_eagle = config["eagle"].boolean(),
          .eagle_block_drop = config["eagle_drop"].boolean(),
          .num_hash_lookahead_tokens = tokens(config, "num_hash_lookahead_tokens"),
          .has_prefill_checkpoint_blocks = config["has_prefill_checkpoint_blocks"].boolean(),
          .prefill_checkpoint_alignment = alignment ? alignment->int32({1, kMaxSplitTokens}) : 0,
          .shared_prefix_checkpoint = config["shared_prefix_checkpoint"].boolean(),
          .checkpoint_start = policies.get<CheckpointStart>(),
          .max_tokens_a_step = threshold > 0 ? std::min(budget, threshold) : budget};
}

}  // namespace

nlohmann::json recompute_release_split(const VectorCase& vector, const VectorKernels&) {
  const PolicySet policies = release_policies(*vector.release, ModelRunner::v1);
  return mamba_block_aligned_split(
      policies.get<AlignedSplit>(), read_split_settings(vector.config, policies),
      {.num_computed_tokens = tokens(vector.input, "num_computed_tokens"),
       .num_prompt_tokens = tokens(vector.input, "num_prompt_tokens"),
       .num_tokens = tokens(vector.input, "num_tokens"),
       .num_new_tokens = tokens(vector.input, "num_new_tokens"),
       .num_new_local_computed_tokens = tokens(vector.input, "num_new_local_computed_tokens"),
       .shared_prefix_boundary = tokens(vector.input, "junction")});
}

}  // namespace hybridscope
