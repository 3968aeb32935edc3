// A break expression: a question about one step, like
//   copy.src_col==copy.dst_col && copy.accept_token_bias>0
//   finding            block==17 && written            row.request==A && row.num_accepted_tokens==1
// It holds for a step if it is true for some choice of one element of each kind that it names;
// elements that belong to requests all belong to the same one. If the step has no element of a
// kind, every comparison with that kind is false. Grammar and fields: docs/debug.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_fields.h"
#include "sessions/breakpoint/break_parser.h"

namespace hybridscope {

// Why the condition holds.
struct BreakHit {
  RequestId request{};      // -1: no request
  std::int32_t block = -1;  // -1: the expression names no block
  std::string words;  // the fields that the expression compares: "copy of A: src_col 1, dst_col 1"
};

// Collects the elements of a step, picks one of each kind, and tests the expression on them.
class BreakCondition {
 public:
  // `picked_kind`: the kind whose elements pick_each() visits; -1: none. Error invalid_input: three
  // lines, the last two point at the place in the expression.
  static Result<BreakCondition> parse(std::string_view text, std::int32_t picked_kind = -1);

  const std::string& text() const { return text_; }
  const BreakKind& kind(std::int32_t kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  // Does the expression ask about writes? The checker must then keep a log of them.
  bool reads_writes() const;
  // `name` gives the name of a request.
  std::optional<BreakHit> holds(const BreakStep& step, const RequestName& name);
  // Calls visit(element) for every element of the picked kind for which the expression is true.
  void pick_each(const BreakStep& step, const RequestName& name,
                 const std::function<void(const BreakElement&)>& visit);

 private:
  // A value, or nothing when the step lacks the element that the field belongs to.
  using Value = std::optional<std::int64_t>;

  BreakCondition() = default;
  void find_quantified();
  bool is_needed(std::int32_t kind) const;
  void collect(const BreakStep& step, const RequestName& name);
  bool pick(std::size_t place, RequestId request);
  Value value(const BreakNode& node) const;
  Value binary(const BreakNode& node) const;
  bool is_true(std::int32_t node) const {
    return value(tree_.nodes[static_cast<std::size_t>(node)]).value_or(0) != 0;
  }
  BreakHit hit(const RequestName& name) const;  // the picked elements, in words
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

// Expressions that a run stops at (--break and --break-hits).
struct BreakOption {
  std::vector<std::string> expressions;
  std::int64_t hits = 1;       // the run stops when an expression holds for the Nth time
  bool asks_for_help() const;  // an expression is "help"
};

// Where a run stopped.
struct BreakStop {
  std::int64_t step = 0;
  std::string expression;
  std::string words;  // of BreakHit; may be empty
};

class BreakConditions {
 public:
  // Error invalid_input: an expression that cannot be read.
  static Result<BreakConditions> make(const BreakOption& option);

  bool empty() const { return conditions_.empty(); }
  bool reads_writes() const;
  // Checks a step; afterwards stopped() is set if the run must stop there.
  void look_at(const BreakStep& step, const RequestName& name);
  const std::optional<BreakStop>& stopped() const { return stopped_; }
  // One line per expression: how often it held.
  std::string describe() const;

 private:
  std::vector<BreakCondition> conditions_;
  std::vector<std::int64_t> num_hits_;  // [conditions] steps
  std::int64_t wanted_hits_ = 1;
  std::optional<BreakStop> stopped_;
};

// A question about a step with one answer: a field, and a break expression that picks the element,
// like copy.dst_col where copy.request==A && copy.launch==1. The engine gives the answer.
class BreakQuery {
 public:
  // Error invalid_input: three lines, the last two point at the place in `field` or `where`.
  static Result<BreakQuery> parse(std::string_view field, std::string_view where);

  const BreakField& field() const;
  // The values of the field in every element for which `where` is true, each once, ascending.
  // Elements of other kinds that `where` names belong to the same request, as in a condition.
  std::vector<std::int64_t> values(const BreakStep& step, const RequestName& name);

 private:
  BreakQuery(BreakFieldPlace place, BreakCondition where)
      : place_(place), where_(std::move(where)) {}

  BreakFieldPlace place_;
  BreakCondition where_;
};

}  // namespace hybridscope
