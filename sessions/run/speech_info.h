// Which language model runs on a run's decisions, as windows, sessions and reports say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_values.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

struct HybridModel;

struct SpeechLayer {
  std::int32_t group = -1;  // in whose blocks it keeps its state
  std::string kind;         // "attention", "Mamba2", "GatedDeltaNet", "short convolution"
  bool is_recurrent = false;
  friend bool operator==(const SpeechLayer&, const SpeechLayer&) = default;
};

struct SpeechInfo {
  std::string weights;  // the folder's name, without what is before it
  NumericForm form = NumericForm::recurrent;
  std::int32_t vocab_size = 0;  // 256: tokens are bytes
  std::vector<SpeechLayer> layers;
  friend bool operator==(const SpeechInfo&, const SpeechInfo&) = default;
};

// Error: no group of a layer's kind (groups_of_layers).
Result<SpeechInfo> make_speech_info(const HybridModel& model, const KVCacheConfig& config,
                                    const std::string& folder, NumericForm form);

// "recurrent", "chunked"; and back, absent for other words.
std::string_view numeric_form_name(NumericForm form);
std::optional<NumericForm> parse_numeric_form(std::string_view name);

// "/models/tiny/" is "tiny".
std::string weights_name(const std::string& folder);

// "Language model jargon-gdn, form recurrent".
std::string speech_words(const SpeechInfo& info);

}  // namespace hybridscope
