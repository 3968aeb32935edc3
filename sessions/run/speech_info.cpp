#include "sessions/run/speech_info.h"

#include <fmt/core.h>

#include <filesystem>
#include <iterator>

#include "core/language/numeric_memory.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

Result<SpeechInfo> make_speech_info(const HybridModel& model, const KVCacheConfig& config,
                                    const std::string& folder, NumericForm form) {
  const auto groups = groups_of_layers(model, config);
  if (!groups) return groups.error();
  SpeechInfo info{
      .weights = weights_name(folder), .form = form, .vocab_size = model.vocab_size, .layers = {}};
  static constexpr const char* kKinds[] = {"Mamba2", "GatedDeltaNet", "short convolution",
                                           "attention"};
  static_assert(std::size(kKinds) == std::variant_size_v<Mixer>);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    info.layers.push_back({groups.value()[i], kKinds[model.layers[i].mixer.index()],
                           !model.layers[i].is_attention()});
  return info;
}

std::string_view numeric_form_name(NumericForm form) {
  return form == NumericForm::chunked ? "chunked" : "recurrent";
}

std::optional<NumericForm> parse_numeric_form(std::string_view name) {
  for (const NumericForm form : {NumericForm::recurrent, NumericForm::chunked})
    if (name == numeric_form_name(form)) return form;
  return std::nullopt;
}

std::string weights_name(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.empty() ? folder : name;
}

std::string speech_words(const SpeechInfo& info) {
  return fmt::format("Language model {}, form {}", info.weights, numeric_form_name(info.form));
}

}  // namespace hybridscope
