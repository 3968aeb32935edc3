// Counts of computed tokens from step to step, and whether anything moves at all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check/check_context.h"

namespace hybridscope {

class ProgressCheck {
 public:
  // Reports counts that contradict the accepted tokens (I12), prefill chunks that end off the grid,
  // cut drafts, unusable scripted values, and a run that cannot move any more (I11).
  void check(CheckContext& context);

 private:
  struct Known {
    std::int32_t num_computed_tokens = -1;  // after its last step; -1: not running
    std::int32_t most_computed = 0;         // high-water mark over all runs
    std::int32_t num_tokens = 0;
  };
  Known& known(RequestId request);
  void check_counts(CheckContext& context);
  void check_commits(CheckContext& context);
  void check_commit(CheckContext& context, const ScheduledTrace& scheduled,
                    const CommitTrace& commit, std::int32_t accepted);
  void check_chunks(CheckContext& context);
  void watch(CheckContext& context);

  std::vector<Known> known_;  // by request id
  Known nobody_;              // what is known of an id that is none
  std::int64_t tokens_without_progress_ = 0;
  std::int64_t unfinished_tokens_ = 0;  // sum of num_tokens over scheduled, of late
};

}  // namespace hybridscope
