// What a session is, beside its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check/step_checker.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

enum class SessionKind : std::uint8_t {
  run,    // our engine: the plan runs again
  judge,  // decisions of another engine: the plan is the trace's header line
};

enum class SessionStatus : std::uint8_t {
  recording,    // being written, or its writer was killed
  complete,     // the run came to its end
  stopped,      // as asked, before its end
  interrupted,  // by the user
  failed,       // by an error; status_reason says which
};

std::string_view session_kind_name(SessionKind kind);
std::string_view session_status_name(SessionStatus status);
std::string_view record_level_name(RecordLevel level);
std::string_view check_scope_name(CheckScope scope);

// The other way round; empty: nothing is called so.
std::optional<SessionKind> session_kind_of(std::string_view name);
std::optional<SessionStatus> session_status_of(std::string_view name);
std::optional<RecordLevel> record_level_of(std::string_view name);
std::optional<CheckScope> check_scope_of(std::string_view name);

struct SessionHeader {
  std::string name;
  SessionKind kind = SessionKind::run;
  RecordLevel level = RecordLevel::blocks;
  CheckScope check = CheckScope::step;           // what the findings are of
  std::int32_t digest_version = kDigestVersion;  // of the program that recorded it
  std::string source;                            // scenario, traffic or trace as given
  std::string model;
  std::string engine;          // profile: "safe", "pages"; judged: what the trace says
  std::string plan;            // JSON (session_plan.h); judge: the header line of the trace
  EngineConfig config;         // follows from the plan
  std::string parent_name;     // forked from; empty: not forked
  std::int64_t parent = 0;     // its number, where it is recorded into the parent's file; else 0
  std::int64_t forked_at = 0;  // first step that may differ from the parent's
};

}  // namespace hybridscope
