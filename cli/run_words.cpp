#include "cli/run_words.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "sessions/text/decimal.h"
#include "sessions/text/shell_word.h"

namespace hybridscope {
namespace {

std::vector<std::string> traffic_words(const TrafficOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  if (!options.format.empty()) add("--traffic-format", options.format);
  if (options.load.users > 0) add("--users", std::to_string(options.load.users));
  if (options.load.think_us) add("--think-time", format_millionths(*options.load.think_us));
  if (options.load.rate > 0) add("--request-rate", format_millionths(options.load.rate));
  return words;
}

}  // namespace

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
