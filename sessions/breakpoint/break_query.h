// A question with one answer about a step: a field, and a break expression that picks whose, like
// copy.dst_col where copy.request==A && copy.launch==1. The answer is the engine's.
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
  // Error invalid_input: three lines, the last two point into `field` or `where`.
  static Result<BreakQuery> parse(std::string_view field, std::string_view where);
  BreakQuery(BreakQuery&&) noexcept;
  BreakQuery& operator=(BreakQuery&&) noexcept;
  ~BreakQuery();

  const BreakField& field() const;
  // Does it ask about writes, of which the checker has to keep a log?
  bool reads_writes() const;
  // The values of the field in every thing that `where` is true for, each once, ascending. Things
  // of other kinds that `where` names are of the same request, as in a condition.
  std::vector<std::int64_t> values(const BreakStep& step, const RequestName& name);

 private:
  struct Impl;
  explicit BreakQuery(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope
