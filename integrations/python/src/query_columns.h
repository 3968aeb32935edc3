// The answer of a query by column, numbers packed; knows nothing of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "storage/session_query.h"

namespace hybridscope {

// A column holds whole numbers as long as nothing else comes, then real numbers, then any values.
class QueryColumn {
 public:
  enum class Kind : std::uint8_t { whole, real, any };

  explicit QueryColumn(std::string name) : name_(std::move(name)) {}

  void add(const QueryValue& value);

  const std::string& name() const { return name_; }
  Kind kind() const { return kind_; }
  // The column's values lie in the list of its kind(); 0 stands where a value is NULL.
  const std::vector<std::int64_t>& whole() const { return whole_; }      // [rows]
  const std::vector<double>& real() const { return real_; }              // [rows]
  const std::vector<QueryValue>& any() const { return any_; }            // [rows]
  const std::vector<std::uint8_t>& missing() const { return missing_; }  // [rows] 1: NULL
  bool has_missing() const { return has_missing_; }

 private:
  void widen(Kind kind);

  std::string name_;
  Kind kind_ = Kind::whole;
  std::vector<std::int64_t> whole_;
  std::vector<double> real_;
  std::vector<QueryValue> any_;
  std::vector<std::uint8_t> missing_;
  bool has_missing_ = false;
};

// Errors: those of run_query.
Result<std::vector<QueryColumn>> query_columns(const SessionFile& file, std::string_view sql);

}  // namespace hybridscope
