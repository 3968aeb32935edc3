// The parts of the naive engine, which access each other freely, and one turn of them.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/naive_scheduler.h"
#include "tests/support/naive_worker.h"

namespace hybridscope::test {

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
