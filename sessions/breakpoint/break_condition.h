// A break expression: a question about one step, like
//   copy.src_col==copy.dst_col && copy.accept_token_bias>0
//   finding            block==17 && written            row.request==A && row.num_accepted_tokens==1
// It holds for a step if it is true for some choice of one element of each kind that it names;
// elements that belong to requests all belong to the same one. If the step has no element of a
// kind, every comparison with that kind is false. Grammar and fields: docs/debug.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

// Why the condition holds.
struct BreakHit {
  RequestId request{};      // -1: no request
  std::int32_t block = -1;  // -1: the expression names no block
  std::string words;  // the fields that the expression compares: "copy of A: src_col 1, dst_col 1"
};

class BreakCondition {
 public:
  // Error invalid_input: three lines, the last two point at the place in the expression.
  static Result<BreakCondition> parse(std::string_view text);
  BreakCondition(BreakCondition&&) noexcept;
  BreakCondition& operator=(BreakCondition&&) noexcept;
  ~BreakCondition();

  const std::string& text() const;
  // Does the expression ask about writes? The checker must then keep a log of them.
  bool reads_writes() const;
  // `name` gives the name of a request.
  std::optional<BreakHit> holds(const BreakStep& step,
                                const std::function<std::string(RequestId)>& name);

 private:
  struct Impl;
  explicit BreakCondition(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
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
  void look_at(const BreakStep& step, const std::function<std::string(RequestId)>& name);
  const std::optional<BreakStop>& stopped() const { return stopped_; }
  // One line per expression: how often it held.
  std::string describe() const;

 private:
  std::vector<BreakCondition> conditions_;
  std::vector<std::int64_t> num_hits_;  // [conditions] steps
  std::int64_t wanted_hits_ = 1;
  std::optional<BreakStop> stopped_;
};

}  // namespace hybridscope
