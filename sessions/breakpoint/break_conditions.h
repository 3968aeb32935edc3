// Expressions that a run stops at (--break and --break-hits).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"

namespace hybridscope {

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
