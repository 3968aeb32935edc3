#include "sessions/job/recorded_step.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sessions/explain/explain_step.h"
#include "sessions/job/session_findings.h"
#include "sessions/job/step_json.h"
#include "sessions/record/record_views.h"
#include "sessions/record/speech_json.h"
#include "sessions/run/speech_words.h"

namespace hybridscope {

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

}  // namespace hybridscope
