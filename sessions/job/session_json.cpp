#include "sessions/job/session_json.h"

#include <fmt/core.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/explain/explain_step.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/record/record_views.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/speech_json.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/step_record.h"
#include "sessions/record/value_names.h"
#include "sessions/run/spoken_words.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

nlohmann::ordered_json session_to_json(const SessionInfo& info) {
  nlohmann::ordered_json json = {{"name", info.header.name},
                                 {"kind", session_kind_name(info.header.kind)},
                                 {"status", session_status_name(info.status)},
                                 {"status_reason", info.status_reason},
                                 {"level", record_level_name(info.header.level)},
                                 {"source", info.header.source},
                                 {"model", info.header.model},
                                 {"mamba_cache_mode", info.mamba_cache_mode},
                                 {"engine", info.header.engine},
                                 {"num_speculative_tokens", info.num_speculative_tokens},
                                 {"num_steps", info.num_steps},
                                 {"num_request_steps", info.num_request_steps},
                                 {"num_errors", info.num_errors},
                                 {"num_warnings", info.num_warnings},
                                 {"created_us", info.created_us},
                                 {"program", info.program},
                                 {"note", info.note}};
  if (!info.header.parent_name.empty()) {
    json["parent"] = info.header.parent_name;
    json["forked_at"] = info.header.forked_at;
  }
  return json;
}

std::string cut_mark(const CutText& cut) {
  return fmt::format("... ({} bytes)", grouped_number(cut.bytes));
}

nlohmann::ordered_json query_value_to_json(const QueryValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* cut = std::get_if<CutText>(&value)) return cut->text + cut_mark(*cut);
  if (const auto* blob = std::get_if<BlobLength>(&value)) return {{"blob_bytes", blob->bytes}};
  return nullptr;
}

Names session_names(SessionPlayer& player) {
  return make_names(player.reader().info().header.config,
                    [&player](RequestId id) { return player.reader().request_name(id); });
}

bool knows_free_blocks(SessionPlayer& player) {
  return player.reader().info().header.kind != SessionKind::judge;
}

Result<nlohmann::ordered_json> recorded_step_to_json(SessionPlayer& player, std::int64_t step,
                                                     const Names& names) {
  if (Status gone = player.go_to(step); !gone.ok()) return gone.error();
  auto json = record_to_json(player.record(), player.reader().info().header.level, names);
  if (!knows_free_blocks(player)) json.erase("num_free_blocks");
  if (player.reader().info().header.language)
    json["speech"] = speech_to_json(player.record().speech);
  return json;
}

Result<std::string> explain_recorded_step(SessionPlayer& player, std::int64_t step,
                                          const Names& names) {
  // Reads other steps, so it comes before the player goes to this one.
  const auto findings = session_findings(player.reader(), names, step);
  if (!findings.ok()) return findings.error();
  if (Status gone = player.go_to(step); !gone.ok()) return gone.error();
  const SessionHeader& header = player.reader().info().header;
  if (header.level == RecordLevel::counts)
    return invalid_input(fmt::format(
        "session \"{}\" was recorded at level counts: it has sums and no decisions of step {}, "
        "expected level blocks or full (run --record-level)",
        header.name, step));
  RecordViews views(header.config);
  std::string text = explain_step(
      {.trace = views.attach(player.record(), player.worker_tables()),
       .config = header.config,
       .names = names,
       .scheduler_tables = player.scheduler_tables(),
       .findings = player.record().findings,
       .own_count = [&](RequestId request) { return player.reader().own_count(request, step); },
       .chain_words = findings.value().last_chain_words()});
  if (header.language) text += explain_speech(player.record().speech, *header.language, names);
  if (header.level != RecordLevel::full)
    text +=
        "\nRecorded at level blocks: decisions that change nothing, metadata and slots are not "
        "kept "
        "(--record-level full).\n";
  return text;
}

Result<FindingList> session_findings(SessionReader& reader, const Names& names, std::int64_t last) {
  const auto found = reader.findings(std::numeric_limits<std::int64_t>::max());
  if (!found.ok()) return found.error();
  std::optional<Error> error;
  FindingList list(reader.info().header.knows_own_counts());
  if (reader.info().header.language) list.set_runs_replays();
  const auto decide = [&](const Finding& root,
                          const std::optional<Finding>& warning) -> std::string {
    const auto record = reader.read(root.step);
    if (!record.ok()) {
      error = record.error();
      return {};
    }
    return root_decision(root, {.trace = record.value()->trace,
                                .names = names,
                                .own = reader.own_count(root.request, root.step),
                                .warning = warning});
  };
  for (const Finding& finding : found.value()) {
    if (finding.step > last) break;
    list.add_recorded(finding, names, decide);
    if (error) return *error;
  }
  return list;
}

FindingList::FindCauses session_cause_finder(const SessionInfo& info) {
  if (info.header.kind == SessionKind::judge) return {};
  auto read = read_session_plan(info.header.plan, info.header.name);
  if (!read.ok()) return {};
  const auto plan = std::make_shared<const RunPlan>(std::move(read).value());
  return [plan, scope = info.header.check](std::span<const Finding> findings) {
    return find_cause_words(*plan, findings, {.scope = scope});
  };
}

std::string show_step_words(const SessionPlace& place, std::int64_t step) {
  const std::string text = place.name.empty() ? place.file : place.file + ":" + place.name;
  return fmt::format("hybridscope sessions show {} --step {} --explain", shell_word(text), step);
}

namespace {

using Json = nlohmann::ordered_json;

// Takes the fields of sessions/record/step_fields.h whose names are in a list, separated by spaces:
// "FIELD", or "MEMBER=FIELD" where the object's member is called otherwise. Of two fields with one
// name the one that is visited first counts.
class JsonObject {
 public:
  JsonObject(std::string_view list, const Names& names) : names_(names) {
    for (const std::string& word : split_words(list)) {
      const std::size_t equals = word.find('=');  // npos + 1 is 0
      members_.push_back({word.substr(0, equals), word.substr(equals + 1), {}});
    }
  }

  template <class T>
  void operator()(std::string_view field, const T& value) {
    for (Member& member : members_)
      if (member.field == field && member.value.is_null()) member.value = value_of(value);
  }

  // Requires: every member's field was visited.
  Json take() {
    Json object = Json::object();
    for (Member& member : members_) {
      HS_EXPECT(!member.value.is_null());
      object.emplace(member.key, std::move(member.value));
    }
    return object;
  }

 private:
  struct Member {
    std::string key;
    std::string field;
    Json value;
  };

  template <class T>
  Json value_of(const T& value) const {
    if constexpr (std::is_enum_v<T>)
      return value_names::name(value);
    else if constexpr (std::is_same_v<T, RequestId>)
      return names_.request(value);
    else
      return value;
  }

  const Names& names_;
  std::vector<Member> members_;
};

constexpr std::string_view kRowMembers =
    "request class=row_class admission origin previous_row reported_num_computed_tokens "
    "num_computed_tokens num_scheduled_tokens num_draft_tokens num_output_placeholders "
    "num_hit_tokens num_accepted_tokens num_sampled_tokens";
constexpr std::string_view kCommitMembers =
    "request outcome num_computed_tokens num_tokens num_output_placeholders num_appended_tokens "
    "finished";
constexpr std::string_view kCopyMembers =
    "request group outcome src_col dst_col accept_token_bias conv_src_block temporal_src_block "
    "dst_block";
constexpr std::string_view kGraphMembers = "runtime_mode num_tokens_padded num_reqs_padded";
constexpr std::string_view kStepMembers =
    "time_us duration_us token_budget num_scheduled_tokens num_free_blocks";

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
