// Does a release start with a model and settings, what does it log, and what would make it start:
// the first screen of `hybridscope plan` (docs/plan.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/start_plan.h"

namespace hybridscope {

// One setting with which the release starts; it was tried.
struct StartAdvice {
  std::string setting = {};  // path in the settings table
  std::string value = {};    // as a command line writes it
  EngineSettings settings = {};
};

struct StartAnswer {
  std::string model = {};
  EngineSettings settings = {};           // with the release that is planned
  std::vector<std::string> assumed = {};  // what was not told, a half sentence each
  std::optional<StartPlan> start = {};    // empty: refused before anything is planned
  std::string refusal = {};               // the release's words; empty: it starts
  std::vector<StartAdvice> advice = {};

  bool starts() const { return refusal.empty(); }
};

// With the newest release where the settings name none; `length`: its settings have what fits.
// Errors: a config.json that cannot be read. A refusal is an answer.
Result<StartAnswer> answer_start(const ModelSpec& model, const EngineSettings& settings,
                                 WantedLength length = WantedLength::of_settings);

// "full attention", "sliding window of 128 tokens", "gdn_attention": what a group's layers are.
std::string group_words(const LayerSpec& spec);

// A page of text, and the same facts as one object.
std::string explain_start(const StartAnswer& answer);
nlohmann::ordered_json start_to_json(const StartAnswer& answer);

}  // namespace hybridscope
