#include "sessions/cache_report/progress_watch.h"

#include <gtest/gtest.h>

#include "sessions/run/runner.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::progress_watch_test {
namespace {

// Steps until the watch gives up or the run is over; 0: over.
std::int64_t gives_up_in(const std::string& scenario) {
  Runner runner = Runner::create(test::plan_of_text(scenario)).value();
  ProgressWatch watch;
  for (int step = 0; step < 500 && !runner.done(); ++step) {
    const StepTrace& trace = *runner.step().value();
    if (!watch.goes_on(trace)) return trace.step;
  }
  return runner.done() ? 0 : -1;
}

// Blocks of a preempted request come a frame late, and the reference preempts on meanwhile: A and B
// preempt each other for ever (step 80 is when the checker says so as well).
std::string two_requests(const std::string& refusal) {
  return R"({"version": 1, "model": "tiny-mamba2", "settings": {"mamba_cache_mode": "align",
      "block_size": 4, "num_gpu_blocks_override": 9, "max_model_len": 256, "max_num_seqs": 8,
      "max_num_batched_tokens": 64, "async_scheduling": true, "kv_consumer": true,
      "acceptance_rate": 0, "speculative_config": {"num_speculative_tokens": 1},
      "policies": {"deferred_free_refusal": ")" +
         refusal + R"("}}, "requests": [{"id": "A", "prompt": 5, "max_tokens": 12},
      {"id": "B", "prompt": 5, "max_tokens": 12}]})";
}

TEST(ProgressWatch, RequestsThatPreemptEachOtherForEverAreGivenUp) {
  EXPECT_EQ(gives_up_in(two_requests("preempt_on")), 80);
}

TEST(ProgressWatch, ARunThatGetsToItsEndIsNot) {
  EXPECT_EQ(gives_up_in(two_requests("wait_for_the_frame")), 0);
}

TEST(ProgressWatch, ShippedScenariosAllComeToTheirEnd) {
  for (const std::string& path : test::shipped_scenarios()) {
    Runner runner = Runner::create(test::plan_of_file(path)).value();
    ProgressWatch watch;
    while (!runner.done()) ASSERT_TRUE(watch.goes_on(*runner.step().value())) << path;
  }
}

}  // namespace
}  // namespace hybridscope::progress_watch_test
