// A scenario or a trace in reports for continuous integration: JUnit, annotations and the step
// summary are made from this value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/check/finding.h"

namespace hybridscope {

// What failed, or would under --strict.
struct Problem {
  Severity severity = Severity::error;
  std::string type{};     // slug of a rule, "expect", "difference" or "run"
  std::string text{};     // without newline
  std::int64_t line = 0;  // in the unit's file, 0: none
  std::string command{};  // shows it, empty: the unit's own command
};

// Problems of one type beyond those kept.
struct ProblemsLeftOut {
  Severity severity = Severity::error;
  std::string type{};
  std::int64_t count = 0;
};

struct Property {
  std::string name{};
  std::string value{};
};

struct TestedUnit {
  std::string name{};
  std::string file{};    // as given, empty: none
  std::string result{};  // "ok", "findings", ...
  std::int64_t steps = 0;
  std::int64_t findings = 0;           // of severity error, expected ones too
  bool in_bytes = false;               // was state in bytes checked, too?
  bool in_memory = false;              // did the trace tell hashes of the engine's memory?
  bool in_numbers = false;             // did a language model run on the decisions?
  std::optional<double> seconds{};     // absent: --no-timings, or it did not run
  std::vector<Property> properties{};  // enough to run the same again
  std::string command{};               // runs it alone
  std::vector<Problem> problems{};
  std::vector<ProblemsLeftOut> left_out{};
  std::string broken{};   // why it did not run or was cut short; empty: it ran to its end
  std::string skipped{};  // why it was not tried; empty: it was

  // Did the unit have what rules with this evidence look at?
  bool looked_at(Evidence evidence) const {
    switch (evidence) {
      case Evidence::decisions:
        return true;
      case Evidence::bytes:
        return in_bytes;
      case Evidence::memory:
        return in_memory;
      case Evidence::numbers:
        return in_numbers;
    }
    return false;
  }
};

}  // namespace hybridscope
