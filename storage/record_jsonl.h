// A recorded session as JSON Lines (docs/session-format.md): a header, one line per step with its
// complete record, and a last line that says how the run ended. Reading gives back what was
// written.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"
#include "storage/held_blocks.h"
#include "storage/table_cursor.h"

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

// Remembers the requests that a session's steps have named so far.
class NewRequests {
 public:
  // The requests that the record names first, in the order of its lists.
  std::vector<RequestId> of(const StepRecord& record);

 private:
  std::vector<bool> known_;  // [requests]
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
  std::function<std::string(RequestId)> name_;
  NewRequests new_requests_;
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

namespace hybridscope::fields {

// A StepRecord as lists of rows of fields, shared by the reader and the writer of JSON Lines. Lists
// inside a row (the groups of a lookup) are rows too.

inline constexpr auto kLookupRow = [](auto& lookup, auto& visit) {
  for_each_lookup_field(lookup, visit);
  visit("groups", lookup.explanation.groups);
};
inline constexpr auto kRowWithPlace = [](auto& row, auto& visit) {
  visit("scheduled", row.scheduled);
  visit("request", row.request);
  kRow(row, visit);
};
inline constexpr auto kDecisionRow = [](auto& decided, auto& visit) {
  visit("row", decided.row);
  for_each_decision_field(decided, visit);
};
inline constexpr auto kGroupRow = [](auto& group, auto& visit) {
  visit("group", group.group);
  visit("is_mamba", group.is_mamba);
  visit("block_size", group.block_size);
  for_each_group_field(group, visit);
  visit("attention_writes", group.attention_writes);
};
inline constexpr auto kArrayRow = [](auto& array, auto& visit) {
  kArray(array, visit);
  visit("present", array.present);
  visit("values", array.values);
};

// The fields of a nested row.
inline auto fields_inside(const GroupLookup&) { return kGroupLookup; }
inline auto fields_inside(const AttentionWrite&) { return kAttentionWrite; }

// Calls visit(name, list, fields) for every list of a record; `Record` may be const.
template <class Record, class Visit>
void for_each_list(Record& record, Visit&& visit) {
  auto& trace = record.trace;
  visit("commands", trace.commands, kCommand);
  visit("preempted", trace.preempted, kPreempted);
  visit("skipped", trace.skipped, kSkipped);
  visit("token_terms", trace.token_terms, kTerms);
  visit("lookups", trace.lookups, kLookupRow);
  visit("committed", trace.committed, kCommit);
  visit("scheduled", trace.scheduled, kScheduled);
  visit("rows", trace.rows, kRowWithPlace);
  visit("groups", trace.groups, kGroupRow);
  visit("cache_events", trace.cache_events, kEvent);
  visit("commit_events", trace.commit_events, kEvent);
  visit("worker_changes", record.worker_changes, kChange);
  visit("pre_decisions", trace.pre_copies.decisions, kDecisionRow);
  visit("pre_copies", trace.pre_copies.copies, kCopy);
  visit("post_decisions", trace.post_copies.decisions, kDecisionRow);
  visit("post_copies", trace.post_copies.copies, kCopy);
  visit("arrays", record.arrays, kArrayRow);
  visit("writes", record.writes, kWrite);
  visit("findings", record.findings, kFinding);
}

// The rows that every step has exactly once.
template <class Record, class Visit>
void for_each_single(Record& record, Visit&& visit) {
  visit("step_fields", record, kStep);
  visit("digests", record.digests, kDigests);
  visit("graph", record.trace, kGraph);
}

}  // namespace hybridscope::fields
