// A question about a step with one answer: a field, and a break expression that picks the element,
// like copy.dst_col where copy.request==A && copy.launch==1. The engine gives the answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

class BreakQuery {
 public:
  // Error invalid_input: three lines, the last two point at the place in `field` or `where`.
  static Result<BreakQuery> parse(std::string_view field, std::string_view where);
  BreakQuery(BreakQuery&&) noexcept;
  BreakQuery& operator=(BreakQuery&&) noexcept;
  ~BreakQuery();

  const BreakField& field() const;
  // Does the query ask about writes? The checker must then keep a log of them.
  bool reads_writes() const;
  // The values of the field in every element for which `where` is true, each once, ascending.
  // Elements of other kinds that `where` names belong to the same request, as in a condition.
  std::vector<std::int64_t> values(const BreakStep& step, const RequestName& name);

 private:
  struct Impl;
  explicit BreakQuery(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope
