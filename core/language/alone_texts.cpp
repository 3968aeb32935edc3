#include "core/language/alone_texts.h"

#include <utility>

#include "core/numeric/logits.h"

namespace hybridscope {

void AloneTexts::add_to(StepWords& words) {
  for (const StepWords::Prompt& prompt : words.prompts)
    requests_[prompt.request].prompt = prompt.ids;
  for (const StepWords::Token& said : words.tokens) {
    Request& request = requests_[said.request];
    request.has_parted = request.has_parted || said.token.id != said.token.twin_id;
    if (!request.has_parted || request.prompt.empty()) continue;
    const auto position = static_cast<std::size_t>(said.token.position);
    if (position < request.prompt.size()) continue;
    const std::size_t num_tokens = position + 1 - request.prompt.size();
    std::vector<std::int32_t> ids = say_on(request, num_tokens);
    if (!ids.empty()) words.alone.push_back({said.request, std::move(ids)});
  }
}

std::vector<std::int32_t> AloneTexts::say_on(Request& request, std::size_t num_tokens) const {
  std::vector<std::int32_t> ids;
  while (request.num_said < num_tokens) {
    const bool begins = request.lone == nullptr;
    if (begins) {
      request.lone = std::make_unique<LoneRun>(model_);
      request.lone->extend(request.prompt);
    } else {
      request.lone->extend({&request.last, 1});
    }
    const std::size_t behind = begins ? request.prompt.size() - 1 : 0;
    request.last = greedy_token(request.lone->logits(static_cast<std::int32_t>(behind)));
    ids.push_back(request.last);
    ++request.num_said;
  }
  return ids;
}

}  // namespace hybridscope
