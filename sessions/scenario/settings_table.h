// The table of settings: one row a setting, with its place in JSON, range, default and help. The
// JSON reader and writer, the JSON Schema, the command line, the engine's configuration,
// comparisons of two of them, the headers of traces and the flags of vllm serve all loop over it.
// Policies get their rows from the list of policies (core/engine/policies.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

enum class SettingKind : std::uint8_t {
  boolean,
  integer,
  byte_size,     // integer, or text such as "60GiB"
  fraction,      // number from 0 to 1
  choice,        // one of `choices`
  integer_list,  // each in range
  engine_profile,
};

// A value on its way in or out: choice and engine_profile as text, byte_size as bytes.
using SettingValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// Built in place: a moved variant makes the compiler warn about the alternatives it does not hold.
template <class T>
std::optional<SettingValue> setting_value(T value) {
  return std::optional<SettingValue>(std::in_place, std::in_place_type<T>, std::move(value));
}

// Where else a setting goes, beside documents and the command line.
struct SettingUse {
  bool vllm_flag = false;        // `vllm serve` takes it under its own name
  std::uint8_t trace_place = 0;  // in the header of a trace, counted from 1; 0: not there
};

struct Setting {
  std::string_view section;  // object of the scenario's settings that holds it; empty: top level
  std::string_view name;     // vLLM's spelling, JSON key
  SettingKind kind = SettingKind::integer;
  std::int64_t min = 0;  // integers
  std::int64_t max = 0;
  std::span<const std::string_view> choices;
  std::string_view default_text;  // for people
  std::string_view help;          // half a sentence
  SettingUse use = {};
  std::size_t policy = 0;  // section "policies": its place in PolicyOverrides
  // Raw access for set_setting and get_setting: values are checked, a choice is its index.
  void (*store)(EngineSettings&, const Setting&, const SettingValue&) = nullptr;
  std::optional<SettingValue> (*load)(const EngineSettings&, const Setting&) = nullptr;
  // The member of EngineConfig that holds the setting; null: there is none.
  void (*to_config)(const EngineSettings&, EngineConfig&) = nullptr;  // nothing if left alone
  void (*from_config)(const EngineConfig&, EngineSettings&) = nullptr;
};

// In the order in which documents list them.
std::span<const Setting> settings_table();

// Those that the header of a trace holds, in its order.
std::vector<const Setting*> traced_settings();

// The row, or null. `section` is empty for the top level.
const Setting* find_setting(std::string_view section, std::string_view name);

// "max_num_seqs", "speculative_config/method".
std::string setting_path(const Setting& setting);

// "an integer from 1 to 65536", "one of none, all, align".
std::string allowed_values(const Setting& setting);

// Checks kind and range and stores. Error: "max_num_seqs is 0 (allowed: an integer from 1 to
// 65536)". An integer is fine for a fraction, a text for a byte size.
Status set_setting(EngineSettings& settings, const Setting& setting, const SettingValue& value);

// The same from a command line's text: "60GiB", "align", "1,2,4", "true".
Status set_setting_text(EngineSettings& settings, const Setting& setting, std::string_view text);

// Empty when the setting was left alone.
std::optional<SettingValue> get_setting(const EngineSettings& settings, const Setting& setting);

// Copies what is set to the members of EngineConfig that hold it as it is.
void store_in_config(const EngineSettings& settings, EngineConfig& config);

// The settings that lead to `config`, as far as it shows them: each policy one by one.
EngineSettings settings_of(const EngineConfig& config);

}  // namespace hybridscope
