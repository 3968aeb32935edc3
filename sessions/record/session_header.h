// The header of a session: everything except its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check/step_checker.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

enum class SessionKind : std::uint8_t {
  run,    // our engine; the plan can be run again
  judge,  // another engine's decisions; the plan is the trace's header line
};

enum class SessionStatus : std::uint8_t {
  recording,    // being written, or its writer was killed
  complete,     // the run ended by itself
  stopped,      // ended early on request
  interrupted,  // by the user
  failed,       // an error; status_reason has it
};

std::string_view session_kind_name(SessionKind kind);
std::string_view session_status_name(SessionStatus status);
std::string_view record_level_name(RecordLevel level);
std::string_view check_scope_name(CheckScope scope);

// The level or scope with this name; empty: none has it.
std::optional<RecordLevel> record_level_of(std::string_view name);
std::optional<CheckScope> check_scope_of(std::string_view name);

struct SessionHeader {
  std::string name;
  SessionKind kind = SessionKind::run;
  RecordLevel level = RecordLevel::blocks;
  CheckScope check = CheckScope::step;           // the scope of the checks behind the findings
  std::int32_t digest_version = kDigestVersion;  // of the program that recorded it
  // Level blocks keeps the decisions that set an accepted count to 1 and copy nothing.
  bool keeps_count_resets = true;
  std::string source;  // scenario, traffic or trace, as given by the user
  std::string model;
  std::string engine;   // profile: "safe", "reference"; judged: as in the trace
  std::string plan;     // JSON (session_plan.h); judged: the header line of the trace
  EngineConfig config;  // derived from the plan
  std::optional<SpeechInfo> language = {};  // the language model that runs; empty: none
  std::string parent_name;                  // session that it was forked from; empty: not forked
  std::int64_t parent = 0;                  // the parent's number when both are in one file; else 0
  std::int64_t forked_at = 0;               // first step that may differ from the parent

  // Can the accepted count that a request's last row left be told (OwnCounts)?
  bool knows_own_counts() const {
    return level == RecordLevel::full || (level == RecordLevel::blocks && keeps_count_resets);
  }
};

}  // namespace hybridscope
