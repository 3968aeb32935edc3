// One step of a recorded session as JSON and in words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "storage/session_player.h"

namespace hybridscope {

// The names of a session's requests and groups. `player` must outlive them.
Names session_names(SessionPlayer& player);

// Moves to the step. `names`: session_names(). Errors: those of SessionPlayer::go_to.
Result<nlohmann::ordered_json> recorded_step_to_json(SessionPlayer& player, std::int64_t step,
                                                     const Names& names);
// Everything about the step in words. Error invalid_input: the session's level is counts.
Result<std::string> explain_recorded_step(SessionPlayer& player, std::int64_t step,
                                          const Names& names);

// Does the session know how many blocks were free? Another engine's decisions do not say it.
bool knows_free_blocks(SessionPlayer& player);

}  // namespace hybridscope
