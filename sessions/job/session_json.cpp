#include "sessions/job/session_json.h"

#include <fmt/core.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sessions/explain/explain_step.h"
#include "sessions/job/step_json.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/record/record_views.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/speech_json.h"
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

}  // namespace hybridscope
