// The slow oracle: a naive model of a hybrid engine, against which the real engine is
// property-tested. It covers runners V1 and V2, synchronous and asynchronous scheduling, modes
// align and none, some full-attention groups and some mamba groups of one spec. It follows
// docs/semantics with lists and maps, shares no code with core/, and checks after every step what
// every block holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/naive_config.h"
#include "tests/support/naive_step.h"

namespace hybridscope::test {

struct NaiveEngineParts;

// A request is named by its index in the order of addition. Commands take effect at once, between
// two steps. What they preempt is not in NaiveStep::preempted, and the next step may still admit
// requests (unless the head of the waiting queue has a frame in flight).
class NaiveEngine {
 public:
  // Throws std::invalid_argument for K >= B in align, or missing functions.
  explicit NaiveEngine(NaiveConfig config);
  ~NaiveEngine();
  NaiveEngine(NaiveEngine&&) noexcept;
  NaiveEngine& operator=(NaiveEngine&&) noexcept;

  int add_request(NaiveRequestSpec spec);
  // False, without effect, when the request is not running.
  bool preempt(int request);
  // No effect when the request has already finished.
  void abort(int request);
  // True unless some blocks are held.
  bool reset_prefix_cache(bool reset_running_requests);

  // One turn: schedules and runs frame n, samples it, and takes back frame n (synchronous) or n - 1
  // (asynchronous). `budget` replaces max_num_batched_tokens for this step.
  NaiveStep step(std::optional<int> budget = std::nullopt);

  int num_requests() const;
  // Is no request waiting or running?
  bool finished() const;
  int num_computed_tokens(int request) const;  // the scheduler's optimistic count
  int num_output_placeholders(int request) const;
  const std::vector<std::uint64_t>& tokens(int request) const;  // prompt and output so far

 private:
  std::unique_ptr<NaiveEngineParts> parts_;
};

}  // namespace hybridscope::test
