#include "sessions/job/step_json.h"

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/value_names.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// A member of an object: a field of sessions/record/step_fields.h.
struct WrittenMember {
  constexpr WrittenMember(std::string_view field_name) : key(field_name), field(field_name) {}
  constexpr WrittenMember(std::string_view json_key, std::string_view field_name)
      : key(json_key), field(field_name) {}
  std::string_view key;
  std::string_view field;
};

// Takes fields by their names. Of two with one name the one that is visited first counts.
template <std::size_t N>
class JsonObject {
 public:
  JsonObject(const std::array<WrittenMember, N>& members, const Names& names)
      : members_(members), names_(names) {}

  template <class T>
  void operator()(std::string_view field, const T& value) {
    for (std::size_t i = 0; i < N; ++i)
      if (members_[i].field == field && values_[i].is_null()) values_[i] = value_of(value);
  }

  // Requires: every member's field was visited.
  Json take() {
    Json object = Json::object();
    for (std::size_t i = 0; i < N; ++i) {
      HS_EXPECT(!values_[i].is_null());
      object.emplace(members_[i].key, std::move(values_[i]));
    }
    return object;
  }

 private:
  template <class T>
  Json value_of(const T& value) const {
    if constexpr (std::is_enum_v<T>)
      return value_names::name(value);
    else if constexpr (std::is_same_v<T, RequestId>)
      return names_.request(value);
    else
      return value;
  }

  const std::array<WrittenMember, N>& members_;
  const Names& names_;
  std::array<Json, N> values_{};
};

constexpr std::array<WrittenMember, 13> kRowMembers = {{{"request"},
                                                        {"class", "row_class"},
                                                        {"admission"},
                                                        {"origin"},
                                                        {"previous_row"},
                                                        {"reported_num_computed_tokens"},
                                                        {"num_computed_tokens"},
                                                        {"num_scheduled_tokens"},
                                                        {"num_draft_tokens"},
                                                        {"num_output_placeholders"},
                                                        {"num_hit_tokens"},
                                                        {"num_accepted_tokens"},
                                                        {"num_sampled_tokens"}}};
constexpr std::array<WrittenMember, 7> kCommitMembers = {{{"request"},
                                                          {"outcome"},
                                                          {"num_computed_tokens"},
                                                          {"num_tokens"},
                                                          {"num_output_placeholders"},
                                                          {"num_appended_tokens"},
                                                          {"finished"}}};
constexpr std::array<WrittenMember, 9> kCopyMembers = {{{"request"},
                                                        {"group"},
                                                        {"outcome"},
                                                        {"src_col"},
                                                        {"dst_col"},
                                                        {"accept_token_bias"},
                                                        {"conv_src_block"},
                                                        {"temporal_src_block"},
                                                        {"dst_block"}}};
constexpr std::array<WrittenMember, 3> kGraphMembers = {
    {{"runtime_mode"}, {"num_tokens_padded"}, {"num_reqs_padded"}}};
constexpr std::array<WrittenMember, 5> kStepMembers = {{{"time_us"},
                                                        {"duration_us"},
                                                        {"token_budget"},
                                                        {"num_scheduled_tokens"},
                                                        {"num_free_blocks"}}};

Json rows_to_json(const StepTrace& trace, const Names& names) {
  Json rows = Json::array();
  for (const RowTrace& row : trace.rows) {
    JsonObject object(kRowMembers, names);
    for_each_scheduled_field(trace.scheduled_of(row), object);
    for_each_row_field(row, object);
    for_each_layout_field(row, object);
    rows.push_back(object.take());
    if (row.slot >= 0) rows.back()["slot"] = row.slot;
  }
  return rows;
}

Json committed_to_json(const StepTrace& trace, const Names& names) {
  Json committed = Json::array();
  for (const CommitTrace& commit : trace.committed) {
    JsonObject object(kCommitMembers, names);
    for_each_commit_field(commit, object);
    committed.push_back(object.take());
  }
  return committed;
}

Json copies_to_json(const CopyLaunch& launch, const Names& names) {
  Json copies = Json::array();
  for (const StateCopyTrace& copy : launch.copies) {
    JsonObject object(kCopyMembers, names);
    for_each_copy_field(copy, object);
    for_each_decision_field(launch.decisions[static_cast<std::size_t>(copy.decision)], object);
    copies.push_back(object.take());
  }
  return copies;
}

Json names_of(const std::vector<RequestId>& requests, const Names& names) {
  Json list = Json::array();
  for (const RequestId request : requests) list.push_back(names.request(request));
  return list;
}

}  // namespace

Json step_to_json(const StepTrace& trace, const Names& names, std::span<const Finding> findings) {
  Json skipped = Json::array();
  for (const SkippedRequest& skip : trace.skipped)
    skipped.push_back(
        {{"request", names.request(skip.request)}, {"reason", explain_skip(skip.reason)}});
  Json found = Json::array();
  for (const Finding& finding : findings) found.push_back(finding_to_json(finding, names));
  JsonObject graph(kGraphMembers, names);
  for_each_graph_field(trace, graph);
  JsonObject step(kStepMembers, names);
  for_each_step_field(trace, step);
  Json json = {{"step", trace.step}};
  json.update(step.take());
  json.update(Json{{"rows", rows_to_json(trace, names)},
                   {"skipped", skipped},
                   {"preempted", names_of(trace.preempted, names)},
                   {"graph", graph.take()},
                   {"pre_copies", copies_to_json(trace.pre_copies, names)},
                   {"post_copies", copies_to_json(trace.post_copies, names)},
                   {"committed_step", trace.committed_step},
                   {"committed", committed_to_json(trace, names)},
                   {"findings", found}});
  return json;
}

nlohmann::ordered_json record_to_json(const StepRecord& record, RecordLevel level,
                                      const Names& names) {
  Json json = {{"step", record.trace.step}, {"level", record_level_name(level)}};
  json.update(step_to_json(record.trace, names, record.findings));
  if (level == RecordLevel::counts)
    for (const char* list :
         {"rows", "skipped", "preempted", "pre_copies", "post_copies", "committed"})
      json.erase(list);
  Json& counts = json["counts"] = Json::object();
  for_each_count_field(record.counts,
                       [&counts](const char* name, auto count) { counts[name] = count; });
  return json;
}

}  // namespace hybridscope
