// Resolves names and sharing into the engine's inputs: prompt segments, request keys, commands.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/command.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// In the order in which they join: by (at_step, arrival_us), then as in the file. Error, with the
// pointer of the request ("/requests/1/prompt/share"): circular sharing, or sharing past the end of
// a sequence.
Result<std::vector<ArrivingRequest>> resolve_requests(const Scenario& scenario);

// A request added to those of a run: it may share the sequence of one of them, or else a text.
// Errors as above, without a pointer.
Result<AddRequest> resolve_request(const ScenarioRequest& request,
                                   std::span<const ArrivingRequest> known);

// The commands of one script step except policies, in the order reset, abort, preempt, budget,
// drafts, accept. `find` returns the engine's id of a request; a request that has not joined (value
// -1) gets no command.
using FindRequestId = std::function<RequestId(std::string_view)>;
std::vector<Command> script_commands(const ScriptStep& step, const FindRequestId& find);

}  // namespace hybridscope
