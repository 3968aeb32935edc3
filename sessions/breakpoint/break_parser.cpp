#include "sessions/breakpoint/break_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sessions/breakpoint/break_grammar.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// Slugs have hyphens; expressions may write underscores instead.
std::string with_underscores(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

}  // namespace

std::string_view BreakParser::type_words(Part::Type type) {
  static constexpr std::array<std::string_view, 5> kWords = {"a number", "true or false", "a word",
                                                             "a request", "a word"};
  return kWords[static_cast<std::size_t>(type)];
}

void BreakParser::truth(const Part& part) {
  if (part.type == Part::Type::number || part.type == Part::Type::flag) return;
  if (part.node < 0) return unknown(part);
  fail(part.begin, part.end,
       fmt::format("{} is not a condition: compare it, as in {} == {}",
                   text_.substr(part.begin, part.end - part.begin),
                   text_.substr(part.begin, part.end - part.begin),
                   part.type == Part::Type::request ? "A" : part.field->words.front()));
}

void BreakParser::number(const Part& part) {
  if (part.node < 0) return unknown(part);
  if (part.type != Part::Type::number && part.type != Part::Type::flag)
    fail(part.begin, part.end, fmt::format("{}, expected a number", type_words(part.type)));
}

void BreakParser::unknown(const Part& part) {
  const std::size_t dot = part.name.find('.');
  const std::string kind_name = dot == std::string::npos ? "" : part.name.substr(0, dot);
  const std::string field = dot == std::string::npos ? part.name : part.name.substr(dot + 1);
  std::vector<std::string_view> near;
  bool is_kind = false;
  for (const BreakKind& kind : kinds_) {
    if (kind_name.empty() && !kind.name.empty()) near.push_back(kind.name);
    if (kind.name != kind_name) continue;
    is_kind = true;
    for (const BreakField& known : kind.fields) near.push_back(known.name);
  }
  if (!is_kind) {
    std::string names;
    for (const BreakKind& kind : kinds_)
      if (!kind.name.empty()) names += (names.empty() ? "" : ", ") + std::string(kind.name);
    return fail(part.begin, part.begin + kind_name.size(),
                fmt::format("there is nothing called {}, there are {}", kind_name, names));
  }
  const std::size_t begin = dot == std::string::npos ? part.begin : part.begin + dot + 1;
  fail(begin, part.end,
       fmt::format("no field is called {}{}", part.name, nearest_key_hint(field, near)));
}

BreakParser::Part BreakParser::atom() {
  const BreakToken& first = token();
  if (error_ || first.kind == BreakTokenKind::end) {
    fail(first.begin, first.end, "expected a field or a number, found the end");
    return {};
  }
  if (first.kind == BreakTokenKind::number) {
    ++at_;
    return add({.op = BreakOp::constant, .value = first.number, .text = {}}, Part::Type::number,
               first.begin, first.end);
  }
  if (first.kind == BreakTokenKind::word) {
    ++at_;
    return word(first);
  }
  if (take("(")) {
    const Depth depth(*this);
    Part inside = error_ ? Part{} : either();
    if (!error_ && !is_op(")")) fail(token().begin, token().end, "expected \")\"");
    inside.begin = first.begin;
    inside.end = token().end;
    take(")");
    return inside;
  }
  fail(first.begin, first.end,
       fmt::format("expected a field or a number, found \"{}\"", first.text));
  return {};
}

BreakParser::Part BreakParser::word(const BreakToken& token) {
  if (!token.is_quoted && (token.text == "true" || token.text == "false"))
    return add({.op = BreakOp::constant, .value = token.text == "true" ? 1 : 0, .text = {}},
               Part::Type::flag, token.begin, token.end);
  for (std::size_t k = 0; !token.is_quoted && k < kinds_.size(); ++k) {
    const BreakKind& kind = kinds_[k];
    const auto number = static_cast<std::int32_t>(k);
    if (!kind.name.empty() && token.text == kind.name)
      return add({.op = BreakOp::exists, .kind = number, .text = {}}, Part::Type::flag, token.begin,
                 token.end);
    std::string_view name = token.text;
    if (!kind.is_bare) {
      if (!name.starts_with(std::string(kind.name) + ".")) continue;
      name.remove_prefix(kind.name.size() + 1);
    }
    if (name == "grp") name = "group";  // the field's column name in session files
    for (std::size_t f = 0; f < kind.fields.size(); ++f) {
      const BreakField& field = kind.fields[f];
      if (field.name != name) continue;
      Part part = add(
          {.op = BreakOp::field, .kind = number, .field = static_cast<std::int32_t>(f), .text = {}},
          static_cast<Part::Type>(field.type), token.begin, token.end);
      part.field = &field;
      part.name = token.text;
      return part;
    }
  }
  return {.node = -1,
          .type = Part::Type::name,
          .field = nullptr,
          .name = token.text,
          .begin = token.begin,
          .end = token.end};
}

// A name such as "registered" can be a field of blocks or the kind of an event.
void BreakParser::take_as_word(Part& part, const Part& field) {
  const bool wants_word = field.type == Part::Type::word || field.type == Part::Type::request;
  if (!wants_word || part.type != Part::Type::flag || part.name.empty()) return;
  tree_.nodes[static_cast<std::size_t>(part.node)] = {};
  part.type = Part::Type::name;
}

BreakParser::Part BreakParser::compare(BreakOp op, Part left, Part right) {
  if (error_) return left;
  take_as_word(right, left);
  take_as_word(left, right);
  const bool names_left = left.type == Part::Type::name;
  const Part& field = names_left ? right : left;
  const Part& other = names_left ? left : right;
  const bool is_word = field.type == Part::Type::word;
  const bool is_request = field.type == Part::Type::request;
  if ((is_word || is_request) && op != BreakOp::equal && op != BreakOp::unequal) {
    fail(left.begin, right.end,
         fmt::format("{} can only be compared with == and !=", field.field->name));
    return left;
  }
  if (is_word && other.type == Part::Type::name) return compare_word(op, field, other);
  if (is_request && other.type == Part::Type::name) return compare_request(op, field, other);
  if (names_left) number(left);
  if (right.type == Part::Type::name) number(right);
  if (field.type != other.type && (is_word || is_request || other.type == Part::Type::word ||
                                   other.type == Part::Type::request))
    fail(left.begin, right.end,
         fmt::format("{} cannot be compared with {}", type_words(left.type),
                     type_words(right.type)));
  return join(op, left, right, Part::Type::flag);
}

BreakParser::Part BreakParser::compare_word(BreakOp op, const Part& field, const Part& word) {
  const auto& words = field.field->words;
  const std::string wanted = with_underscores(word.name);
  for (std::size_t code = 0; code < words.size(); ++code)
    if (with_underscores(words[code]) == wanted) {
      const Part value =
          add({.op = BreakOp::constant, .value = static_cast<std::int64_t>(code), .text = {}},
              Part::Type::number, word.begin, word.end);
      Part both = join(op, field, value, Part::Type::flag);
      both.begin = std::min(field.begin, word.begin);
      both.end = std::max(field.end, word.end);
      return both;
    }
  std::string names;
  for (const std::string_view known : words)
    names += (names.empty() ? "" : ", ") + std::string(known);
  fail(word.begin, word.end,
       fmt::format("{} is never {}, it is one of {}", field.field->name, word.name, names));
  return field;
}

BreakParser::Part BreakParser::compare_request(BreakOp op, const Part& field, const Part& word) {
  return add({.op = BreakOp::is_request,
              .left = field.node,
              .value = op == BreakOp::unequal ? 1 : 0,
              .text = word.name},
             Part::Type::flag, std::min(field.begin, word.begin), std::max(field.end, word.end));
}

Result<BreakFieldPlace> parse_break_field(std::string_view text,
                                          const std::vector<BreakKind>& kinds) {
  auto tokens = read_break_tokens(text);
  if (!tokens.ok()) return tokens.error();
  return BreakParser(text, kinds, std::move(tokens).value()).parse_field();
}

Result<BreakTree> parse_break(std::string_view text, const std::vector<BreakKind>& kinds) {
  auto tokens = read_break_tokens(text);
  if (!tokens.ok()) return tokens.error();
  return BreakParser(text, kinds, std::move(tokens).value()).parse();
}

}  // namespace hybridscope
