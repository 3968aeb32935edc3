// Findings that do not fail a run: --expect-known-bugs, --baseline and --write-baseline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
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

void add_known_findings_options(CLI::App& command, KnownFindingsOption& option);

// Error: that of FindingBaseline::read.
Status load_baselines(KnownFindingsOption& option);

// What is in the baseline and did not occur in these runs, as a note on stderr.
void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs);

// Writes what was collected, unless not everything ran to its end (`incomplete` says why; empty: it
// did) or the file would have too many steps to be read again. Returns kExitFine, kExitEnvironment
// when the file cannot be written, or kExitUsage when it is left as it was, and says so.
int write_baseline(const KnownFindingsOption& option, const std::string& incomplete);

// "13 findings are from known bug 7, ...".
std::string excused_words(const ExcusedFindings& excused);

}  // namespace hybridscope
