#include "sessions/scenario/arriving_request.h"

namespace hybridscope {

std::int64_t num_prompt_tokens(const AddRequest& request) {
  std::int64_t tokens = 0;
  for (const PromptSegment& segment : request.prompt) tokens += segment.length;
  return tokens;
}

}  // namespace hybridscope
