// The architectures whose starts can be planned: which releases have them, and how each spells in
// config.json what its layers cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/startup/cached_layers.h"
#include "sessions/startup/startup_settings.h"

namespace hybridscope {

// A config.json, and the name that messages give it.
struct ConfigText {
  std::string_view text;
  std::string file;
};

// The model of a start, with the layers of its draft model: those of MTP from the same file, those
// of eagle3 and dflash from `draft`. Errors: corrupt, not JSON; invalid_input, a key that is
// missing or wrong; not_available, what the release refuses, in its words.
Result<StartupModel> read_startup_model(const ConfigText& config,
                                        const std::optional<ConfigText>& draft,
                                        const StartupSettings& settings);

// What the layers of the model itself cache, whichever releases have it. Errors: corrupt and
// invalid_input as above.
Result<StartupModel> read_target_model(const ConfigText& config);

}  // namespace hybridscope
