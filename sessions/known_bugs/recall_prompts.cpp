#include "sessions/known_bugs/recall_prompts.h"

#include <algorithm>
#include <utility>

#include "core/base/fingerprint.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

char letter(std::uint64_t key, std::uint64_t pair) {
  return static_cast<char>('a' + mix(key, 2 * pair) % 26);
}
char digit(std::uint64_t key, std::uint64_t pair) {
  return static_cast<char>('0' + mix(key, 2 * pair + 1) % 10);
}

// Pairs without an end.
std::string pairs(std::uint64_t key, std::size_t length) {
  std::string text;
  for (std::uint64_t pair = 0; text.size() < length; ++pair)
    text += {letter(key, pair), digit(key, pair)};
  text.resize(length);
  return text;
}

}  // namespace

std::string recall_text(std::uint64_t key, std::int32_t length) {
  constexpr std::size_t kQuestion = 3;
  const auto wanted = static_cast<std::size_t>(length);
  if (wanted < kQuestion + 2) return pairs(key, wanted);
  // An even length begins with a mark, so that the pairs come out even.
  const std::size_t mark = wanted % 2 == 0 ? 1 : 0;
  const std::size_t count = (wanted - mark - kQuestion) / 2;
  return std::string(mark, '#') + pairs(key, 2 * count) + '?' + letter(key, count - 1) + '=';
}

Scenario with_recall_prompts(Scenario scenario) {
  const auto is_request = [&](const std::string& name) {
    return std::ranges::any_of(scenario.requests,
                               [&](const ScenarioRequest& request) { return request.id == name; });
  };
  for (ScenarioRequest& request : scenario.requests) {
    PromptSpec& prompt = request.prompt;
    if (!prompt.text.empty()) continue;
    std::string own = recall_text(request_key(request.id), prompt.tokens - prompt.share_tokens);
    if (prompt.share_tokens > 0 && !is_request(prompt.share)) {
      const auto shared = static_cast<std::size_t>(prompt.share_tokens);
      own = pairs(text_content(prompt.share), shared) + own;
      prompt.share.clear();
      prompt.share_tokens = 0;
    }
    if (!own.empty()) prompt.text = std::move(own);
  }
  return scenario;
}

}  // namespace hybridscope
