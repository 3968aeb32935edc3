#include "cli/baseline_file.h"

#include <fmt/core.h>

#include <cstdint>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs) {
  if (option.known == nullptr) return;
  std::int64_t unseen = 0;
  for (const std::string& run : complete_runs) unseen += option.known->num_unseen(run);
  if (unseen > 0)
    report_note(fmt::format("{} of {} did not occur; --write-baseline writes the file anew",
                            counted(unseen, "finding"), option.baseline));
}

int write_baseline(const KnownFindingsOption& option, const std::string& incomplete) {
  if (option.collected == nullptr) return kExitFine;
  std::string why = incomplete;
  if (const std::int64_t steps = option.collected->num_steps();
      why.empty() && steps > kMostBaselineSteps)
    why = fmt::format("its findings are in {} steps in all, and a baseline has at most {}",
                      grouped_number(steps), grouped_number(kMostBaselineSteps));
  if (!why.empty()) {
    report_message("run", fmt::format("{} is not written: {}", option.write_baseline, why));
    return kExitUsage;
  }
  const Status written = write_output_file(option.write_baseline, option.collected->text());
  if (written.ok()) return kExitFine;
  report_message("run", written.error().message);
  return kExitEnvironment;
}

}  // namespace hybridscope
