// How an engine starts, in words: runner, asynchronous scheduling, CUDA graphs, and how the
// requested settings were corrected (semantics: resolve-cudagraph-mode, capture-sizes,
// async-scheduling-default).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/metadata/capture_sizes.h"
#include "sessions/scenario/engine_setup.h"

namespace hybridscope {

// "v1", "v2".
std::string_view runner_name(ModelRunner runner);

// One sentence without its full stop, with the numbers.
std::string correction_words(const CudagraphCorrection& correction);

// What became of the cache mode that was asked for (semantics: cache-mode-choice), as a sentence
// without full stop: that it runs in another, or that the release alone would. Empty: neither.
std::string mode_note(const EngineSetup& setup);

// Where start-up departed from the user's settings: one sentence each, without full stop. Rounded
// default capture sizes are not noted, because the user did not set them (explain_start_up has
// them).
std::vector<std::string> start_up_notes(const EngineSetup& setup);

// A section of `hybridscope model`.
std::string explain_start_up(const EngineSetup& setup);

// The facts of explain_start_up(): runner, async_scheduling, cudagraph_mode, sizes, corrections.
nlohmann::ordered_json start_up_to_json(const EngineSetup& setup);

}  // namespace hybridscope
