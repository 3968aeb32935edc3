// A recorded session as JSON Lines (docs/session-format.md): a header, one line per step with its
// complete record, and a last line that says how the run ended. Reading gives back what was
// written.
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

// Returns lines without their newline.
class RecordJsonlWriter {
 public:
  explicit RecordJsonlWriter(std::function<std::string(RequestId)> name) : name_(std::move(name)) {}

  // Leaves out `config`, which follows from the plan.
  std::string header(const SessionHeader& header) const;
  std::string step(const StepRecord& record);
  std::string end(const SessionEnd& end) const;

 private:
  struct Packer;
  void see(RequestId request);

  std::function<std::string(RequestId)> name_;
  std::vector<bool> known_;           // [requests]
  std::vector<RequestId> new_names_;  // named first by the current step
};

// Takes the lines in order. Errors are corrupt or invalid_input: "FILE:LINE: POINTER: what was
// found and what was expected".
class RecordJsonlReader {
 public:
  explicit RecordJsonlReader(std::string file) : file_(std::move(file)) {}

  // Reads the first line; the header's config is made from its plan.
  Result<SessionHeader> read_header(std::string_view line, std::int64_t line_number);
  // Reads any later line. False: it was the last line, and end() has its content.
  Result<bool> read_step(std::string_view line, std::int64_t line_number, StepRecord& record);
  // Empty until the last line has been read.
  const std::optional<SessionEnd>& end() const { return end_; }

  // Empty for a number that no step has named yet.
  std::string request_name(RequestId request) const;

 private:
  struct Unpacker;
  using Json = nlohmann::json;
  // A line that is an object. The functions below throw a JsonFault of it.
  Result<Json> parse(std::string_view line, std::int64_t line_number);
  std::string place() const;
  Result<SessionHeader> header_of(const Json& object);
  bool step_of(const Json& object, StepRecord& record);
  void read_end(const Json& object);
  void read_names(const Json& object);
  void read_spoken(const Json& object, StepRecord& record) const;
  void check(const StepRecord& record) const;
  void check_blocks(const StepRecord& record) const;
  std::string_view keep(const std::string& text);

  std::string file_;
  std::int64_t line_ = 0;
  BlockLimits limits_;
  RecordLevel level_ = RecordLevel::blocks;
  std::optional<SpeechInfo> language_;
  std::vector<std::string> names_;  // [requests]
  std::deque<std::string> texts_;   // storage of the records' views
  std::optional<SessionEnd> end_;
  std::vector<std::int64_t> steps_;  // that were read, ascending
};

}  // namespace hybridscope
