#include "core/engine/token_sequence.h"

#include <algorithm>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {
namespace {

// Tokens [first, end) of one text or one request's output; returns the end of what was written.
TokenContent* write_tokens(TokenKind kind, std::uint64_t key, std::int32_t first, std::int32_t end,
                           TokenContent* out) {
  for (std::int32_t position = first; position < end; ++position)
    *out++ = tagged_token(kind, mix(key, static_cast<std::uint64_t>(position)));
  return out;
}

// Tokens [offset, end) of a segment.
TokenContent* write_segment(const PromptSegment& segment, std::uint64_t seed, std::int32_t offset,
                            std::int32_t end, TokenContent* out) {
  const bool is_output = segment.source == PromptSegment::Source::output;
  return write_tokens(is_output ? TokenKind::output : TokenKind::prompt,
                      is_output ? mix(seed, segment.content) : segment.content,
                      segment.first + offset, segment.first + end, out);
}

}  // namespace

TokenSequence::TokenSequence(std::vector<PromptSegment> prompt, std::uint64_t seed,
                             std::uint64_t request_key)
    : prompt_(std::move(prompt)), seed_(seed), request_key_(request_key) {
  segment_start_.reserve(prompt_.size());
  for (const PromptSegment& segment : prompt_) {
    HS_EXPECT(segment.length > 0 && segment.first >= 0);
    segment_start_.push_back(num_prompt_tokens_);
    num_prompt_tokens_ += segment.length;
  }
}

TokenContent TokenSequence::token(std::int32_t position) const {
  TokenContent content = 0;
  copy_tokens(position, 1, &content);
  return content;
}

void TokenSequence::copy_tokens(std::int32_t first, std::int32_t count, TokenContent* out) const {
  const std::int32_t end = first + count;
  std::int32_t position = first;
  if (position < num_prompt_tokens_) {
    const auto after = std::upper_bound(segment_start_.begin(), segment_start_.end(), position);
    auto index = static_cast<std::size_t>(after - segment_start_.begin()) - 1;
    for (; index < prompt_.size() && position < end; ++index) {
      const std::int32_t start = segment_start_[index];
      const std::int32_t written = std::min(end, start + prompt_[index].length);
      out = write_segment(prompt_[index], seed_, position - start, written - start, out);
      position = written;
    }
  }
  write_tokens(TokenKind::output, mix(seed_, request_key_), position, end, out);
}

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
