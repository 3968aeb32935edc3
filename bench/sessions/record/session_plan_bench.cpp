// A plan as text and back: as many requests and prompt segments as an hour of real traffic has.
#include <string>

#include "bench/support/measure.h"
#include "core/base/fingerprint.h"
#include "sessions/record/session_plan.h"

namespace hybridscope::bench {
namespace {

constexpr int kNumRequests = 12'031;
constexpr int kSegments = 24;

RunPlan traffic_plan() {
  Traffic traffic;
  for (int i = 0; i < kNumRequests; ++i) {
    ArrivingRequest arriving{.arrival_us = 300'000LL * i, .request = {}};
    arriving.request.name = "r" + std::to_string(i + 1);
    arriving.request.key = mix(1, static_cast<std::uint64_t>(i));
    arriving.request.max_tokens = 343;
    for (int s = 0; s < kSegments; ++s)
      arriving.request.prompt.push_back(
          {.content = mix(arriving.request.key, static_cast<std::uint64_t>(s)), .length = 512});
    traffic.requests.push_back(std::move(arriving));
  }
  return plan_traffic(std::move(traffic),
                      {.name = "traffic", .model = "qwen3-next-80b-a3b", .settings = {}})
      .value();
}

void write_session_plan_of_traffic(benchmark::State& state) {
  const RunPlan plan = traffic_plan();
  measure(state, kNumRequests, [&] { return write_session_plan(plan); });
}
BENCHMARK(write_session_plan_of_traffic);

void read_session_plan_of_traffic(benchmark::State& state) {
  const std::string text = write_session_plan(traffic_plan());
  measure(state, kNumRequests, [&] { return read_session_plan(text, "plan"); });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_session_plan_of_traffic);

}  // namespace
}  // namespace hybridscope::bench
