// A result file of `hybridscope plan` on small traffic, made for a test.
#pragma once

#include <string>
#include <vector>

namespace hybridscope::test {

struct MadePlan {
  std::string folder;  // exists; gets plan.jsonl, and traffic.jsonl beside it
  std::vector<std::string> sweeps = {"mamba_cache_mode=align,none", "max_num_seqs=2,4,8"};
  std::string step_time = {};  // empty: none
};

// The path of plan.jsonl: tiny-gdn, 24 requests of 24 to 120 tokens in conversations, 60 blocks.
std::string make_plan_file(const MadePlan& wanted);

}  // namespace hybridscope::test
