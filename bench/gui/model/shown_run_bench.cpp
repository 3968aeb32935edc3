// Scrubbing in a recorded session as the workbench does it: to any step, until what panels ask of
// it is answered, until everything that they asked for is read, and until what a session does not
// keep is made again. In milliseconds of CPU time.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "bench/storage/recorded_session.h"
#include "bench/support/measure.h"
#include "gui/model/recorded_run.h"

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kBlocksShown = 1024;
constexpr std::ptrdiff_t kStepsShown = 40;  // of the timeline

// What the panels of the default layout ask for in a frame.
void ask(ShownRun& run) {
  const StepView view = run.view();
  for (std::int32_t block = 0; block < kBlocksShown; ++block)
    benchmark::DoNotOptimize(run.block_facts(block));
  benchmark::DoNotOptimize(run.unfinished());
  for (const RequestId request : view.scheduler_tables.requests()) {
    benchmark::DoNotOptimize(run.num_hit_tokens(request));
    benchmark::DoNotOptimize(run.own_count(request));
    if (std::ranges::find(view.trace.scheduled, request, &ScheduledTrace::request) ==
        view.trace.scheduled.end())
      benchmark::DoNotOptimize(run.request_counts(request));
  }
  const std::ptrdiff_t here = mark_index(run.marks(), run.step());
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(here - kStepsShown / 2, 0);
  const auto count = std::min(kStepsShown, static_cast<std::ptrdiff_t>(run.marks().size()) - first);
  benchmark::DoNotOptimize(
      run.activities(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  benchmark::DoNotOptimize(run.free_queue());
  benchmark::DoNotOptimize(run.previous_arrays());
}

struct Times {
  std::vector<double> ms;
  void tell(benchmark::State& state, const std::string& name) {
    std::ranges::sort(ms);
    state.counters[name + "_median_ms"] = ms[ms.size() / 2];
    state.counters[name + "_95_ms"] = ms[ms.size() * 95 / 100];
    state.counters[name + "_worst_ms"] = ms.back();
  }
};

void shown_run_scrub(benchmark::State& state, RecordLevel level) {
  const auto run = RecordedRun::open(recorded_session(level, state.range(0))).value();
  const auto num_steps = static_cast<std::uint64_t>(run->marks().size());
  Times seen;
  Times whole;
  Times made;
  std::uint64_t random = 1;
  for ([[maybe_unused]] auto _ : state) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::int64_t step = run->marks()[(random >> 33) % num_steps].step;
    const std::clock_t start = std::clock();
    const auto passed = [&] {
      return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    HS_EXPECT(run->go_to(step).ok());
    ask(*run);
    seen.ms.push_back(passed());
    while (run->load_more()) ask(*run);
    whole.ms.push_back(passed());
    while (run->load_more() || run->awaits_more()) ask(*run);
    made.ms.push_back(passed());
  }
  seen.tell(state, "seen");
  whole.tell(state, "whole");
  made.tell(state, "made");
}
BENCHMARK_CAPTURE(shown_run_scrub, blocks, RecordLevel::blocks)
    ->Arg(2'000)
    ->Arg(kRecordedSteps)
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shown_run_scrub, full, RecordLevel::full)
    ->Arg(2'000)
    ->Arg(kRecordedSteps)
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hybridscope::bench
