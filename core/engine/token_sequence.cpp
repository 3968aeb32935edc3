#include "core/engine/token_sequence.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {
namespace {

TokenContent segment_token(const PromptSegment& segment, std::uint64_t seed, std::int32_t offset) {
  const std::int32_t position = segment.first + offset;
  if (segment.source == PromptSegment::Source::output)
    return output_token(seed, segment.content, position);
  return tagged_token(TokenKind::prompt,
                      mix(segment.content, static_cast<std::uint64_t>(position)));
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
      const std::int32_t segment_end = segment_start_[index] + prompt_[index].length;
      for (; position < std::min(end, segment_end); ++position)
        *out++ = segment_token(prompt_[index], seed_, position - segment_start_[index]);
    }
  }
  for (; position < end; ++position) *out++ = output_token(seed_, request_key_, position);
}

}  // namespace hybridscope
