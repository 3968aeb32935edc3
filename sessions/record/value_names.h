// The names of all enum values of a recorded step, used by session files, differences and reports.
#pragma once

#include <string_view>

#include "core/caching/cache_events.h"
#include "core/check/finding.h"
#include "core/metadata/cudagraph_mode.h"
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
