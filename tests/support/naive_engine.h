// The slow oracle: a naive model of one hybrid engine (runners V1 and V2, synchronous and
// asynchronous scheduling, modes align and none, some full-attention groups and some mamba groups
// of one spec) that the real engine is property-tested against. It follows docs/semantics with
// lists and maps, shares nothing with core/, and proves after every step what every block holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/naive_config.h"
#include "tests/support/naive_step.h"

namespace hybridscope::test {

struct NaiveEngineParts;

// Requests are named by their index in the order of addition. Commands take effect at once, that
// is between two steps; what they preempt is not in NaiveStep::preempted and does not keep the next
// step from admitting (but a head of the waiting queue whose frame is in flight does).
class NaiveEngine {
 public:
  // Throws std::invalid_argument for K >= B in align, or missing functions.
  explicit NaiveEngine(NaiveConfig config);
  ~NaiveEngine();
  NaiveEngine(NaiveEngine&&) noexcept;
  NaiveEngine& operator=(NaiveEngine&&) noexcept;

  int add_request(NaiveRequestSpec spec);
  // False (nothing happens) when the request does not run.
  bool preempt(int request);
  // Nothing happens when it already finished.
  void abort(int request);
  // True unless blocks are held.
  bool reset_prefix_cache(bool reset_running_requests);

  // One turn: schedules frame n, runs it, samples, and takes back frame n (synchronous) or n - 1
  // (asynchronous). `budget`: token budget of this step instead of max_num_batched_tokens.
  NaiveStep step(std::optional<int> budget = std::nullopt);

  int num_requests() const;
  // No request waits or runs.
  bool finished() const;
  int num_computed_tokens(int request) const;  // scheduler's: optimistic
  int num_output_placeholders(int request) const;
  const std::vector<std::uint64_t>& tokens(int request) const;  // prompt and output so far

 private:
  std::unique_ptr<NaiveEngineParts> parts_;
};

}  // namespace hybridscope::test
