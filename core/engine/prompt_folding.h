// Prompts folded to fingerprints outside an engine, for callers that run many engines on the same
// requests.
#pragma once

#include <compare>
#include <cstdint>

#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/engine/prefix_fingerprints.h"

namespace hybridscope {

// How an engine with this configuration folds prompts: it is equal for two configurations whose
// fold_prompt is.
struct PromptFolding {
  std::int32_t hash_block_size = 1;
  std::int32_t num_before_boundary = 0;
  std::int32_t num_lookahead_tokens = 0;
  std::uint64_t seed = 0;  // of generated tokens in prompts
  friend auto operator<=>(const PromptFolding&, const PromptFolding&) = default;
};
PromptFolding prompt_folding(const EngineConfig& config);
// The fingerprints that such an engine keeps of the request's prompt when it joins.
PrefixFingerprints fold_prompt(const PromptFolding& folding, const AddRequest& request);
// Fingerprints as above, of a prompt that is a sequence already.
PrefixFingerprints fold_prompt(const PromptFolding& folding, std::uint64_t cache_salt,
                               const TokenSequence& prompt);

}  // namespace hybridscope
