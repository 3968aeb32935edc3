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

}  // namespace hybridscope
