#include "sessions/breakpoint/break_parser.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
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
  fail(word.begin, word.end,
       fmt::format("{} is never {}, it is one of {}", field.field->name, word.name,
                   fmt::join(words, ", ")));
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

namespace {

// Longer operators first.
constexpr std::array<std::string_view, 18> kOperators = {
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "=", "&"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<BreakToken>> read() {
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
        ++at_;
      if (at_ == text_.size()) break;
      if (auto error = read_one()) return *error;
    }
    tokens_.push_back({.kind = BreakTokenKind::end, .text = {}, .begin = at_, .end = at_});
    return std::move(tokens_);
  }

 private:
  std::optional<Error> read_one() {
    const char c = text_[at_];
    if (is_digit(c)) return read_number();
    if (is_letter(c)) return read_word();
    if (c == '\'' || c == '"') return read_quoted(c);
    for (const std::string_view op : kOperators)
      if (text_.substr(at_).starts_with(op)) {
        if (op == "=" || op == "&")
          return fail(at_ + 1, fmt::format("\"{0}\" is not an operator, expected \"{0}{0}\"", op));
        add(BreakTokenKind::op, at_ + op.size());
        return std::nullopt;
      }
    return fail(at_ + 1, "expected a field, a number or an operator");
  }

  std::optional<Error> read_number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto read = std::from_chars(begin, end, value);
    const std::size_t stop = at_ + static_cast<std::size_t>(read.ptr - begin);
    if (read.ec != std::errc{}) return fail(stop, "the number does not fit 64 bits");
    if (stop < text_.size() && is_letter(text_[stop])) {
      // A request may be called "7b".
      return read_word();
    }
    add(BreakTokenKind::number, stop);
    tokens_.back().number = value;
    return std::nullopt;
  }

  // After == and != a word may contain hyphens, as slugs of rules do.
  std::optional<Error> read_word() {
    const bool compared =
        !tokens_.empty() && (tokens_.back().text == "==" || tokens_.back().text == "!=");
    std::size_t end = at_;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool inside = end + 1 < text_.size() && is_letter(text_[end + 1]);
      if (!is_letter(c) && !is_digit(c) && !(c == '.' && inside) &&
          !(c == '-' && compared && inside))
        break;
      ++end;
    }
    add(BreakTokenKind::word, end);
    return std::nullopt;
  }

  std::optional<Error> read_quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail(text_.size(), "the quote is not closed");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    add(BreakTokenKind::word, end + 1);
    tokens_.back().text = word;
    tokens_.back().is_quoted = true;
    return std::nullopt;
  }

  void add(BreakTokenKind kind, std::size_t end) {
    tokens_.push_back({.kind = kind,
                       .text = std::string(text_.substr(at_, end - at_)),
                       .begin = at_,
                       .end = end});
    at_ = end;
  }
  Error fail(std::size_t end, const std::string& message) const {
    return break_error(text_, at_, end, message);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<BreakToken> tokens_;
};

// The marks are placed by characters, not bytes.
std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

Result<std::vector<BreakToken>> read_break_tokens(std::string_view text) {
  return Lexer(text).read();
}

Error break_error(std::string_view text, std::size_t begin, std::size_t end,
                  const std::string& message) {
  std::string shown(text);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  const std::size_t column = num_characters(text.substr(0, begin));
  const std::size_t width =
      std::max<std::size_t>(num_characters(text.substr(begin, end - begin)), 1);
  return invalid_input(
      fmt::format("{}\n  {}\n  {:{}}^{:~>{}}", message, shown, "", column, "", width - 1));
}

}  // namespace hybridscope
