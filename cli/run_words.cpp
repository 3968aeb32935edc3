#include "cli/run_words.h"

#include <fmt/core.h>

namespace hybridscope {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string run_words(const RunOptions& options, std::string_view file, std::int64_t explain) {
  std::string words = "hybridscope run";
  const auto add = [&](std::string_view word) { words += " " + shell_word(word); };
  if (!file.empty()) {
    add(file);
  } else {
    add("--traffic");
    add(options.traffic);
    for (const std::string& word : traffic_words(options.traffic_options)) add(word);
    if (options.limit > 0) words += fmt::format(" --limit {}", options.limit);
  }
  if (!options.model.empty()) {
    add("--model");
    add(options.model);
  }
  for (const std::string& word : options.settings.words()) add(word);
  if (options.check == CheckScope::all) words += " --check all";
  for (const std::string& word : options.state.words()) add(word);
  if (options.strict) words += " --strict";
  if (options.steps > 0) words += fmt::format(" --steps {}", options.steps);
  if (explain > 0) words += fmt::format(" --explain {}", explain);
  return words;
}

}  // namespace hybridscope
