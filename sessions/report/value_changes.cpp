#include "sessions/report/value_changes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace hybridscope {
namespace {

// JavaScript represents every number with this many digits exactly.
constexpr std::size_t kMaxDigits = 15;

// With NUL, which stands for an argument in templates: one in a text becomes an argument.
constexpr std::string_view kDigits("0123456789\0", 11);
constexpr std::string_view kInWord(
    "0123456789\0_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 64);

// Empty: printing the number would not give back the same text, as with a leading zero.
std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_whole = code == std::errc{} && end == word.data() + word.size();
  if (!is_whole || word.size() > kMaxDigits || (word.size() > 1 && word.front() == '0')) return {};
  return value;
}

}  // namespace

nlohmann::json SharedTexts::add(std::string_view text) {
  std::string pieces;
  nlohmann::json coded = nlohmann::json::array({0});
  for (;;) {
    const std::size_t digit = text.find_first_of(kDigits);
    if (digit == std::string_view::npos) break;
    const std::size_t begin = text.find_last_not_of(kInWord, digit) + 1;  // npos + 1 is 0
    const std::size_t end = std::min(text.find_first_not_of(kInWord, digit), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    pieces += text.substr(0, begin);
    pieces += '\0';
    text.remove_prefix(end);
    if (const auto number = number_of(word)) {
      coded.push_back(*number);
      continue;
    }
    const auto [place, added] = word_places_.try_emplace(std::string(word), words_.size());
    if (added) words_.push_back(word);
    coded.push_back(-1 - static_cast<std::int64_t>(place->second));
  }
  pieces += text;
  const auto [place, added] = template_places_.try_emplace(std::move(pieces), templates_.size());
  if (added) templates_.push_back(place->first);
  coded.front() = place->second;
  return coded;
}

nlohmann::json changes(const nlohmann::json& before, const nlohmann::json& now,
                       SharedTexts& texts) {
  if (now.is_string()) return texts.add(now.get_ref<const std::string&>());
  if (!now.is_structured()) return now;
  nlohmann::json changed = nlohmann::json::object();
  const bool goes_on = before.type() == now.type();
  const auto take = [&](const std::string& key, const nlohmann::json* old,
                        const nlohmann::json& value) {
    if (old == nullptr) changed[key] = changes({}, value, texts);
    if (old != nullptr && *old != value) changed[key] = changes(*old, value, texts);
  };
  if (now.is_array()) {
    const std::size_t num_before = goes_on ? before.size() : 0;
    for (std::size_t i = 0; i < now.size(); ++i)
      take(std::to_string(i), i < num_before ? &before[i] : nullptr, now[i]);
    for (std::size_t i = now.size(); i < num_before; ++i) changed[std::to_string(i)] = nullptr;
    return changed;
  }
  for (const auto& [key, value] : now.items()) {
    const bool known = goes_on && before.contains(key);
    take(key, known ? &before[key] : nullptr, value);
  }
  for (const auto& [key, value] : before.items())
    if (goes_on && !now.contains(key)) changed[key] = nullptr;
  return changed;
}

}  // namespace hybridscope
