#include <fmt/core.h>

#include <string>
#include <utility>

#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {
namespace {

constexpr std::size_t kWidth = 100;

// Appends words and wraps them to indented lines.
class Paragraph {
 public:
  explicit Paragraph(std::string indent) : indent_(std::move(indent)) {}
  void add(const std::string& word) {
    if (!line_.empty() && indent_.size() + line_.size() + 1 + word.size() > kWidth) end_line();
    line_ += (line_.empty() ? "" : " ") + word;
  }
  std::string take() {
    end_line();
    return std::move(text_);
  }

 private:
  void end_line() {
    if (!line_.empty()) text_ += indent_ + line_ + "\n";
    line_.clear();
  }
  std::string indent_;
  std::string line_;
  std::string text_;
};

std::string fields_of(const BreakKind& kind) {
  Paragraph fields("  ");
  for (const BreakField& field : kind.fields) fields.add(field.name);
  std::string text = fields.take();
  for (const BreakField& field : kind.fields)
    if (!field.words.empty()) {
      Paragraph words("      ");
      words.add(field.name + ":");
      for (const std::string_view word : field.words) words.add(std::string(word));
      text += words.take();
    }
  return text;
}

}  // namespace

std::string break_help() {
  std::string text =
      "A break expression asks about one step: fields, numbers, words and names of requests with\n"
      "== != < <= > >= && || ! + - * / % and parentheses. It holds when things of the step can be\n"
      "picked, one of each kind that is named, of one request, for which it is true.\n"
      "\n"
      "  copy.copies && copy.src_col==copy.dst_col && copy.accept_token_bias>0\n"
      "  finding            block==17 && written            row.request==A && "
      "row.num_draft_tokens==0\n";
  for (const BreakKind& kind : break_kinds())
    text += fmt::format("\n{}{}\n{}",
                        kind.name.empty() ? "" : std::string(kind.name) + ".FIELD: ", kind.meaning,
                        fields_of(kind));
  return text;
}

}  // namespace hybridscope
