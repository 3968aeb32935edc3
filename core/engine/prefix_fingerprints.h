// Fingerprints F(p) of one request's prefixes: kept at hash-block boundaries, where they are the
// block hashes, for a few positions before each boundary and for the last few positions asked for;
// the rest is folded again on demand. Also whole prompts, folded once for many engines.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/engine/token_sequence.h"

namespace hybridscope {

class PrefixFingerprints {
 public:
  PrefixFingerprints() = default;
  // hash_block_size > 0, tokens. `num_before_boundary`: positions kept before each boundary; the
  // conv history of a full block needs conv_kernel - 2. `num_lookahead_tokens`: that a cache key
  // covers besides the prefix (semantics: look-ahead-hashes).
  PrefixFingerprints(std::uint64_t cache_salt, std::int32_t hash_block_size,
                     std::int32_t num_before_boundary = 0, std::int32_t num_lookahead_tokens = 0);

  // Folds every full hash block of the first num_tokens tokens; amortised O(new tokens).
  void extend_to(const TokenSequence& tokens, std::int32_t num_tokens);

  // [num_tokens / hash_block_size], element i = F((i + 1) * hash_block_size).
  std::span<const Fingerprint> block_hashes() const { return block_hashes_; }

  // What the prefix cache knows the hash blocks by: [(num_tokens - num_lookahead_tokens) /
  // hash_block_size], element i = F((i + 1) * hash_block_size + num_lookahead_tokens).
  std::span<const Fingerprint> cache_keys() const {
    return num_lookahead_tokens_ == 0 ? block_hashes() : std::span<const Fingerprint>(cache_keys_);
  }

  // F(position); folds at most one hash block of tokens, and only one token for the position after
  // the last one.
  Fingerprint at(const TokenSequence& tokens, std::int32_t position);

  // Puts a fingerprint that the caller has folded into the window of recent positions.
  void remember(std::int32_t position, Fingerprint fingerprint);

 private:
  struct Recent {
    std::int32_t position = -1;
    Fingerprint fingerprint = 0;
  };
  static constexpr std::size_t kWindow = 32;

  void extend_cache_keys(const TokenSequence& tokens, std::int32_t num_tokens);
  // Is `position` kept because it is shortly before the boundary of a full block?
  bool before_boundary(std::int32_t position) const;

  std::int32_t hash_block_size_ = 1;
  std::int32_t num_before_boundary_ = 0;
  std::int32_t num_lookahead_tokens_ = 0;
  Fingerprint empty_prefix_ = 0;
  std::vector<Fingerprint> block_hashes_;
  std::vector<Fingerprint> cache_keys_;       // empty without look-ahead tokens
  std::vector<Fingerprint> before_boundary_;  // [block hashes, num_before_boundary_]
  std::array<Recent, kWindow> recent_{};      // position p is kept in element p % kWindow
};

// Prompts folded to fingerprints outside an engine, for callers that run many engines on the same
// requests.

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
