// What can be changed about the step after the shown one, and the edits that are planned for it,
// with undo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/live/fork.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Edits of a run: what is planned for a step that has not been made yet, and the plans for undo and
// redo.

// The plans of an edited run, for undo and redo.

struct PlanVersion {
  std::shared_ptr<const RunPlan> plan;
  std::int64_t step = 0;  // the step shown at the edit
  std::string words;      // what the edit did: "accept 2 of A in step 3"
  // The session that was shown, because its plan alone cannot restore it. Null: a live run.
  std::unique_ptr<ShownRun> session = {};
};

class PlanHistory {
 public:
  static constexpr std::size_t kMaxVersions = 100;

  void clear();
  // Adds the version before an edit; `before.step` was shown, `before.words` describe the edit.
  void add(PlanVersion before);
  bool can_undo() const { return !undo_.empty(); }
  bool can_redo() const { return !redo_.empty(); }
  // The words of the edit that would be undone or redone.
  const std::string& undo_words() const { return undo_.back().words; }
  const std::string& redo_words() const { return redo_.back().words; }
  // The plan before the last edit. Requires: can_undo().
  const std::shared_ptr<const RunPlan>& last_plan() const { return undo_.back().plan; }
  // The version to show. Requires: can_undo(), can_redo().
  PlanVersion& next_undo() { return undo_.back(); }
  PlanVersion& next_redo() { return redo_.back(); }
  // Call when that version is shown: `before`, shown until then, is kept for redo or undo.
  void undone(PlanVersion before);
  void redone(PlanVersion before);

 private:
  std::vector<PlanVersion> undo_;
  std::vector<PlanVersion> redo_;
};

// The changes in words: "accept 2 of A; preempt B in step 3".
std::string words_of(const ForkAt& changes);

// What is planned for a step that has not been made yet: from the script and edits, the requests
// that join, and its settings.

struct PlannedStep {
  ScriptStep script = {};               // the script's changes in this step; may be empty
  std::vector<std::string> words = {};  // for all of it, joining requests included
  std::int32_t budget = 0;              // tokens
  EngineProfile profile = EngineProfile::safe;
  PolicyOverrides policies = {};  // that override the profile
};

PlannedStep planned_step(const RunPlan& plan, std::int64_t step);

// A script's step in words, one phrase each: "accept 2 of A", "preempt B".
std::vector<std::string> words_of(const ScriptStep& changes);

class Workbench;

// "A: decode, 1 token", one line for each request that has a part in the step; or that there is
// none.
std::vector<std::string> coming_words(const ComingStep& coming);

// What the panel shows.
Picture next_step_picture(Workbench& workbench);

}  // namespace hybridscope
