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
#include "integrations/python/src/query_columns.h"
#include "sessions/explain/explain_names.h"
#include "storage/session_player.h"

namespace hybridscope {

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
