#include "integrations/python/src/query_columns.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hybridscope {
namespace {

QueryColumn::Kind kind_of(const QueryValue& value) {
  if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::monostate>(value))
    return QueryColumn::Kind::whole;
  return std::holds_alternative<double>(value) ? QueryColumn::Kind::real : QueryColumn::Kind::any;
}

}  // namespace

void QueryColumn::widen(Kind kind) {
  if (kind == Kind::real) {
    real_.assign(whole_.begin(), whole_.end());
  } else {
    for (std::size_t row = 0; row < missing_.size(); ++row) {
      if (missing_[row] != 0)
        any_.emplace_back();
      else if (kind_ == Kind::whole)
        any_.emplace_back(whole_[row]);
      else
        any_.emplace_back(real_[row]);
    }
    real_.clear();
  }
  whole_.clear();
  kind_ = kind;
}

void QueryColumn::add(const QueryValue& value) {
  if (const Kind kind = std::max(kind_, kind_of(value)); kind != kind_) widen(kind);
  const bool is_missing = std::holds_alternative<std::monostate>(value);
  missing_.push_back(is_missing);
  has_missing_ = has_missing_ || is_missing;
  if (kind_ == Kind::any) {
    any_.push_back(value);
    return;
  }
  const auto* const whole = std::get_if<std::int64_t>(&value);
  const auto* const real = std::get_if<double>(&value);
  if (kind_ == Kind::whole)
    whole_.push_back(whole != nullptr ? *whole : 0);
  else
    real_.push_back(real != nullptr ? *real : whole != nullptr ? static_cast<double>(*whole) : 0.0);
}

Result<std::vector<QueryColumn>> query_columns(const SessionFile& file, std::string_view sql) {
  std::vector<QueryColumn> columns;
  const Status done = run_query(file, sql,
                                {.columns =
                                     [&](const std::vector<std::string>& names) {
                                       for (const std::string& name : names)
                                         columns.emplace_back(name);
                                     },
                                 .row =
                                     [&](const std::vector<QueryValue>& values) {
                                       for (std::size_t i = 0; i < values.size(); ++i)
                                         columns[i].add(values[i]);
                                       return true;
                                     }});
  if (!done.ok()) return done.error();
  return columns;
}

}  // namespace hybridscope
