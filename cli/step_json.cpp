#include "cli/step_json.h"

#include <nlohmann/json.hpp>

#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_dispatch.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/explain/trace_names.h"
#include "sessions/record/session_header.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json rows_to_json(const StepTrace& trace, const Names& names) {
  Json rows = Json::array();
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    rows.push_back({{"request", names.request(row.request)},
                    {"class", row_class_name(row.row_class)},
                    {"admission", admission_name(scheduled.admission)},
                    {"origin", row_origin_name(row.origin)},
                    {"previous_row", row.previous_row},
                    {"reported_num_computed_tokens", scheduled.num_computed_tokens},
                    {"num_computed_tokens", row.num_computed_tokens},
                    {"num_scheduled_tokens", scheduled.num_scheduled_tokens},
                    {"num_draft_tokens", scheduled.num_draft_tokens},
                    {"num_output_placeholders", scheduled.num_output_placeholders},
                    {"num_hit_tokens", scheduled.num_hit_tokens},
                    {"num_accepted_tokens", row.num_accepted_tokens},
                    {"num_sampled_tokens", row.num_sampled_tokens}});
    if (row.slot >= 0) rows.back()["slot"] = row.slot;
  }
  return rows;
}

Json committed_to_json(const StepTrace& trace, const Names& names) {
  Json committed = Json::array();
  for (const CommitTrace& commit : trace.committed)
    committed.push_back({{"request", names.request(commit.request)},
                         {"outcome", commit_outcome_name(commit.outcome)},
                         {"num_computed_tokens", commit.num_computed_tokens},
                         {"num_tokens", commit.num_tokens},
                         {"num_output_placeholders", commit.num_output_placeholders},
                         {"num_appended_tokens", commit.num_appended_tokens},
                         {"finished", commit.finished}});
  return committed;
}

Json copies_to_json(const CopyLaunch& launch, const Names& names) {
  Json copies = Json::array();
  for (const StateCopyTrace& copy : launch.copies) {
    const CopyDecisionTrace& decision = launch.decisions[static_cast<std::size_t>(copy.decision)];
    copies.push_back({{"request", names.request(decision.request)},
                      {"group", copy.group},
                      {"outcome", outcome_name(decision.decision.outcome)},
                      {"src_col", decision.decision.src_col},
                      {"dst_col", decision.decision.dst_col},
                      {"accept_token_bias", copy.accept_token_bias},
                      {"conv_src_block", copy.conv_src_block},
                      {"temporal_src_block", copy.temporal_src_block},
                      {"dst_block", copy.dst_block}});
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
  return {{"step", trace.step},
          {"time_us", trace.time_us},
          {"duration_us", trace.duration_us},
          {"token_budget", trace.token_budget},
          {"num_scheduled_tokens", trace.num_scheduled_tokens},
          {"num_free_blocks", trace.num_free_blocks},
          {"rows", rows_to_json(trace, names)},
          {"skipped", skipped},
          {"preempted", names_of(trace.preempted, names)},
          {"graph",
           {{"runtime_mode", cudagraph_mode_name(trace.graph.runtime_mode)},
            {"num_tokens_padded", trace.graph.num_tokens_padded},
            {"num_reqs_padded", trace.graph.num_reqs_padded}}},
          {"pre_copies", copies_to_json(trace.pre_copies, names)},
          {"post_copies", copies_to_json(trace.post_copies, names)},
          {"committed_step", trace.committed_step},
          {"committed", committed_to_json(trace, names)},
          {"findings", found}};
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
