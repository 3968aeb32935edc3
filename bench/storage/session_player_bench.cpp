// A session of 50,000 steps at level blocks: opening it, going to any step, reading it from end to
// end.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "bench/storage/recorded_session.h"
#include "bench/support/measure.h"
#include "storage/session_player.h"

namespace hybridscope::bench {
namespace {

void session_open(benchmark::State& state) {
  const SessionPlace& place = recorded_session();
  measure(state, 1, [&] { return SessionPlayer::open(place); });
}
BENCHMARK(session_open)->Unit(benchmark::kMillisecond);

// Steps drawn over the whole session; counters in milliseconds of wall-clock and of CPU time.
void session_go_to_any_step(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  const auto last = static_cast<std::uint64_t>(player->reader().last_step());
  std::vector<double> times_ms;
  double worst_cpu_ms = 0;
  std::uint64_t random = 1;
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto step = static_cast<std::int64_t>((random >> 33) % last) + 1;
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    HS_EXPECT(player->go_to(player->reader().step_at_or_before(step).value()).ok());
    worst_cpu_ms = std::max(worst_cpu_ms,
                            1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    times_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  report(state, 1, test::num_allocations() - before);
  std::sort(times_ms.begin(), times_ms.end());
  state.counters["median_ms"] = times_ms[times_ms.size() / 2];
  state.counters["worst_ms"] = times_ms.back();
  state.counters["worst_cpu_ms"] = worst_cpu_ms;
}
BENCHMARK(session_go_to_any_step)->Iterations(1000)->Unit(benchmark::kMillisecond);

void session_step_back(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  HS_EXPECT(player->go_to(player->reader().last_step()).ok());
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state)
    HS_EXPECT(player->go_to(player->reader().step_at_or_before(player->step() - 1).value()).ok());
  report(state, 1, test::num_allocations() - before);
}
BENCHMARK(session_step_back)->Iterations(300)->Unit(benchmark::kMillisecond);

void session_step_forward(benchmark::State& state) {
  const auto player = SessionPlayer::open(recorded_session()).value();
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state)
    HS_EXPECT(player->go_to(player->reader().step_after(player->step()).value()).ok());
  report(state, 1, test::num_allocations() - before);
}
BENCHMARK(session_step_forward)->Iterations(5000)->Unit(benchmark::kMicrosecond);

// A call reads digests and counts of all steps.
void session_read_digests(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const auto source = open_session_source(recorded_session()).value();
    while (source->next().value() != nullptr) {
    }
  }
  report(state, kRecordedSteps, 0);
}
BENCHMARK(session_read_digests)->Iterations(1)->Unit(benchmark::kMillisecond);

// A call reads all steps whole.
void session_read_records(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const auto source = open_session_source(recorded_session()).value();
    while (source->next().value() != nullptr) benchmark::DoNotOptimize(source->record().value());
  }
  report(state, kRecordedSteps, 0);
}
BENCHMARK(session_read_records)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hybridscope::bench
