// What a step did to blocks as a whole: labels of registered blocks against their content, and
// reference counts against block tables.
#pragma once

#include <span>

#include "core/check/check_context.h"

namespace hybridscope {

// Follows cache events into tables, labels and claimed reference counts; blocks that are given out
// are poisoned. Reports blocks whose claimed count is not the number of columns that hold them, and
// registrations that do not fit the column they name.
// `label_history`: of the registered events of mamba groups, as in StepTrace.
void follow_cache_events(CheckContext& context, std::span<const CacheEvent> events,
                         std::span<const Fingerprint> label_history);

// After the post-copies: what this step registered, and registered blocks it wrote to.
void check_labels_of_step(CheckContext& context);

// The blocks that `events` register, and those of `touched` (block ids) that are registered.
void check_registered_labels(CheckContext& context, std::span<const CacheEvent> events,
                             std::span<const std::int32_t> touched);

// Every registered block of the pool, those of the step among them.
void check_all_labels(CheckContext& context);

// After the commit's events: a request that finished holds no block, one that goes on holds some.
void check_finished_requests(CheckContext& context);

// No request is left: no block may be held. Reports leaks.
void check_nothing_held(CheckContext& context);

}  // namespace hybridscope
