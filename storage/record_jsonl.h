// A recorded session as JSON Lines (docs/session-format.md): a header, a line a step with
// everything of its record, a last line that says how the run ended. What is written is read back
// equal.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"
#include "storage/block_rows.h"

namespace hybridscope {

inline constexpr std::int32_t kRecordJsonlVersion = 1;

struct SessionEnd {
  SessionStatus status = SessionStatus::complete;
  std::string reason;
  std::string note;
  std::vector<std::pair<std::int64_t, std::string>> bookmarks;  // step, note
  std::int64_t num_steps = 0;
  friend bool operator==(const SessionEnd&, const SessionEnd&) = default;
};

// Lines come without their newline.
class RecordJsonlWriter {
 public:
  explicit RecordJsonlWriter(std::function<std::string(RequestId)> name) : name_(std::move(name)) {}

  // `config` stays out, it follows from the plan.
  std::string header(const SessionHeader& header) const;
  std::string step(const StepRecord& record);
  std::string end(const SessionEnd& end) const;

 private:
  struct Packer;
  void see(RequestId request);

  std::function<std::string(RequestId)> name_;
  std::vector<bool> known_;           // [requests]
  std::vector<RequestId> new_names_;  // of the step at hand
};

// Takes the lines one after another. Errors are corrupt or invalid_input and say "FILE:LINE:
// POINTER: what was found and what was expected".
class RecordJsonlReader {
 public:
  explicit RecordJsonlReader(std::string file) : file_(std::move(file)) {}

  // The first line, with the config that its plan gives.
  Result<SessionHeader> read_header(std::string_view line, std::int64_t line_number);
  // Any line behind it. False: it was the last one, end() has what it says.
  Result<bool> read_step(std::string_view line, std::int64_t line_number, StepRecord& record);
  // Has the last line been read?
  const std::optional<SessionEnd>& end() const { return end_; }

  // Empty for a number that no step has named.
  std::string request_name(RequestId request) const;

 private:
  struct Unpacker;
  using Json = nlohmann::json;
  Result<Json> parse(std::string_view line, std::int64_t line_number) const;
  Error fault(const std::string& pointer, const std::string& text) const;
  Status read_end(const Json& json);
  Status read_names(const Json& json);
  Status check(const StepRecord& record) const;
  Status check_blocks(const StepRecord& record) const;
  std::string_view keep(const std::string& text);

  std::string file_;
  std::int64_t line_ = 0;
  BlockLimits limits_;
  RecordLevel level_ = RecordLevel::blocks;
  std::vector<std::string> names_;  // [requests]
  std::deque<std::string> texts_;   // what records' views refer to
  std::optional<SessionEnd> end_;
  std::int64_t last_step_ = 0;
  std::int64_t num_steps_ = 0;
};

}  // namespace hybridscope
