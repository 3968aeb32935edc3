// Every shipped scenario on the engine, under the checker: clean, and it does what it teaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "sessions/scenario_reader.h"
#include "tests/sessions/scenario_run.h"

namespace hybridscope {
namespace {

TEST(ShippedScenarios, Print) {
  for (const char* name : {"plain_decode",
                           "chunked_prefill",
                           "align_boundary_by_prefill",
                           "align_boundary_by_decode",
                           "align_boundary_by_accepted_drafts",
                           "shared_prefix_align",
                           "shared_prefix_all",
                           "eviction_under_pressure",
                           "preemption_and_resume",
                           "prefix_cache_reset",
                           "graph_padding",
                           "mixed_gdn_batch",
                           "steps_without_drafts",
                           "starved_request",
                           "one_token_left_after_a_hit",
                           "prompt_as_long_as_a_verify_window",
                           "one_token_prompt",
                           "two_prompts_share_a_budget",
                           "all_mode_boundary_by_accepted_drafts",
                           "multi_turn_with_drafts"}) {
    const Scenario s =
        read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
            .value();
    const auto run = test::run_scenario(s);
    std::cout << "=== " << name << " steps " << run.num_steps << " fin " << run.num_finished
              << " pre " << run.num_preempted << " evi " << run.num_evicted << " ign "
              << run.num_ignored_commands << " shifts " << run.num_within_block_shifts << " copies "
              << run.num_boundary_copies << " pad " << run.num_padding_rows << " hits";
    for (auto& [k, v] : run.hit_tokens) std::cout << " " << k << "=" << v;
    std::cout << "\n";
    int i = 0;
    for (auto& st : run.steps) std::cout << "   " << ++i << ": " << st << "\n";
    for (auto& f : run.findings) std::cout << "   FINDING " << f << "\n";
  }
}

}  // namespace
}  // namespace hybridscope
