// An open result file of `hybridscope plan`: its combinations, what is recommended for which goals,
// the one that is selected, and its run.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/shown_run.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/plan_story.h"

namespace hybridscope {

class ShownPlan {
 public:
  // The recommended combination for the default goals is selected. A model's file that is not where
  // it was is looked for beside the result file. Errors: those of read_plan.
  static Result<std::unique_ptr<ShownPlan>> open(const std::string& file);
  ShownPlan(const ShownPlan&) = delete;  // the story refers to this object
  ShownPlan& operator=(const ShownPlan&) = delete;

  const std::string& file() const { return file_; }
  const PlanHeader& header() const { return contents_.header; }
  PlanView view() const { return story_->view(); }

  // Chooses what is on the front, and recommended; the selection stays. Error invalid_input: those
  // of parse_goals and check_goals.
  Status prefer(std::string_view goals);
  // "hits,concurrency".
  std::string goals() const;

  // Index in view().results; empty: there are none.
  std::optional<std::size_t> selected() const;
  // Error not_found: the plan has no result of this name.
  Status select(std::string_view name);

  // Where the plan's traffic is now. Error: it cannot be read, or is not that of the plan.
  Status read_traffic_from(const std::string& place);
  // What another reading of the same file has read of it.
  void take_traffic_of(ShownPlan& earlier);
  // The selected combination's run, before its first step. Its traffic is read from where it was,
  // or from beside the result file. Errors: nothing is selected, or it is not possible; the traffic
  // cannot be read or has changed, and so has the model.
  Result<std::unique_ptr<ShownRun>> run_selected();

 private:
  ShownPlan(std::string file, PlanContents contents, Sweep sweep);
  Status find_traffic();

  std::string file_;
  PlanContents contents_;
  Sweep sweep_;
  std::vector<const PlanGoal*> goals_;
  std::unique_ptr<const PlanStory> story_;
  std::string selected_;                  // name; empty: none
  std::unique_ptr<PlanTraffic> traffic_;  // null: not read yet
};

}  // namespace hybridscope
