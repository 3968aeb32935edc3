#include "sessions/report/report_texts.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace hybridscope {
namespace {

// Every number of so many digits survives JavaScript.
constexpr std::size_t kMaxDigits = 15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits that printing the number gives back: no leading zero.
bool is_number(std::string_view digits) {
  return digits.size() <= kMaxDigits && (digits.size() == 1 || digits.front() != '0');
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

nlohmann::json ReportTexts::add(std::string_view text) {
  std::vector<std::string> pieces(1);
  nlohmann::json reference = nlohmann::json::array();
  reference.push_back(0);
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    if (length > 0 && is_number(text.substr(0, length))) {
      reference.push_back(number_of(text.substr(0, length)));
      pieces.emplace_back();
    } else {
      while (length < text.size() && !is_digit(text[length])) ++length;
      pieces.back() += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  const auto [place, added] = places_.emplace(std::move(pieces), templates_.size());
  if (added) templates_.push_back(&place->first);
  reference.front() = place->second;
  return reference;
}

nlohmann::json ReportTexts::templates() const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto* pieces : templates_) list.push_back(*pieces);
  return list;
}

void ReportTexts::truncate(std::size_t size) {
  while (templates_.size() > size) {
    places_.erase(*templates_.back());
    templates_.pop_back();
  }
}

}  // namespace hybridscope
