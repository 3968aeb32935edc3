#include "sessions/record/session_header.h"

namespace hybridscope {

std::string_view session_kind_name(SessionKind kind) {
  return kind == SessionKind::run ? "run" : "judge";
}

std::string_view session_status_name(SessionStatus status) {
  switch (status) {
    case SessionStatus::recording:
      return "recording";
    case SessionStatus::complete:
      return "complete";
    case SessionStatus::stopped:
      return "stopped";
    case SessionStatus::interrupted:
      return "interrupted";
    case SessionStatus::failed:
      return "failed";
  }
  return {};
}

std::string_view record_level_name(RecordLevel level) {
  switch (level) {
    case RecordLevel::counts:
      return "counts";
    case RecordLevel::blocks:
      return "blocks";
    case RecordLevel::full:
      return "full";
  }
  return {};
}

}  // namespace hybridscope
