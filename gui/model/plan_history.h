// The plans of a run that was edited, for undo and redo.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/shown_run.h"
#include "sessions/live/fork.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

struct PlanVersion {
  std::shared_ptr<const RunPlan> plan;
  std::int64_t step = 0;  // that was shown when it was edited
  std::string words;      // what the edit did: "accept 2 of A in step 3"
  // The session that was shown: its plan alone would not bring it back. Null: of a live run.
  std::unique_ptr<ShownRun> session = {};
};

class PlanHistory {
 public:
  static constexpr std::size_t kMaxVersions = 100;

  void clear();
  // `before` was shown at `step` and an edit, told by `words`, has made another plan of it.
  void add(PlanVersion before);
  bool can_undo() const { return !undo_.empty(); }
  bool can_redo() const { return !redo_.empty(); }
  // Of the edit that would be undone or made again.
  const std::string& undo_words() const { return undo_.back().words; }
  const std::string& redo_words() const { return redo_.back().words; }
  // Of the version before the last edit. Requires: can_undo().
  const std::shared_ptr<const RunPlan>& last_plan() const { return undo_.back().plan; }
  // The version to show. Requires: can_undo(), can_redo().
  PlanVersion& next_undo() { return undo_.back(); }
  PlanVersion& next_redo() { return redo_.back(); }
  // It is shown now: `before`, which was shown until then, is kept for the other way.
  void undone(PlanVersion before);
  void redone(PlanVersion before);

 private:
  std::vector<PlanVersion> undo_;
  std::vector<PlanVersion> redo_;
};

// What the changes do, for people: "accept 2 of A; preempt B in step 3".
std::string words_of(const ForkAt& changes);

}  // namespace hybridscope
