#include "core/language/spoken_texts.h"

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

// Tokens may be fewer than the lone run has said: taken back, or not taken.
void cut_alone(SpokenText& text) {
  text.alone.resize(std::min(text.alone.size(), text.tokens.size()));
  if (!parts_from_lone_run(text)) text.alone.clear();
}

}  // namespace

void SpokenTexts::add(const StepWords& words) {
  for (const StepWords::Prompt& prompt : words.prompts) {
    SpokenText& text = requests_[prompt.request].text;
    text.request = prompt.request;
    text.prompt = prompt.ids;
  }
  for (const StepWords::Token& said : words.tokens) {
    SpokenText& text = requests_[said.request].text;
    // A request that begins again samples what it had sampled once more.
    while (!text.tokens.empty() && text.tokens.back().position >= said.token.position)
      text.tokens.pop_back();
    text.tokens.push_back(said.token);
    text.is_forced = text.is_forced || said.token.is_forced;
  }
  for (const StepWords::Draft& rejected : words.rejected)
    requests_[rejected.request].text.rejected.push_back(rejected.draft);
  for (const StepWords::Taken& taken : words.taken)
    requests_[taken.request].num_taken += taken.num_tokens;
  for (const StepWords::Alone& alone : words.alone) {
    std::vector<std::int32_t>& ids = requests_[alone.request].text.alone;
    ids.insert(ids.end(), alone.ids.begin(), alone.ids.end());
  }
}

std::vector<SpokenText> SpokenTexts::taken() const {
  std::vector<SpokenText> texts = sampled();
  std::size_t i = 0;
  for (const auto& [id, request] : requests_) {
    // A step may sample more than the request is allowed to say.
    std::vector<SpokenToken>& tokens = texts[i].tokens;
    tokens.resize(static_cast<std::size_t>(
        std::clamp<std::int64_t>(request.num_taken, 0, std::ssize(tokens))));
    cut_alone(texts[i++]);
  }
  return texts;
}

std::vector<SpokenText> SpokenTexts::sampled() const {
  std::vector<SpokenText> texts;
  for (const auto& [id, request] : requests_) {
    texts.push_back(request.text);
    cut_alone(texts.back());
  }
  return texts;
}

bool parts_from_lone_run(const SpokenText& text) {
  return std::ranges::any_of(text.tokens,
                             [](const SpokenToken& token) { return token.id != token.twin_id; });
}

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
