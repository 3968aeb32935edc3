#include "sessions/scenario/setting_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hybridscope {
namespace {

struct ShortForm {
  std::string_view path;
  std::string_view option;
};

constexpr std::array kShortForms = {
    ShortForm{"mamba_cache_mode", "--mode"},
    ShortForm{"tensor_parallel_size", "--tp"},
    ShortForm{"kv_cache_memory_bytes", "--kv-memory"},
    ShortForm{"gpu_memory_bytes", "--gpu-memory"},
    ShortForm{"weights_memory_bytes", "--weights-memory"},
    ShortForm{"activation_memory_bytes", "--activation-memory"},
    ShortForm{"num_gpu_blocks_override", "--num-blocks"},
    ShortForm{"acceptance_rate", "--acceptance"},
    ShortForm{"state_layers", "--layers"},
    ShortForm{"speculative_config/num_speculative_tokens", "--num-speculative-tokens"},
    ShortForm{"speculative_config/method", "--speculative-method"},
};

}  // namespace

std::string option_names(const Setting& setting) {
  std::string name = "--" + setting_path(setting);
  std::ranges::replace(name, '_', '-');
  std::ranges::replace(name, '/', '-');
  for (const ShortForm& form : kShortForms)
    if (form.path == setting_path(setting)) {
      if (setting.section == "speculative_config") return std::string(form.option);
      name += "," + std::string(form.option);
    }
  return name;
}

std::string main_option_of(const Setting& setting) {
  const std::string names = option_names(setting);
  return names.substr(0, names.find(','));
}

const Setting* find_setting_called(std::string_view key) {
  for (const Setting& setting : settings_table())
    if (setting_path(setting) == key) return &setting;
  for (const Setting& setting : settings_table())
    if (setting.name == key) return &setting;
  for (const ShortForm& form : kShortForms) {
    std::string name(form.option.substr(2));
    std::ranges::replace(name, '-', '_');
    if (name != key) continue;
    for (const Setting& setting : settings_table())
      if (setting_path(setting) == form.path) return &setting;
  }
  return nullptr;
}

Result<const Setting*> setting_called(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '-', '_');
  if (const Setting* found = find_setting_called(name)) return found;
  std::vector<std::string> known;
  for (const Setting& setting : settings_table()) known.push_back(setting_path(setting));
  return invalid_input(
      fmt::format("there is no setting \"{}\" (known: {})", key, fmt::join(known, ", ")));
}

}  // namespace hybridscope
