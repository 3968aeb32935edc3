#include "core/engine/acceptance.h"

namespace hybridscope {
namespace {

// What a draw is for, so that draws for one position do not depend on each other.
enum class Draw : std::uint64_t { acceptance = 1, ngram_length = 2, rejected_token = 3 };

std::uint64_t draw(const AcceptanceConfig& config, std::uint64_t request_key, std::int64_t position,
                   Draw purpose) {
  return mix(mix(mix(config.seed, request_key), static_cast<std::uint64_t>(position)),
             static_cast<std::uint64_t>(purpose));
}

}  // namespace

bool draft_is_accepted(const AcceptanceConfig& config, std::uint64_t request_key,
                       std::int64_t position) {
  if (config.rate >= 1.0) return true;
  const auto threshold = static_cast<std::uint64_t>(config.rate * 0x1p32) << 32;
  return draw(config, request_key, position, Draw::acceptance) < threshold;
}

std::int32_t keyed_num_accepted_tokens(const AcceptanceConfig& config, std::uint64_t request_key,
                                       std::int64_t first_position, std::int32_t num_draft_tokens) {
  std::int32_t accepted = 0;
  while (accepted < num_draft_tokens &&
         draft_is_accepted(config, request_key, first_position + accepted))
    ++accepted;
  return 1 + accepted;
}

std::int32_t ngram_num_draft_tokens(const AcceptanceConfig& config, std::uint64_t request_key,
                                    std::int64_t position, std::int32_t num_speculative_tokens) {
  const std::uint64_t value = draw(config, request_key, position, Draw::ngram_length) >> 32;
  return static_cast<std::int32_t>(value %
                                   (static_cast<std::uint64_t>(num_speculative_tokens) + 1));
}

TokenContent rejected_draft_token(const AcceptanceConfig& config, std::uint64_t request_key,
                                  std::int64_t position) {
  return tagged_token(TokenKind::rejected_draft,
                      draw(config, request_key, position, Draw::rejected_token));
}

}  // namespace hybridscope
