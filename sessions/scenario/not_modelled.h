// What vLLM's settings have and ours do not, with the reason and what to do instead.
#pragma once

#include <span>
#include <string_view>

namespace hybridscope {

// Why a value of a setting ("speculative_config/method", "eagle") is not modelled. Empty: nothing
// is known of the value.
std::string_view why_value_not_modelled(std::string_view path, std::string_view value);

struct SettingNotModelled {
  std::string_view section;  // as in Setting; empty: top level
  std::string_view name;     // vLLM's spelling
  std::string_view why;      // and what to do
};

std::span<const SettingNotModelled> settings_not_modelled();

// Why there is no such setting; empty: nothing is known of it.
std::string_view why_setting_not_modelled(std::string_view section, std::string_view name);

}  // namespace hybridscope
