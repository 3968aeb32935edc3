#include "core/metadata/mamba_builder_config.h"

#include <string>

namespace hybridscope {
namespace {

struct Setting {
  const char* name;
  std::int32_t value;
  std::int32_t least;
};

}  // namespace

Status check_config(const MambaBuilderConfig& config) {
  const Setting settings[] = {
      {"block_size", config.block_size, 1},
      {"num_spec", config.num_spec, 0},
      {"num_speculative_blocks", config.num_speculative_blocks, 0},
      {"max_num_seqs", config.max_num_seqs, 0},
      {"max_model_len", config.max_model_len, 0},
      {"max_cudagraph_capture_size", config.max_cudagraph_capture_size.value_or(0), 0},
      {"decode_context_parallel_size", config.decode_context_parallel_size, 1},
      {"prefill_checkpoint_alignment", config.checkpoint.alignment, 0},
      {"hash_block_size", config.checkpoint.hash_block_size, 1},
      {"hit_alignment", config.checkpoint.hit_alignment, 1},
      {"num_hash_lookahead_tokens", config.checkpoint.replay.num_hash_lookahead_tokens, 0}};
  for (const Setting& setting : settings)
    if (setting.value < setting.least)
      return invalid_input(std::string(setting.name) + " is " + std::to_string(setting.value) +
                           " (expected at least " + std::to_string(setting.least) + ")");
  return Ok{};
}

}  // namespace hybridscope
