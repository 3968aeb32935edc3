// The step time that describes measured steps best: least squares with coefficients that are not
// negative (docs/plan.md, "Fit the step time to a recorded run").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_run.h"

namespace hybridscope {

// A fit of fewer steps says nothing.
inline constexpr std::size_t kFewestTimedSteps = 10;
// A step that takes more than so many times what the others say is left out.
inline constexpr double kSlowStepFactor = 3;

// A step, or several whose times can only be told together.
struct TimedStep {
  StepWork work;             // of all of them
  std::int64_t time_us = 0;  // 0 and up
  std::int64_t num_steps = 1;
};

enum class FitTerm : std::uint8_t { base, prefill, decode, copied_bytes };
inline constexpr std::array<std::string_view, 4> kFitTermNames = {"base", "prefill", "decode",
                                                                  "copied_bytes"};
inline constexpr std::size_t kNumFitTerms = kFitTermNames.size();

enum class TermFit : std::uint8_t {
  fitted,
  at_zero,     // with a negative coefficient the formula would fit better
  never_seen,  // 0 in every step: its coefficient is not known
  not_wanted,
};

struct FittedTerm {
  TermFit fit = TermFit::not_wanted;
  double standard_error_us = 0;  // of the coefficient, if it is fitted
};

struct StepTimeFit {
  // Rounded to what its standard error leaves certain, at most six digits.
  StepTime time;
  std::array<FittedTerm, kNumFitTerms> terms;  // by FitTerm
  std::int64_t num_steps = 0;                  // that were fitted
  std::vector<std::size_t> left_out;           // slow ones: indices, ascending
  // |formula - time| / time of the fitted steps, as a share: half of them and nine of ten have no
  // more.
  double median_error = 0;
  double p90_error = 0;
  // 1 - (squared errors) / (squared distances from the mean); empty: all times are equal.
  std::optional<double> r_squared;
};

// The time by the formula, in microseconds.
double time_by(const StepTime& formula, const TimedStep& step);

// `wanted`: terms that the formula may have, by FitTerm. Slow steps are found with a fit of
// relative errors, to which a step counts as much whether it is far too slow or very far; they are
// left out as long as that finds more. Errors: fewer than kFewestTimedSteps, and terms that cannot
// be told apart because one follows from others in every step.
Result<StepTimeFit> fit_step_time(std::span<const TimedStep> steps,
                                  const std::array<bool, kNumFitTerms>& wanted);

}  // namespace hybridscope
