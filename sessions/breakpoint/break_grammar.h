// The parser of break expressions: one method for each level of the grammar, from "or" down to one
// word. break_parser.cpp resolves the words; nothing else includes this header.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sessions/breakpoint/break_parser.h"

namespace hybridscope {

class BreakParser {
 public:
  BreakParser(std::string_view text, const std::vector<BreakKind>& kinds,
              std::vector<BreakToken> tokens)
      : text_(text), kinds_(kinds), tokens_(std::move(tokens)) {}

  Result<BreakTree> parse() {
    if (token().kind == BreakTokenKind::end)
      return break_error(text_, 0, 0, "the expression is empty");
    if (tokens_.size() > kMaxTokens)
      return break_error(
          text_, 0, 0,
          fmt::format("{} words and operators, expected at most {}", tokens_.size(), kMaxTokens));
    const Part whole = either();
    if (!error_ && token().kind != BreakTokenKind::end)
      fail(token().begin, token().end,
           fmt::format("expected an operator or the end, found \"{}\"", token().text));
    truth(whole);
    if (error_) return *error_;
    return std::move(tree_);
  }

  Result<BreakFieldPlace> parse_field() {
    const Part part = atom();
    if (!error_ && part.node < 0) unknown(part);
    if (!error_ && (tree_.nodes.back().op != BreakOp::field || token().kind != BreakTokenKind::end))
      fail(0, text_.size(), "expected the name of one field, such as copy.dst_col");
    if (error_) return *error_;
    return BreakFieldPlace{.kind = tree_.nodes.back().kind, .field = tree_.nodes.back().field};
  }

 private:
  static constexpr int kMaxDepth = 100;
  // A chain of operators is evaluated by recursion too, so it is limited as well.
  static constexpr std::size_t kMaxTokens = 10'000;

  // A part of the expression that has been read.
  struct Part {
    enum class Type : std::uint8_t { number, flag, word, request, name };
    std::int32_t node = -1;  // -1: `name` holds a word that is not a field
    Type type = Type::number;
    const BreakField* field = nullptr;  // of types word and request
    std::string name;                   // the word as written
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  struct BinaryOperator {
    std::string_view text;
    BreakOp op;
  };
  static constexpr BinaryOperator kComparisons[] = {
      {"==", BreakOp::equal}, {"!=", BreakOp::unequal},       {"<=", BreakOp::less_equal},
      {"<", BreakOp::less},   {">=", BreakOp::greater_equal}, {">", BreakOp::greater}};
  static constexpr BinaryOperator kSums[] = {{"+", BreakOp::add}, {"-", BreakOp::subtract}};
  static constexpr BinaryOperator kProducts[] = {
      {"*", BreakOp::multiply}, {"/", BreakOp::divide}, {"%", BreakOp::remainder}};

  const BreakToken& token() const { return tokens_[at_]; }
  bool is_op(std::string_view op) const {
    return token().kind == BreakTokenKind::op && token().text == op;
  }
  bool take(std::string_view op) {
    if (error_ || !is_op(op)) return false;
    ++at_;
    return true;
  }
  void fail(std::size_t begin, std::size_t end, const std::string& message) {
    if (!error_) error_ = break_error(text_, begin, end, message);
  }

  Part add(BreakNode node, Part::Type type, std::size_t begin, std::size_t end) {
    tree_.nodes.push_back(std::move(node));
    return {.node = static_cast<std::int32_t>(tree_.nodes.size()) - 1,
            .type = type,
            .field = nullptr,
            .name = {},
            .begin = begin,
            .end = end};
  }
  Part join(BreakOp op, const Part& left, const Part& right, Part::Type type) {
    return add({.op = op, .left = left.node, .right = right.node, .text = {}}, type, left.begin,
               right.end);
  }

  // A number is true when it is not 0.
  void truth(const Part& part);
  void number(const Part& part);
  static std::string_view type_words(Part::Type type);
  void unknown(const Part& part);

  Part either() {
    Part left = both();
    while (take("||")) {
      const Part right = both();
      truth(left);
      truth(right);
      left = join(BreakOp::either, left, right, Part::Type::flag);
    }
    return left;
  }
  Part both() {
    Part left = negation();
    while (take("&&")) {
      const Part right = negation();
      truth(left);
      truth(right);
      left = join(BreakOp::both, left, right, Part::Type::flag);
    }
    return left;
  }
  Part negation() {
    const std::size_t begin = token().begin;
    if (!take("!")) return comparison();
    const Depth depth(*this);
    const Part part = negation();
    truth(part);
    return add({.op = BreakOp::negate, .left = part.node, .text = {}}, Part::Type::flag, begin,
               part.end);
  }
  Part comparison() {
    const Part left = sum();
    for (const BinaryOperator& known : kComparisons)
      if (take(known.text)) return compare(known.op, left, sum());
    return left;
  }
  Part sum() {
    Part left = product();
    for (bool found = true; found && !error_;) {
      found = false;
      for (const BinaryOperator& known : kSums)
        if (!found && take(known.text)) {
          left = arithmetic(known.op, left, product());
          found = true;
        }
    }
    return left;
  }
  Part product() {
    Part left = unary();
    for (bool found = true; found && !error_;) {
      found = false;
      for (const BinaryOperator& known : kProducts)
        if (!found && take(known.text)) {
          left = arithmetic(known.op, left, unary());
          found = true;
        }
    }
    return left;
  }
  Part arithmetic(BreakOp op, const Part& left, const Part& right) {
    number(left);
    number(right);
    return join(op, left, right, Part::Type::number);
  }
  Part unary() {
    const std::size_t begin = token().begin;
    if (!take("-")) return atom();
    const Depth depth(*this);
    const Part part = unary();
    number(part);
    return add({.op = BreakOp::minus, .left = part.node, .text = {}}, Part::Type::number, begin,
               part.end);
  }

  void take_as_word(Part& part, const Part& field);
  Part compare(BreakOp op, Part left, Part right);
  Part compare_word(BreakOp op, const Part& field, const Part& word);
  Part compare_request(BreakOp op, const Part& field, const Part& word);
  Part atom();
  Part word(const BreakToken& token);

  // Counts the nesting of parentheses and signs.
  struct Depth {
    explicit Depth(BreakParser& of) : parser(of) {
      if (++parser.depth_ > kMaxDepth)
        parser.fail(parser.token().begin, parser.token().end, "nested too deeply");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    BreakParser& parser;
  };

  std::string_view text_;
  const std::vector<BreakKind>& kinds_;
  std::vector<BreakToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  BreakTree tree_;
  std::optional<Error> error_;
};

}  // namespace hybridscope
