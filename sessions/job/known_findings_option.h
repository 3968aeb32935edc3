// Findings that do not fail a run: --expect-known-bugs, --baseline and --write-baseline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/run/finding_baseline.h"

namespace hybridscope {

struct KnownFindingsOption {
  bool known_bugs = false;     // of the engine's profile
  std::string baseline;        // file to read, empty: none
  std::string write_baseline;  // file to write, empty: none
  // Set by load_baselines(): what --baseline says, and what --write-baseline collects.
  std::shared_ptr<FindingBaseline> known = nullptr;
  std::shared_ptr<FindingBaseline> collected = nullptr;
};

// Findings that do not fail, and why not.
struct ExcusedFindings {
  std::string source{};  // "known bug 48, skipped-step-forgets-accepted-count"
  std::int64_t findings = 0;
};

// Error: that of FindingBaseline::read.
Status load_baselines(KnownFindingsOption& option);

// "13 findings are from known bug 7, ...".
std::string excused_words(const ExcusedFindings& excused);

}  // namespace hybridscope
