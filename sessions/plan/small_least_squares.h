// Least squares with at most four columns and coefficients that are not negative.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace hybridscope {

inline constexpr std::size_t kMostColumns = 4;
using ColumnValues = std::array<double, kMostColumns>;
using ColumnSet = std::array<bool, kMostColumns>;

// A column that is a combination of earlier ones in every row.
struct DependentColumn {
  std::size_t column = 0;
  ColumnSet on{};
};

class SmallLeastSquares {
 public:
  // Adds weight * (sum of coefficients * row - target)^2 to what is minimised.
  void add(const ColumnValues& row, double target, double weight);

  // Columns of `set` that are not 0 in every row.
  ColumnSet without_zero_columns(ColumnSet set) const;

  // The first of the set that depends on others of the set before it, up to 1e-10 of its square.
  // Requires: no column of the set is 0 in every row.
  std::optional<DependentColumn> dependent_column(const ColumnSet& set) const;

  // The coefficients >= 0 with the least squares, 0 for columns outside of `set`: the best of all
  // subsets whose own solution has no negative coefficient. Same requirement; subsets with
  // dependent columns are passed over.
  ColumnValues solve(const ColumnSet& set) const;

  // Variances of the coefficients for errors of variance 1: the diagonal of the inverse matrix of
  // the set's columns; 0 outside of it. Requires: no dependent column.
  ColumnValues variances(const ColumnSet& set) const;

 private:
  using Matrix = std::array<ColumnValues, kMostColumns>;
  struct Factor;
  Factor factor(const ColumnSet& set) const;
  std::optional<ColumnValues> solve_exactly(const ColumnSet& set) const;
  double error_of(const ColumnValues& coefficients) const;

  Matrix products_{};       // of columns
  ColumnValues targets_{};  // products of columns and target
};

}  // namespace hybridscope
