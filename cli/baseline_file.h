// The findings of a run against its baseline file (--baseline and --write-baseline).
#pragma once

#include <string>
#include <vector>

#include "sessions/job/known_findings_option.h"

namespace hybridscope {

// What is in the baseline and did not occur in these runs, as a note on stderr.
void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs);

// Writes what was collected, unless not everything ran to its end (`incomplete` says why; empty: it
// did) or the file would have too many steps to be read again. Returns kExitFine, kExitEnvironment
// when the file cannot be written, or kExitUsage when it is left as it was, and says so.
int write_baseline(const KnownFindingsOption& option, const std::string& incomplete);

}  // namespace hybridscope
