// Steps the engine, under the checker, and the slow oracle through one scenario side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/block_table_mirror.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/naive_engine.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

class ScenarioRun {
 public:
  // Mode all and deferred frees run without the oracle, which does not know them.
  explicit ScenarioRun(const EngineScenario& scenario);

  // Runs to the end. Empty when both sides agreed in every step, neither found a fault, and every
  // request finished; else the first thing that went wrong.
  std::string run();

  std::int64_t num_copies() const { return num_copies_; }
  std::int64_t num_hits() const { return num_hits_; }
  std::int64_t num_preempted() const { return num_preempted_; }

 private:
  void give_commands();
  void give(const Command& command);
  std::string step();
  std::string fault_of_engine() const;
  std::string compare(const StepTrace& trace, const NaiveStep& naive) const;
  std::string compare_scheduled(const StepTrace& trace, const NaiveStep& naive) const;
  std::string compare_tables(const StepTrace& trace, const NaiveScheduled& naive,
                             const RowTrace& row) const;
  std::string compare_rows(const StepTrace& trace, const NaiveStep& naive) const;
  std::string compare_copies(const StepTrace& trace, const NaiveStep& naive) const;
  std::string compare_end(const StepTrace& trace, const NaiveStep& naive) const;
  std::string compare_commits(const StepTrace& trace, const NaiveStep& naive) const;

  EngineScenario scenario_;
  CheckedEngine engine_;
  BlockTableMirror tables_;  // the scheduler's
  std::unique_ptr<NaiveEngine> oracle_;
  std::size_t next_command_ = 0;
  std::optional<int> budget_;              // of the coming step
  std::vector<int> commanded_to_preempt_;  // running requests, by commands before this step
  std::vector<int> oracle_running_;        // in its order
  std::int64_t step_ = 0;
  std::int64_t num_copies_ = 0;
  std::int64_t num_hits_ = 0;
  std::int64_t num_preempted_ = 0;
};

}  // namespace hybridscope::test
