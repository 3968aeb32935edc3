// A session of a file, open for reading; knows nothing of Python.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "storage/session_player.h"
#include "storage/session_query.h"

namespace hybridscope {

// The answer of a query by column, numbers packed; knows nothing of Python.

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

class OpenSession {
 public:
  // Errors: those of SessionPlayer::open and SessionFile::open.
  static Result<std::unique_ptr<OpenSession>> open(const std::string& place);
  OpenSession(const OpenSession&) = delete;  // the names refer to the player
  OpenSession& operator=(const OpenSession&) = delete;

  // Error not_available for this and all below: after close().
  Result<nlohmann::ordered_json> info();
  Result<std::int64_t> number();
  Result<std::vector<std::int64_t>> steps();
  Result<nlohmann::ordered_json> step(std::int64_t step);
  Result<std::string> explain(std::int64_t step);
  Result<std::vector<QueryColumn>> query(std::string_view sql);

  void close();

 private:
  OpenSession(SessionFile file, std::unique_ptr<SessionPlayer> player);
  Status check_open() const;

  std::optional<SessionFile> file_;
  std::unique_ptr<SessionPlayer> player_;
  Names names_;
};

// The sessions of a file as `sessions list --json` prints them.
Result<nlohmann::ordered_json> list_sessions(const std::string& file);

}  // namespace hybridscope
