#include "gui/model/command_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "gui/model/near_ids.h"

namespace hybridscope {

namespace {

// The text between the quote just before `at` and the closing quote; moves `at` past that. Empty:
// the quote is not closed.
std::optional<std::string> take_quoted(std::string_view text, std::size_t& at) {
  std::string word;
  for (; at < text.size(); ++at) {
    if (text[at] == '"' && text.substr(at + 1, 1) != "\"") break;
    if (text[at] == '"') ++at;
    word += text[at];
  }
  if (at == text.size()) return std::nullopt;
  ++at;
  return word;
}

}  // namespace

Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    if (text[at] == '"') {
      std::optional<std::string> word = take_quoted(text, ++at);
      if (!word) return invalid_input(fmt::format("a quote is not closed in: {}", text));
      words.push_back(*std::move(word));
      continue;
    }
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string quoted_word(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_of(" \"") == std::string_view::npos;
  if (plain) return std::string(word);
  std::string text = "\"";
  for (const char letter : word)
    text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return text + "\"";
}

Result<std::int64_t> read_number(std::string_view word, const NumberRange& range) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || end != word.data() + word.size() || value < range.least ||
      value > range.most)
    return invalid_input(fmt::format("{}: expected a whole number from {} to {}, found \"{}\"",
                                     range.what, range.least, range.most, word));
  return value;
}

Result<RequestId> read_request(std::string_view word, const ShownRun& run) {
  const RequestId found = run.find_request(word);
  if (found.value >= 0) return found;
  constexpr std::int32_t kMostListed = 8;
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < std::min(run.num_requests(), kMostListed); ++i)
    names.push_back(run.names().request({i}));
  return invalid_input(fmt::format("there is no request \"{}\" (so far: {}{})", word,
                                   fmt::join(names, ", "),
                                   run.num_requests() > kMostListed ? ", ..." : ""));
}

Result<const PanelInfo*> read_panel(std::string_view word, const ViewState& view) {
  if (const PanelInfo* panel = view.find_panel(word)) return panel;
  std::vector<NamedId> ids;
  std::vector<std::string_view> names;
  for (const PanelInfo& panel : view.panels) {
    ids.push_back({panel.id, panel.title});
    names.push_back(panel.id);
  }
  const std::string near = near_ids_hint(word, ids);
  return invalid_input(
      fmt::format("there is no panel \"{}\"{}", word,
                  near.empty() ? fmt::format(" (there are: {})", fmt::join(names, ", ")) : near));
}

Result<std::vector<std::string>> read_words(std::string_view text, std::string_view usage) {
  auto words = words_of(text);
  if (!words.ok()) return words.error();
  const std::size_t found = words.value().size();
  if (found != words_of(usage).value().size())
    return invalid_input(
        fmt::format("expected {}, found {} word{}", usage, found, found == 1 ? "" : "s"));
  return words;
}

}  // namespace hybridscope
