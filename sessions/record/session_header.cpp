#include "sessions/record/session_header.h"

#include <algorithm>
#include <array>

namespace hybridscope {
namespace {

// In the order of each enum.
constexpr std::array<std::string_view, 2> kKinds = {"run", "judge"};
constexpr std::array<std::string_view, 5> kStatuses = {"recording", "complete", "stopped",
                                                       "interrupted", "failed"};
constexpr std::array<std::string_view, 3> kLevels = {"counts", "blocks", "full"};
constexpr std::array<std::string_view, 2> kScopes = {"step", "all"};

template <class Enum, std::size_t N>
std::optional<Enum> enum_of(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view session_kind_name(SessionKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view session_status_name(SessionStatus status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

std::string_view record_level_name(RecordLevel level) {
  return kLevels[static_cast<std::size_t>(level)];
}

std::string_view check_scope_name(CheckScope scope) {
  return kScopes[static_cast<std::size_t>(scope)];
}

std::optional<RecordLevel> record_level_of(std::string_view name) {
  return enum_of<RecordLevel>(kLevels, name);
}

std::optional<CheckScope> check_scope_of(std::string_view name) {
  return enum_of<CheckScope>(kScopes, name);
}

}  // namespace hybridscope
