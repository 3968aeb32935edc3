#include "gui/model/command_arguments.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/palette_model.h"
#include "sessions/text/edit_distance.h"

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

namespace {

constexpr std::size_t kMostNamed = 4;

// The smaller the nearer.
struct Nearness {
  MatchKind kind = MatchKind::scattered;
  std::size_t distance = 0;  // of the spelling
  std::string_view id;
};

Nearness nearness(std::string_view typed, const NamedId& known) {
  Nearness near{.distance = edit_distance(typed, known.id), .id = known.id};
  for (const std::string_view name : {known.id, known.title})
    if (const auto match = fuzzy_match(typed, name)) near.kind = std::min(near.kind, match->kind);
  return near;
}

}  // namespace

std::string near_ids_hint(std::string_view typed, const std::vector<NamedId>& known) {
  const std::size_t most_distant = std::max<std::size_t>(2, typed.size() / 3);
  std::vector<Nearness> near;
  for (const NamedId& name : known) {
    const Nearness found = nearness(typed, name);
    if (found.kind < MatchKind::scattered || found.distance <= most_distant) near.push_back(found);
  }
  std::ranges::stable_sort(near, {},
                           [](const Nearness& n) { return std::tuple(n.kind, n.distance); });
  near.resize(std::min(near.size(), kMostNamed));
  std::string words;
  for (std::size_t i = 0; i < near.size(); ++i)
    words += fmt::format("{}\"{}\"",
                         i == 0                 ? ""
                         : i + 1 == near.size() ? " or "
                                                : ", ",
                         near[i].id);
  return words.empty() ? words : fmt::format(", did you mean {}?", words);
}

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_id(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
}

}  // namespace

std::string to_text(const GuiCommand& command) {
  return command.argument.empty() ? command.id : command.id + " " + command.argument;
}

Result<std::vector<GuiCommand>> read_gui_script(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<GuiCommand> commands;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string_view id = line.substr(0, line.find_first_of(" \t"));
    if (!is_id(id))
      return Error{ErrorKind::invalid_input,
                   fmt::format("{}:{}: expected the id of a command such as run.step, found \"{}\"",
                               file, number, id)};
    if (find_command(id) == nullptr)
      return Error{ErrorKind::invalid_input,
                   fmt::format("{}:{}: {}", file, number, no_such_command(id))};
    commands.push_back({std::string(id), std::string(trimmed(line.substr(id.size())))});
  }
  return commands;
}

}  // namespace hybridscope
