// The names and the number of codes of all enum values of a recorded step, used by session files,
// differences and reports.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/caching/cache_events.h"
#include "core/check/finding.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/metadata/metadata_description.h"
#include "core/state/copy_decision.h"
#include "core/trace/step_trace.h"

namespace hybridscope::value_names {

std::string_view name(CommandKind value);
std::string_view name(CommandOutcome value);
std::string_view name(IgnoredReason value);
std::string_view name(Admission value);
std::string_view name(SkipReason value);
std::string_view name(LookupStop value);
std::string_view name(RowClass value);
std::string_view name(RowOrigin value);
std::string_view name(CUDAGraphMode value);
std::string_view name(CudagraphDispatchReason value);
std::string_view name(StateCopyRule value);
std::string_view name(StateCopyOutcome value);
std::string_view name(CommitOutcome value);
std::string_view name(CacheEventKind value);
std::string_view name(Rule value);
std::string_view name(ContentKind value);
std::string_view name(WriteKind value);

// "post_copy temporal", "attention": kind and content of a write.
std::string_view write_name(WriteKind kind, ContentKind content);

}  // namespace hybridscope::value_names

namespace hybridscope {

// The last value of each enum in session files: a number from a file becomes an enum only up to it.
constexpr auto last_code(CUDAGraphMode) { return CUDAGraphMode::full_and_piecewise; }
constexpr auto last_code(CudagraphDispatchReason) {
  return CudagraphDispatchReason::piecewise_only;
}
constexpr auto last_code(CommandKind) { return CommandKind::set_policies; }
constexpr auto last_code(CommandOutcome) { return CommandOutcome::ignored; }
constexpr auto last_code(IgnoredReason) { return IgnoredReason::frees_deferred; }
constexpr auto last_code(Admission) { return Admission::resumed; }
constexpr auto last_code(RowClass) { return RowClass::padding; }
constexpr auto last_code(RowOrigin) { return RowOrigin::returned; }
constexpr auto last_code(CommitOutcome) { return CommitOutcome::left_the_engine; }
constexpr auto last_code(SkipReason) { return SkipReason::frame_in_flight; }
constexpr auto last_code(LookupStop) { return LookupStop::cut_to_other_group; }
constexpr auto last_code(CacheEventKind) { return CacheEventKind::copied_to; }
constexpr auto last_code(StateCopyRule) { return StateCopyRule::all_mode_boundary; }
constexpr auto last_code(StateCopyOutcome) { return StateCopyOutcome::padded_row; }
constexpr auto last_code(ArrayDtype) { return ArrayDtype::host_bool; }
constexpr auto last_code(ContentKind) { return ContentKind::attention; }
constexpr auto last_code(WriteKind) { return WriteKind::block_copy; }

// Codes are 0 .. num_codes<E>() - 1.
template <class E>
constexpr std::int32_t num_codes() {
  return static_cast<std::int32_t>(last_code(E{})) + 1;
}

}  // namespace hybridscope
