#include "sessions/plan/small_least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace hybridscope {
namespace {

constexpr double kDependent = 1e-10;  // of a column's square
constexpr double kNoPartOfIt = 1e-4;  // of a combination, columns scaled to length 1

}  // namespace

// Cholesky's lower triangle of the products of columns scaled to length 1. Columns outside of the
// set have rows of 0.
struct SmallLeastSquares::Factor {
  Matrix lower{};
  ColumnValues lengths{};
  std::optional<DependentColumn> dependent;  // where it ended
};

void SmallLeastSquares::add(const ColumnValues& row, double target, double weight) {
  for (std::size_t i = 0; i < kMostColumns; ++i) {
    for (std::size_t j = 0; j < kMostColumns; ++j) products_[i][j] += weight * row[i] * row[j];
    targets_[i] += weight * row[i] * target;
  }
}

ColumnSet SmallLeastSquares::without_zero_columns(ColumnSet set) const {
  for (std::size_t i = 0; i < kMostColumns; ++i) set[i] = set[i] && products_[i][i] > 0;
  return set;
}

SmallLeastSquares::Factor SmallLeastSquares::factor(const ColumnSet& set) const {
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

std::optional<DependentColumn> SmallLeastSquares::dependent_column(const ColumnSet& set) const {
  return factor(set).dependent;
}

std::optional<ColumnValues> SmallLeastSquares::solve_exactly(const ColumnSet& set) const {
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
    for (std::size_t k = i + 1; k < kMostColumns; ++k) solution[i] -= of.lower[k][i] * solution[k];
    solution[i] /= of.lower[i][i];
  }
  for (std::size_t i = 0; i < kMostColumns; ++i)
    if (set[i]) solution[i] /= of.lengths[i];
  return solution;
}

// The sum of squares without the targets' own, which is the same for all coefficients.
double SmallLeastSquares::error_of(const ColumnValues& coefficients) const {
  double error = 0;
  for (std::size_t i = 0; i < kMostColumns; ++i) {
    error -= 2 * coefficients[i] * targets_[i];
    for (std::size_t j = 0; j < kMostColumns; ++j)
      error += coefficients[i] * coefficients[j] * products_[i][j];
  }
  return error;
}

ColumnValues SmallLeastSquares::solve(const ColumnSet& set) const {
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

ColumnValues SmallLeastSquares::variances(const ColumnSet& set) const {
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

}  // namespace hybridscope
