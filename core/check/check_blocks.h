// What a step did to blocks as a whole: labels of registered blocks against their content, and
// reference counts against block tables.
#pragma once

#include <span>

#include "core/check/check_context.h"

namespace hybridscope {

// Applies cache events to tables, labels and claimed reference counts; blocks that are given out
// are poisoned. Reports blocks whose claimed count is not the number of columns that hold them, and
// registrations that do not fit the column they name.
// `label_history`: of the registered events of mamba groups, as in StepTrace.
void follow_cache_events(CheckContext& context, std::span<const CacheEvent> events,
                         std::span<const Fingerprint> label_history);

// Call after the post-copies: checks the labels that this step registered, and those of registered
// blocks that it wrote to.
void check_labels_of_step(CheckContext& context);

// Checks the labels of the blocks that `events` register, and of the registered blocks among
// `touched` (block ids).
void check_registered_labels(CheckContext& context, std::span<const CacheEvent> events,
                             std::span<const std::int32_t> touched);

// Checks the label of every registered block of the pool, this step's included.
void check_all_labels(CheckContext& context);

// Call after the commit's events: a finished request must hold no block, one that goes on must hold
// some.
void check_finished_requests(CheckContext& context);

// Call when no request is left: no block may be held. Reports leaks.
void check_nothing_held(CheckContext& context);

}  // namespace hybridscope
