// What the Plan panel shows of the results of `hybridscope plan`: the scatter of two goals, the
// memory of one combination over its steps, a table, and why one is recommended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_plan.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// stuck: it did not end.
enum class PlanMark : std::uint8_t { other, front, recommended, stuck };

// A combination in the scatter.
struct PlanDot {
  std::size_t result = 0;  // index in PlanView::results
  PlanMark mark = PlanMark::other;
  double x = 0, y = 0;  // 0..1, to the right and up
  std::string words;    // name and goals, a line each
};

// A goal along a side of the scatter.
struct PlanAxis {
  std::string title;        // "hits (more is better)"
  std::string least, most;  // at its ends: "36.6 %"
};

// What is in the pool: the kinds of blocks that requests hold, then those that only a hit can use.
inline constexpr std::size_t kNumPlanAreas = kNumBlockKinds + 1;
constexpr std::string_view plan_area_words(std::size_t area) {
  return area < kNumBlockKinds ? kBlockKindWords[area] : "cached and free";
}

// A piece of the selected run.
struct PlanPiece {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::array<double, kNumPlanAreas> blocks{};  // on average over its steps
  double running = 0;                          // requests, likewise
};

struct PlanMemory {
  std::string title;  // "Blocks of mamba_cache_mode=align max_num_seqs=64"
  std::string empty;  // why there is none
  std::vector<PlanPiece> pieces;
  std::array<double, kNumPlanAreas> average{};
  std::int64_t num_blocks = 0;  // of the pool, without the null block
  std::int64_t last_step = 0;
  std::int64_t worst_step = 0;
};

struct PlanGoalChoice {
  const PlanGoal* goal = nullptr;
  bool chosen = false;
  std::string without_or_with;  // goals after a click: "hits,steps"; empty: it is the only one
};

struct PlanModel {
  std::string heading;
  std::string overload;               // overload_words
  std::vector<std::string> names;     // [results]
  std::vector<PlanGoalChoice> goals;  // that this plan can have
  std::string recommended;            // name; empty: none
  std::vector<std::string> reasons;
  PlanAxis x, y;
  std::vector<PlanDot> dots;
  std::vector<std::size_t> front_line;  // dots from left to right; empty: the front is not a line
  PlanMemory memory;
  std::string selected;              // name; empty: none
  Table table;                       // the combinations; its first column has the words of marks
  std::vector<PlanMark> marks;       // [table.rows]
  bool can_open = false;             // the selected one has steps
  std::vector<std::string> refused;  // refused_lines
};

PlanModel make_plan_model(const ShownPlan& plan, const PlanOptions& options);

// The sentences and the combinations. Requires: a plan is open.
Picture plan_picture(Workbench& workbench);

// Names that plan.sort takes: of the columns, after "rank", the order of the plan.
std::vector<std::string_view> plan_sort_names(const ShownPlan& plan);

// "recommended", "on the front", "did not end", ""
std::string_view plan_mark_words(PlanMark mark);

inline constexpr std::string_view kNoPlan =
    "No plan is open: `hybridscope plan ... --out FILE.jsonl` makes one, and file.open shows it.";

}  // namespace hybridscope
