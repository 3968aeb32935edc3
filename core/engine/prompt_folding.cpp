#include "core/engine/prompt_folding.h"

#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

// Fingerprints are kept this often when prefix caching is off and hash blocks mean nothing.
constexpr std::int32_t kFingerprintSpacing = 512;

}  // namespace

PromptFolding prompt_folding(const EngineConfig& config) {
  return {.hash_block_size =
              config.enable_prefix_caching ? config.hash_block_size : kFingerprintSpacing,
          .num_before_boundary = config.conv_kernel - 2,
          .num_lookahead_tokens = num_hash_lookahead_tokens(config),
          .seed = config.seed};
}

PrefixFingerprints fold_prompt(const PromptFolding& folding, std::uint64_t cache_salt,
                               const TokenSequence& prompt) {
  PrefixFingerprints folded(cache_salt, folding.hash_block_size, folding.num_before_boundary,
                            folding.num_lookahead_tokens);
  folded.extend_to(prompt, prompt.num_prompt_tokens());
  return folded;
}

PrefixFingerprints fold_prompt(const PromptFolding& folding, const AddRequest& request) {
  return fold_prompt(folding, request.cache_salt,
                     TokenSequence(request.prompt, folding.seed, request.key));
}

}  // namespace hybridscope
