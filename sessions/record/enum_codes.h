// The number of codes of each enum in session files: a number from a file becomes an enum only
// below it.
#pragma once

#include <cstdint>

#include "core/check/finding.h"
#include "core/metadata/metadata_description.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The last value of an enum.
template <class E>
inline constexpr E kLastCode = E::undefined;
template <>
inline constexpr auto kLastCode<CUDAGraphMode> = CUDAGraphMode::full_and_piecewise;
template <>
inline constexpr auto kLastCode<CudagraphDispatchReason> = CudagraphDispatchReason::piecewise_only;
template <>
inline constexpr auto kLastCode<CommandKind> = CommandKind::set_policies;
template <>
inline constexpr auto kLastCode<CommandOutcome> = CommandOutcome::ignored;
template <>
inline constexpr auto kLastCode<IgnoredReason> = IgnoredReason::frees_deferred;
template <>
inline constexpr auto kLastCode<Admission> = Admission::resumed;
template <>
inline constexpr auto kLastCode<RowClass> = RowClass::padding;
template <>
inline constexpr auto kLastCode<RowOrigin> = RowOrigin::returned;
template <>
inline constexpr auto kLastCode<CommitOutcome> = CommitOutcome::left_the_engine;
template <>
inline constexpr auto kLastCode<SkipReason> = SkipReason::frame_in_flight;
template <>
inline constexpr auto kLastCode<LookupStop> = LookupStop::cut_to_other_group;
template <>
inline constexpr auto kLastCode<CacheEventKind> = CacheEventKind::copied_to;
template <>
inline constexpr auto kLastCode<StateCopyRule> = StateCopyRule::all_mode_boundary;
template <>
inline constexpr auto kLastCode<StateCopyOutcome> = StateCopyOutcome::padded_row;
template <>
inline constexpr auto kLastCode<ArrayDtype> = ArrayDtype::host_bool;
template <>
inline constexpr auto kLastCode<ContentKind> = ContentKind::attention;
template <>
inline constexpr auto kLastCode<WriteKind> = WriteKind::block_copy;

// Codes are 0 .. num_codes<E>() - 1.
template <class E>
constexpr std::int32_t num_codes() {
  return static_cast<std::int32_t>(kLastCode<E>) + 1;
}

}  // namespace hybridscope
