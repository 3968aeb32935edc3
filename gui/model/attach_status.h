// What is known of an engine that the window is attached to, as values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "storage/session_file.h"

namespace hybridscope {

enum class AttachState : std::uint8_t {
  waiting,  // for the file or the socket, or for the first line of a trace
  live,
  lost,   // was connected; what was read is kept, and the place is tried again
  ended,  // nothing more of this trace is read: AttachStatus::error says why
};

// The engine waits before its next step.
struct EngineHold {
  std::int64_t step = 0;  // its last one
  std::string reason;
  friend bool operator==(const EngineHold&, const EngineHold&) = default;
};

// A step, as it arrived, that a breakpoint or a finding holds the engine for.
struct ArrivedHit {
  std::int32_t trace = 0;  // as AttachStatus::trace
  std::int64_t step = 0;
  std::string breakpoint;  // the expression; empty: a finding
  std::string words;       // why
  RequestId request{};     // -1: none
  std::int32_t block = -1;
  std::string trouble;  // why the engine was not asked to hold; empty: it was
};

struct AttachStatus {
  AttachState state = AttachState::waiting;
  bool is_connected = false;  // or the file is open
  bool has_end_mark = false;  // the trace is complete
  std::string no_more;        // why the engine tells no more steps of the trace; empty: it does
  std::string error;          // one line or more, as of the reader of traces
  std::int32_t trace = 0;     // how many traces have begun
  std::string untold;         // UntoldParts::words of the trace
  std::string engine;         // of the trace: "vllm 0.33.0"
  SessionPlace session = {};  // the trace's
  // Keeps a temporary session file.
  std::shared_ptr<const void> session_owner = {};
  // Steps of the trace that were judged, and how many of them the session file has.
  std::int64_t num_judged = 0;
  std::int64_t num_written = 0;
  // Steps that were received, or are in the file, and are not judged yet. The part that is still
  // outside is estimated by the mean length of a line.
  std::int64_t num_waiting = 0;
  bool is_estimate = false;
  std::int64_t num_request_steps = 0;  // of all traces
  std::optional<EngineHold> hold = {};
  std::optional<std::string> hold_asked_for = {};  // why `hold` was sent; not answered yet
};

}  // namespace hybridscope
