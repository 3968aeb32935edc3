// Evaluates a parsed break expression on steps: collects the elements of a step, picks one of each
// kind, and tests the expression on them. For break_condition and break_query.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/breakpoint/break_fields.h"
#include "sessions/breakpoint/break_parser.h"

namespace hybridscope {

class BreakEvaluator {
 public:
  // `picked_kind`: the kind whose elements pick_each() visits; -1: none. Errors: those of
  // parse_break.
  static Result<BreakEvaluator> create(std::string_view text, std::int32_t picked_kind = -1);

  const std::string& text() const { return text_; }
  const BreakKind& kind(std::int32_t kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  bool reads_writes() const;

  // Is the expression true for one choice of elements? They stay picked for hit().
  bool holds(const BreakStep& step, const RequestName& name);
  // Calls visit(element) for every element of the picked kind for which the expression is true.
  void pick_each(const BreakStep& step, const RequestName& name,
                 const std::function<void(const BreakElement&)>& visit);
  // The picked elements, in words.
  BreakHit hit(const RequestName& name) const;

 private:
  // A value, or nothing when the step lacks the element that the field belongs to.
  using Value = std::optional<std::int64_t>;

  BreakEvaluator() = default;
  void find_quantified();
  bool is_needed(std::int32_t kind) const;
  void collect(const BreakStep& step, const RequestName& name);
  bool pick(std::size_t place, RequestId request);
  Value value(const BreakNode& node) const;
  Value binary(const BreakNode& node) const;
  bool is_true(std::int32_t node) const {
    return value(tree_.nodes[static_cast<std::size_t>(node)]).value_or(0) != 0;
  }
  std::string field_words(const BreakNode& node, const RequestName& name) const;

  std::string text_;
  std::vector<BreakKind> kinds_ = break_kinds();
  BreakTree tree_;
  std::int32_t picked_kind_ = -1;
  // Kinds other than the step itself whose fields the expression uses.
  std::vector<std::int32_t> quantified_;
  std::vector<std::vector<BreakElement>> elements_;  // [kinds]; storage is reused
  std::vector<std::size_t> counts_;                  // [kinds]
  std::vector<const BreakElement*> picked_;          // [kinds] null: the step has none
  const RequestName* name_ = nullptr;                // of the step being evaluated
};

}  // namespace hybridscope
