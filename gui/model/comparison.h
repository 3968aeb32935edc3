// Two runs side by side: the other run, which steps differ and how. The search for differences runs
// a slice at a time, so that the window stays responsive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/step_arrays.h"
#include "sessions/diff/collected_diff.h"
#include "sessions/diff/session_diff.h"

namespace hybridscope {

class Workbench;

struct DifferingStep {
  std::int64_t step = 0;
  std::int64_t last_step = 0;  // of a tail that only one side has
  StepPresence presence = StepPresence::both;
  std::int64_t num_fields = 0;
  std::uint32_t sections = 0;  // bit i: DiffSection i
  // The fields that differ: at most kMaxLinesAStep, only in the first kMaxStepsWithLines steps.
  // Valid as long as the comparison.
  std::vector<CollectedField> lines;
  bool has(DiffSection section) const {
    return (sections >> static_cast<unsigned>(section) & 1U) != 0;
  }
};

// Does the line, or the step or one of its lines, contain the text (ignoring case)? Empty text
// passes all.
bool passes(const CollectedField& line, std::string_view filter);
bool passes(const DifferingStep& step, std::string_view filter);

// Texts for lists of steps: "3", "7-9"; "rows, copies", "in the left run only".
std::string step_words(const DifferingStep& step);
std::string difference_words(const DifferingStep& step);
// The request to select in the step: `selected` if something of it differs there, else the first
// that does; empty: nothing of a request is listed.
std::string_view differing_request(const DifferingStep& step, std::string_view selected);

// What has to be known before the first difference is shown. with_request: also the first one of a
// request, as that in which the runs begin to differ may be about the whole step only, such as
// which arrays were given.
enum class SoughtDifference : std::uint8_t { any, with_request };

inline constexpr std::size_t kMaxLinesAStep = 200;
inline constexpr std::size_t kMaxStepsWithLines = 2000;

class Comparison {
 public:
  // Compares both runs from their first step on; `a` is only read. Errors: those of the sources.
  static Result<std::unique_ptr<Comparison>> create(const ShownRun& a, std::unique_ptr<ShownRun> b);

  ShownRun& other() { return *other_; }
  const ShownRun& other() const { return *other_; }
  // Gives up the other run, for another comparison; this one ends.
  std::unique_ptr<ShownRun> take_other() { return std::move(other_); }

  // Moves the other run to the same step, or the last one before it, or to the shown difference.
  // advance() does this if the step is far away. Error: that of the other run.
  Status follow(std::int64_t step);
  // False: its first step is after the one it should have gone to.
  bool other_has_begun() const { return other_has_begun_; }
  // Shows a difference while A is at step `a`, which is another step where A lacks that one.
  void show(std::int64_t difference, std::int64_t a) { shown_ = {difference, a}; }
  // What is shown while A is at `step`: the difference that was gone to, or that step.
  std::int64_t place(std::int64_t step) const { return shown_.a == step ? shown_.step : step; }

  // Lets the other run follow, or goes on searching, for about `budget_us`. True: there is
  // something new to list or show, or the end was reached.
  bool advance(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  bool complete() const { return complete_; }
  bool is_busy() const { return !complete_ || target_ > 0; }
  // The last step that was compared.
  std::int64_t compared_step() const;
  // Why the search stopped early; empty: it did not.
  const std::string& error() const { return error_; }
  // Steps that differ so far, ascending.
  const std::vector<DifferingStep>& steps() const { return steps_; }
  // The first differing step, and the first in which a request differs (null: none does). Both
  // null: there is none, or what is sought may still be found.
  struct First {
    const DifferingStep* step = nullptr;
    const DifferingStep* of_a_request = nullptr;
  };
  First first(SoughtDifference sought) const;
  // One sentence about the whole comparison. Requires: complete().
  std::string verdict() const { return diff_->summary().verdict(); }

  // The initial settings in which the runs differ.
  const std::vector<ConfigDifference>& settings() const { return settings_; }
  // "left: TITLE, right: TITLE".
  const std::string& sides() const { return sides_; }

  // Its progress: the error, the verdict or how many steps differ so far.
  std::string words() const;

  // What differs in the step; null: no difference is known there.
  const DifferingStep* at(std::int64_t step) const;
  // The next or previous differing step that passes the filter; null: none is known.
  const DifferingStep* after(std::int64_t step, std::string_view filter = {}) const;
  const DifferingStep* before(std::int64_t step, std::string_view filter = {}) const;

 private:
  Comparison() = default;
  void add(const StepDifference& difference);
  void follow_on(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);

  struct Shown {
    std::int64_t step = 0;
    std::int64_t a = 0;
  };

  std::unique_ptr<ShownRun> other_;
  std::unique_ptr<StepSource> source_a_;
  std::unique_ptr<StepSource> source_b_;
  std::unique_ptr<SessionDiff> diff_;
  std::vector<DifferingStep> steps_;
  std::vector<ConfigDifference> settings_;
  std::string sides_;
  Shown shown_;                 // until A moves on
  std::int64_t target_ = 0;     // the step that the other run is going to; 0: none
  std::int64_t last_step_ = 0;  // of both runs, if they were known whole at first; else 0
  bool other_has_begun_ = true;
  bool complete_ = false;
  std::string error_;
};

// The settings that differ; the steps that differ and pass the filter; of the shown step the
// fields.
Picture differences_picture(Workbench& workbench);

// The differences of a step between two compared runs, by what panels draw: the requests, cells,
// rows and elements that the list of differences names.

struct DifferingStep;

// The differences of one request.
struct RequestDifferences {
  bool row = false;        // of the batch
  bool pre_copy = false;   // a decision about copying its state before the forward pass
  bool post_copy = false;  // after sampling
  std::set<std::pair<std::int32_t, std::int32_t>> cells;  // group and column of its block tables
  bool has_cell(std::int32_t group, std::int32_t column) const {
    return cells.contains({group, column});
  }
};

struct DifferenceMarks {
  std::map<std::string, RequestDifferences, std::less<>> requests;
  // By group (-1: the batch) and name; no element: the shape differs, or one run lacks the array.
  std::map<std::pair<std::int32_t, std::string>, std::set<std::int64_t>> arrays;

  // What differs about a request, or about an array of a group; null: nothing does.
  const RequestDifferences* of(std::string_view request) const;
  const std::set<std::int64_t>* of(std::int32_t group, std::string_view array) const;
  bool empty() const { return requests.empty() && arrays.empty(); }
};

// The tooltip of what panels frame as different.
inline constexpr std::string_view kDiffers = "Differs from the other run in this step.";

// `a`, `b`: the arrays of both runs in that step; empty for a run that is at another step.
DifferenceMarks make_difference_marks(const DifferingStep& step, const NamedStepArrays& a,
                                      const NamedStepArrays& b);

}  // namespace hybridscope
