// The differences of a step between two compared runs, by what panels draw: the requests, cells,
// rows and elements that the list of differences names.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gui/model/step_arrays.h"

namespace hybridscope {

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
