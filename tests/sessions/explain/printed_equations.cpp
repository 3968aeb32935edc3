#include "tests/sessions/explain/printed_equations.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace hybridscope::test {
namespace {

// Reads one formula of numbers, + - * /, brackets, floor() and ceil().
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  std::optional<double> whole() {
    const auto value = sum();
    return value && next() == '\0' ? value : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::optional<double> sum() {
    auto value = product();
    while (value && (next() == '+' || next() == '-')) {
      const bool plus = text_[at_++] == '+';
      const auto other = product();
      if (!other) return std::nullopt;
      value = plus ? *value + *other : *value - *other;
    }
    return value;
  }
  std::optional<double> product() {
    auto value = factor();
    while (value && (next() == '*' || next() == '/')) {
      const bool times = text_[at_++] == '*';
      const auto other = factor();
      if (!other) return std::nullopt;
      value = times ? *value * *other : *value / *other;
    }
    return value;
  }
  std::optional<double> factor() {
    next();
    for (const auto& [name, function] : {std::pair(
                                             "floor(", +[](double x) { return std::floor(x); }),
                                         std::pair(
                                             "ceil(", +[](double x) { return std::ceil(x); }),
                                         std::pair(
                                             "(", +[](double x) { return x; })}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += std::string_view(name).size();
      const auto inside = sum();
      if (!inside || next() != ')') return std::nullopt;
      ++at_;
      return function(*inside);
    }
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == begin || text_[at_ - 1] == '-') return std::nullopt;
    return std::stod(std::string(text_.substr(begin, at_ - begin)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_letter(char byte) {
  return std::isalpha(static_cast<unsigned char>(byte)) != 0 || byte == '_';
}
bool is_word(char byte) {
  return is_letter(byte) || std::isdigit(static_cast<unsigned char>(byte)) != 0 || byte == '.' ||
         byte == '-';
}

// "floor(" or "ceil(" at this place; empty: neither.
std::string_view function_at(std::string_view text) {
  for (const std::string_view name : {"floor(", "ceil("})
    if (text.starts_with(name)) return name;
  return {};
}

// "(draft model)", "(block 3)": brackets after a space, with a word and no brackets inside.
std::size_t remark_at(std::string_view text) {
  if (text.empty() || text.front() != '(') return 0;
  const std::size_t end = text.find_first_of("()", 1);
  if (end == std::string_view::npos || text[end] != ')') return 0;
  const std::string_view inside = text.substr(1, end - 1);
  return std::any_of(inside.begin(), inside.end(), is_letter) ? end + 1 : 0;
}

// Without words and remarks. floor() and ceil() stay.
std::string numbers_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t left_out = remark_at(text);
    if (left_out == 0 && is_letter(text.front()) && function_at(text).empty())
      while (left_out < text.size() && is_word(text[left_out])) ++left_out;
    const std::size_t kept = left_out > 0 ? 0 : std::max<std::size_t>(function_at(text).size(), 1);
    result += text.substr(0, kept);
    text.remove_prefix(left_out + kept);
  }
  return result;
}

bool holds(double left, std::string_view relation, double right) {
  if (relation == "=") return left == right;
  if (relation == "!=") return left != right;
  if (relation == "<") return left < right;
  if (relation == "<=") return left <= right;
  return relation == ">" ? left > right : left >= right;
}

// The relation that begins at this space: " >= ". Empty: none.
std::string_view relation_at(std::string_view text) {
  for (const std::string_view relation : {"=", "!=", "<", "<=", ">", ">="})
    if (text.substr(0, relation.size() + 2) == " " + std::string(relation) + " ") return relation;
  return {};
}

void check_clause(std::string_view clause, Equations& equations) {
  std::optional<double> left;
  std::string_view between;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    const auto value = value_of(clause.substr(begin, end - begin));
    if (left && value) {
      ++equations.num_checked;
      if (!holds(*left, between, *value)) equations.wrong.emplace_back(clause);
    }
    left = value;
  };
  for (std::size_t i = 0; i < clause.size(); ++i) {
    if (clause[i] != ' ') continue;
    const std::string_view relation = relation_at(clause.substr(i));
    if (relation.empty()) continue;
    take(i);
    between = relation;
    begin = i + relation.size() + 2;
    i += relation.size();
  }
  if (!between.empty()) take(clause.size());
}

}  // namespace

std::optional<double> value_of(std::string_view formula) {
  const std::string numbers = numbers_of(formula);
  return FormulaReader(numbers).whole();
}

Equations check_equations(std::string_view text) {
  Equations equations;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";:,\n"), text.size());
    check_clause(text.substr(0, end), equations);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return equations;
}

}  // namespace hybridscope::test
