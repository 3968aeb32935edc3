#include "sessions/plan/step_time_fit.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostColumns = 4;
using ColumnValues = std::array<double, kMostColumns>;
using ColumnSet = std::array<bool, kMostColumns>;

// A column that is a combination of earlier ones in every row.
struct DependentColumn {
  std::size_t column = 0;
  ColumnSet on{};
};

constexpr double kDependent = 1e-10;  // of a column's square
constexpr double kNoPartOfIt = 1e-4;  // of a combination, columns scaled to length 1

// Least squares with at most four columns and coefficients that are not negative.
class SmallLeastSquares {
 public:
  // Adds weight * (sum of coefficients * row - target)^2 to what is minimised.
  void add(const ColumnValues& row, double target, double weight) {
    for (std::size_t i = 0; i < kMostColumns; ++i) {
      for (std::size_t j = 0; j < kMostColumns; ++j) products_[i][j] += weight * row[i] * row[j];
      targets_[i] += weight * row[i] * target;
    }
  }

  // Columns of `set` that are not 0 in every row.
  ColumnSet without_zero_columns(ColumnSet set) const {
    for (std::size_t i = 0; i < kMostColumns; ++i) set[i] = set[i] && products_[i][i] > 0;
    return set;
  }

  // The first of the set that depends on others of the set before it, up to 1e-10 of its square.
  // Requires: no column of the set is 0 in every row.
  std::optional<DependentColumn> dependent_column(const ColumnSet& set) const {
    return factor(set).dependent;
  }

  // The coefficients >= 0 with the least squares, 0 for columns outside of `set`: the best of all
  // subsets whose own solution has no negative coefficient. Same requirement; subsets with
  // dependent columns are passed over.
  ColumnValues solve(const ColumnSet& set) const {
    ColumnValues best{};
    double least = std::numeric_limits<double>::infinity();
    for (unsigned subset = 1U << kMostColumns; subset-- > 0;) {
      ColumnSet columns{};
      bool is_part = true;
      for (std::size_t i = 0; i < kMostColumns; ++i) {
        columns[i] = (subset >> i & 1U) != 0;
        is_part = is_part && (set[i] || !columns[i]);
      }
      const auto solution = is_part ? solve_exactly(columns) : std::nullopt;
      if (!solution || std::ranges::any_of(*solution, [](double value) { return value < 0; }))
        continue;
      if (columns == set) return *solution;  // nothing is better
      if (const double error = error_of(*solution); error < least) {
        least = error;
        best = *solution;
      }
    }
    return best;
  }

  // Variances of the coefficients for errors of variance 1: the diagonal of the inverse matrix of
  // the set's columns; 0 outside of it. Requires: no dependent column.
  ColumnValues variances(const ColumnSet& set) const {
    ColumnValues variances{};
    for (std::size_t i = 0; i < kMostColumns; ++i) {
      if (!set[i]) continue;
      SmallLeastSquares unit = *this;
      unit.targets_ = {};
      unit.targets_[i] = 1;
      variances[i] = unit.solve_exactly(set).value_or(ColumnValues{})[i];
    }
    return variances;
  }

 private:
  using Matrix = std::array<ColumnValues, kMostColumns>;
  // Cholesky's lower triangle of the products of columns scaled to length 1. Columns outside of the
  // set have rows of 0.
  struct Factor {
    Matrix lower{};
    ColumnValues lengths{};
    std::optional<DependentColumn> dependent;  // where it ended
  };

  Factor factor(const ColumnSet& set) const {
    Factor factor;
    Matrix& lower = factor.lower;
    for (std::size_t i = 0; i < kMostColumns; ++i) {
      if (!set[i]) continue;
      HS_EXPECT(products_[i][i] > 0);
      factor.lengths[i] = std::sqrt(products_[i][i]);
      double left = 1;
      for (std::size_t j = 0; j < i; ++j) {
        if (!set[j]) continue;
        double product = products_[i][j] / (factor.lengths[i] * factor.lengths[j]);
        for (std::size_t k = 0; k < j; ++k) product -= lower[i][k] * lower[j][k];
        lower[i][j] = product / lower[j][j];
        left -= lower[i][j] * lower[i][j];
      }
      if (left > kDependent) {
        lower[i][i] = std::sqrt(left);
        continue;
      }
      factor.dependent = DependentColumn{.column = i};
      ColumnValues part{};
      for (std::size_t j = i; j-- > 0;) {
        if (!set[j]) continue;
        double value = lower[i][j];
        for (std::size_t k = j + 1; k < i; ++k) value -= lower[k][j] * part[k];
        part[j] = value / lower[j][j];
        factor.dependent->on[j] = std::abs(part[j]) > kNoPartOfIt;
      }
      return factor;
    }
    return factor;
  }

  std::optional<ColumnValues> solve_exactly(const ColumnSet& set) const {
    const Factor of = factor(set);
    if (of.dependent) return std::nullopt;
    ColumnValues solution{};
    for (std::size_t i = 0; i < kMostColumns; ++i) {
      if (!set[i]) continue;
      double value = targets_[i] / of.lengths[i];
      for (std::size_t k = 0; k < i; ++k) value -= of.lower[i][k] * solution[k];
      solution[i] = value / of.lower[i][i];
    }
    for (std::size_t i = kMostColumns; i-- > 0;) {
      if (!set[i]) continue;
      for (std::size_t k = i + 1; k < kMostColumns; ++k)
        solution[i] -= of.lower[k][i] * solution[k];
      solution[i] /= of.lower[i][i];
    }
    for (std::size_t i = 0; i < kMostColumns; ++i)
      if (set[i]) solution[i] /= of.lengths[i];
    return solution;
  }

  // The sum of squares without the targets' own, which is the same for all coefficients.
  double error_of(const ColumnValues& coefficients) const {
    double error = 0;
    for (std::size_t i = 0; i < kMostColumns; ++i) {
      error -= 2 * coefficients[i] * targets_[i];
      for (std::size_t j = 0; j < kMostColumns; ++j)
        error += coefficients[i] * coefficients[j] * products_[i][j];
    }
    return error;
  }

  Matrix products_{};       // of columns
  ColumnValues targets_{};  // products of columns and target
};

static_assert(kNumFitTerms == kMostColumns);

constexpr int kMostRounds = 20;
constexpr int kMostDigits = 6;
constexpr int kFewestDigits = 2;
constexpr double kNothingUs = 1e-3;  // a term that never has more is 0

constexpr std::array<double StepTime::*, kNumFitTerms> kCoefficients = {
    &StepTime::base_us, &StepTime::prefill_us, &StepTime::decode_us, &StepTime::copied_byte_us};

ColumnValues columns_of(const TimedStep& step) {
  return {static_cast<double>(step.num_steps), static_cast<double>(step.work.prefill),
          static_cast<double>(step.work.decode), static_cast<double>(step.work.copied_bytes)};
}

double time_of(const TimedStep& step) {
  return static_cast<double>(std::max<std::int64_t>(step.time_us, 1));
}

StepTime step_time_of(const ColumnValues& coefficients) {
  StepTime time;
  for (std::size_t i = 0; i < kNumFitTerms; ++i) time.*kCoefficients[i] = coefficients[i];
  return time;
}

enum class Errors : std::uint8_t { absolute, relative };

SmallLeastSquares squares_of(std::span<const TimedStep> steps, const std::vector<bool>& counts,
                             Errors errors) {
  SmallLeastSquares squares;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double time = time_of(steps[i]);
    if (counts[i])
      squares.add(columns_of(steps[i]), time, errors == Errors::relative ? 1 / (time * time) : 1);
  }
  return squares;
}

std::string amount_words(std::size_t term) {
  constexpr std::array<std::string_view, kNumFitTerms> kWords = {
      "the base", "tokens of prefills", "tokens of decodes", "copied bytes"};
  return std::string(kWords[term]);
}

Error told_apart_error(const DependentColumn& column) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    if (column.on[i]) others.push_back(amount_words(i));
  const std::string name = amount_words(column.column);
  const std::string what = others == std::vector<std::string>{"the base"}
                               ? fmt::format("the number of {} is the same in every step", name)
                               : fmt::format("the number of {} follows from {} in every step", name,
                                             fmt::join(others, " and "));
  return invalid_input(what +
                       ", so that their times cannot be told apart; record other mixes of "
                       "requests, or leave one of the terms out (--without)");
}

// What a term adds to a step at most, in microseconds.
double most_of(std::span<const TimedStep> steps, const std::vector<bool>& counts, std::size_t term,
               double coefficient) {
  double most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (counts[i]) most = std::max(most, coefficient * columns_of(steps[i])[term]);
  return most;
}

// To one digit behind the first of its error.
double rounded(double value, double error) {
  if (value == 0) return 0;
  int digits = kMostDigits;
  if (error > 0)
    digits = static_cast<int>(std::floor(std::log10(value)) - std::floor(std::log10(error))) + 2;
  char text[32];
  const auto [end, written] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general,
                    std::clamp(digits, kFewestDigits, kMostDigits));
  double result = value;
  if (written == std::errc()) std::from_chars(text, end, result);
  return result;
}

// Which steps are not slow, found round by round.
std::vector<bool> without_slow_steps(std::span<const TimedStep> steps, const ColumnSet& wanted) {
  std::vector<bool> counts(steps.size(), true);
  for (int round = 0; round < kMostRounds; ++round) {
    const SmallLeastSquares squares = squares_of(steps, counts, Errors::relative);
    const StepTime time = step_time_of(squares.solve(squares.without_zero_columns(wanted)));
    std::vector<bool> next(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      next[i] = time_of(steps[i]) <= kSlowStepFactor * std::max(time_by(time, steps[i]), 1.0);
    if (next == counts || std::ranges::count(next, true) == 0) break;
    counts = std::move(next);
  }
  return counts;
}

void measure_errors(std::span<const TimedStep> steps, const std::vector<bool>& counts,
                    StepTimeFit& fit) {
  std::vector<double> relative;
  double mean = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (counts[i]) mean += time_of(steps[i]);
  mean /= static_cast<double>(steps.size() - fit.left_out.size());
  double squares = 0;
  double around_mean = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!counts[i]) continue;
    const double time = time_of(steps[i]);
    const double error = time_by(fit.time, steps[i]) - time;
    relative.push_back(std::abs(error) / time);
    squares += error * error;
    around_mean += (time - mean) * (time - mean);
  }
  std::ranges::sort(relative);
  fit.median_error = relative[(relative.size() + 1) / 2 - 1];
  fit.p90_error = relative[(relative.size() * 9 + 9) / 10 - 1];
  if (around_mean > 0) fit.r_squared = 1 - squares / around_mean;
}

double squared_errors(std::span<const TimedStep> steps, const std::vector<bool>& counts,
                      const StepTime& time) {
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (counts[i]) sum += std::pow(time_by(time, steps[i]) - time_of(steps[i]), 2);
  return sum;
}

// Coefficients, and what became of each term.
ColumnSet fit_terms(std::span<const TimedStep> steps, const std::vector<bool>& counts,
                    const ColumnSet& usable, const ColumnSet& wanted, ColumnValues& coefficients,
                    StepTimeFit& fit) {
  ColumnSet fitted{};
  for (std::size_t i = 0; i < kNumFitTerms; ++i) {
    FittedTerm& term = fit.terms[i];
    fitted[i] = usable[i] && most_of(steps, counts, i, coefficients[i]) > kNothingUs;
    if (!fitted[i]) coefficients[i] = 0;
    term.fit = fitted[i]   ? TermFit::fitted
               : usable[i] ? TermFit::at_zero
               : wanted[i] ? TermFit::never_seen
                           : TermFit::not_wanted;
  }
  return fitted;
}

// Adds the standard errors that follow from independent errors that are alike in all steps.
void add_standard_errors(double squared_errors, std::size_t num_samples,
                         const ColumnValues& variances, StepTimeFit& fit) {
  const auto num_fitted = std::ranges::count(fit.terms, TermFit::fitted,
                                             [](const FittedTerm& term) { return term.fit; });
  const double variance =
      squared_errors / (static_cast<double>(num_samples) - static_cast<double>(num_fitted));
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    fit.terms[i].standard_error_us = std::sqrt(std::max(variances[i], 0.0) * variance);
}

}  // namespace

double time_by(const StepTime& formula, const TimedStep& step) {
  return formula.of(step.work) + formula.base_us * static_cast<double>(step.num_steps - 1);
}

Result<StepTimeFit> fit_step_time(std::span<const TimedStep> steps,
                                  const std::array<bool, kNumFitTerms>& wanted) {
  if (steps.size() < kFewestTimedSteps)
    return invalid_input(fmt::format("{} with a time, expected at least {}",
                                     counted(std::ssize(steps), "step"), kFewestTimedSteps));
  const std::vector<bool> counts = without_slow_steps(steps, wanted);
  StepTimeFit fit;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (counts[i])
      fit.num_steps += steps[i].num_steps;
    else
      fit.left_out.push_back(i);
  }
  const std::size_t num_samples = steps.size() - fit.left_out.size();
  if (num_samples < kFewestTimedSteps)
    return invalid_input(
        fmt::format("{}, of which {} took more than {} times as long as the others say, expected "
                    "at least {} others",
                    counted(std::ssize(steps), "step"), fit.left_out.size(), kSlowStepFactor,
                    kFewestTimedSteps));
  const SmallLeastSquares squares = squares_of(steps, counts, Errors::absolute);
  const ColumnSet usable = squares.without_zero_columns(wanted);
  if (const auto dependent = squares.dependent_column(usable)) return told_apart_error(*dependent);
  ColumnValues coefficients = squares.solve(usable);
  const ColumnSet fitted = fit_terms(steps, counts, usable, wanted, coefficients, fit);
  add_standard_errors(squared_errors(steps, counts, step_time_of(coefficients)), num_samples,
                      squares.variances(fitted), fit);
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    coefficients[i] = rounded(coefficients[i], fit.terms[i].standard_error_us);
  fit.time = step_time_of(coefficients);
  measure_errors(steps, counts, fit);
  return fit;
}

}  // namespace hybridscope
