#include "core/engine/prefix_fingerprints.h"

#include <algorithm>

#include "core/base/result.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

// Folds tokens [first, first + count) into `start`. The buffer is short, so that a processor writes
// the next tokens while it waits for the fold of these.
Fingerprint fold(const TokenSequence& tokens, Fingerprint start, std::int32_t first,
                 std::int32_t count) {
  std::array<TokenContent, 32> buffer;
  Fingerprint fingerprint = start;
  while (count > 0) {
    const std::int32_t part = std::min<std::int32_t>(count, static_cast<int>(buffer.size()));
    tokens.copy_tokens(first, part, buffer.data());
    for (std::int32_t i = 0; i < part; ++i)
      fingerprint = extend_fingerprint(fingerprint, buffer[static_cast<std::size_t>(i)]);
    first += part;
    count -= part;
  }
  return fingerprint;
}

}  // namespace

PrefixFingerprints::PrefixFingerprints(std::uint64_t cache_salt, std::int32_t hash_block_size,
                                       std::int32_t num_before_boundary,
                                       std::int32_t num_lookahead_tokens)
    : hash_block_size_(hash_block_size),
      num_before_boundary_(std::min(num_before_boundary, hash_block_size - 1)),
      num_lookahead_tokens_(num_lookahead_tokens),
      empty_prefix_(seed_fingerprint(cache_salt)) {
  HS_EXPECT(hash_block_size > 0 && num_before_boundary >= 0);
}

void PrefixFingerprints::extend_to(const TokenSequence& tokens, std::int32_t num_tokens) {
  const auto full_blocks = static_cast<std::size_t>(num_tokens / hash_block_size_);
  while (block_hashes_.size() < full_blocks) {
    const auto end = static_cast<std::int32_t>(block_hashes_.size() + 1) * hash_block_size_;
    for (std::int32_t position = end - num_before_boundary_; position < end; ++position)
      before_boundary_.push_back(at(tokens, position));
    block_hashes_.push_back(at(tokens, end));
  }
  if (num_lookahead_tokens_ > 0) extend_cache_keys(tokens, num_tokens);
}

void PrefixFingerprints::extend_cache_keys(const TokenSequence& tokens, std::int32_t num_tokens) {
  while (cache_keys_.size() < block_hashes_.size()) {
    const auto end = static_cast<std::int32_t>(cache_keys_.size() + 1) * hash_block_size_;
    if (end + num_lookahead_tokens_ > num_tokens) return;
    cache_keys_.push_back(
        fold(tokens, block_hashes_[cache_keys_.size()], end, num_lookahead_tokens_));
  }
}

bool PrefixFingerprints::before_boundary(std::int32_t position) const {
  return static_cast<std::size_t>(position / hash_block_size_) < block_hashes_.size() &&
         position % hash_block_size_ >= hash_block_size_ - num_before_boundary_;
}

Fingerprint PrefixFingerprints::at(const TokenSequence& tokens, std::int32_t position) {
  HS_EXPECT(position >= 0);
  if (before_boundary(position)) {
    const std::int32_t kept = position / hash_block_size_ * num_before_boundary_ +
                              position % hash_block_size_ -
                              (hash_block_size_ - num_before_boundary_);
    return before_boundary_[static_cast<std::size_t>(kept)];
  }
  const auto boundary =
      std::min(static_cast<std::size_t>(position / hash_block_size_), block_hashes_.size());
  std::int32_t known = static_cast<std::int32_t>(boundary) * hash_block_size_;
  Fingerprint fingerprint = boundary == 0 ? empty_prefix_ : block_hashes_[boundary - 1];
  const std::int32_t oldest =
      std::max(known + 1, position - static_cast<std::int32_t>(kWindow) + 1);
  for (std::int32_t p = position; p >= oldest; --p) {
    const Recent& recent = recent_[static_cast<std::size_t>(p) % kWindow];
    if (recent.position != p) continue;
    known = p;
    fingerprint = recent.fingerprint;
    break;
  }
  if (known < position) {
    fingerprint = fold(tokens, fingerprint, known, position - known);
    remember(position, fingerprint);
  }
  return fingerprint;
}

void PrefixFingerprints::remember(std::int32_t position, Fingerprint fingerprint) {
  recent_[static_cast<std::size_t>(position) % kWindow] = {position, fingerprint};
}

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
