// What every bench reports: time per call and per request of a call, heap allocations per call.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

#include "core/base/result.h"
#include "tests/support/allocation_counter.h"

namespace hybridscope::bench {

// Call after the loop, with `num_requests` requests in each call: sets the counters "per_request"
// (time) and "allocations" (per call).
inline void report(benchmark::State& state, std::int64_t num_requests,
                   std::int64_t num_allocations) {
  using benchmark::Counter;
  state.counters["per_request"] = Counter(static_cast<double>(num_requests),
                                          Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["allocations"] =
      Counter(static_cast<double>(num_allocations), Counter::kAvgIterations);
}

// Times `call`, which returns a value or a Result that must be ok. Two calls before the timed ones
// let scratch grow to its size.
template <class Call>
void measure(benchmark::State& state, std::int64_t num_requests, Call call) {
  for (int i = 0; i < 2; ++i) {
    const auto answer = call();
    if constexpr (requires { answer.ok(); }) HS_EXPECT(answer.ok());
  }
  const std::int64_t before = test::num_allocations();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(call());
    benchmark::ClobberMemory();
  }
  report(state, num_requests, test::num_allocations() - before);
}

// Times `world.step()` of something that wears out: when worn_out(), renew() comes first, untimed.
template <class World>
void measure_steps(benchmark::State& state, std::int64_t num_requests, World& world) {
  std::int64_t num_allocations = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (world.worn_out()) {
      state.PauseTiming();
      world.renew();
      state.ResumeTiming();
    }
    const std::int64_t before = test::num_allocations();
    world.step();
    num_allocations += test::num_allocations() - before;
  }
  report(state, num_requests, num_allocations);
}

}  // namespace hybridscope::bench
