// The slow oracle: a naive model of a hybrid engine, against which the real engine is
// property-tested. It covers runners V1 and V2, synchronous and asynchronous scheduling, modes
// align and none, some full-attention groups and some mamba groups of one spec. It follows
// docs/semantics with lists and maps, shares no code with core/, and checks after every step what
// every block holds.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/naive_config.h"
#include "tests/support/naive_scheduler.h"
#include "tests/support/naive_step.h"
#include "tests/support/naive_worker.h"

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

// The parts of the naive engine, which access each other freely, and one turn of them.

// A scheduled and run step until it returns.
struct NaiveFrame {
  int step = 0;
  std::vector<NaiveReturnedRow> rows;  // in scheduled order
};

struct NaiveEngineParts {
  NaiveConfig config;
  NaivePrefixTree tree;
  std::deque<NaiveRequest> requests;
  NaiveCache cache;
  NaiveScheduler scheduler;
  NaiveWorker worker;
  std::optional<NaiveFrame> in_flight;
  int next_step = 0;
  std::uint64_t num_rejected_drafts = 0;

  explicit NaiveEngineParts(NaiveConfig settings)
      : config(std::move(settings)),
        cache(config),
        scheduler(config, cache, requests, tree),
        worker(config, tree) {}

  NaiveStep turn(int budget);
  NaiveRequest& get(int request) { return requests.at(static_cast<std::size_t>(request)); }
  void forget_lost_blocks();
  void check_hit(const NaiveScheduledRow& row, NaiveStep& step);
  void check_exact_count(const NaiveScheduledRow& scheduled, const NaiveRow& row, NaiveStep& step);
  bool is_decode(const NaiveScheduledRow& row);
  std::uint64_t token_at(const NaiveRequest& request, int position) const;
  int history_at(const NaiveRequest& request, int num_tokens);
  NaiveRow make_row(const NaiveScheduledRow& scheduled);
  void fill_inputs(NaiveRow& row);
  NaiveScheduled entry(const NaiveScheduledRow& scheduled, const NaiveRow& row) const;
  void decide(NaiveStep& step, const NaiveSchedule& schedule);
  NaiveFrame run(NaiveStep& step, const NaiveSchedule& schedule);
  void report_rows(NaiveStep& step, const std::vector<NaiveRow>& rows) const;
  void commit(NaiveStep& step, const NaiveFrame& frame);
};

}  // namespace hybridscope::test
