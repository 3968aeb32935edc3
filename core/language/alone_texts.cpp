#include "core/language/alone_texts.h"

#include <utility>

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
  if (request.lone == nullptr) request.lone = std::make_unique<LoneSpeaker>(model_, request.prompt);
  for (; request.num_said < num_tokens; ++request.num_said) ids.push_back(request.lone->next());
  return ids;
}

}  // namespace hybridscope
