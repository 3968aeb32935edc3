// The table of settings: one row per setting, with its place in JSON, range, default and help. It
// drives the JSON reader and writer, the JSON Schema, the command line, the engine's configuration,
// comparisons of configurations, trace headers and the flags of vllm serve. Rows for policies are
// made from the table of policies (core/engine/policy_table.h).
#pragma once

#include <array>
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

// A value being read or written: choice and engine_profile as text, byte_size as bytes.
using SettingValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// Constructed in place: moving the variant makes the compiler warn about alternatives it does not
// hold.
template <class T>
std::optional<SettingValue> setting_value(T value) {
  return std::optional<SettingValue>(std::in_place, std::in_place_type<T>, std::move(value));
}

// Where a setting is used besides documents and the command line.
struct SettingUse {
  bool vllm_flag = false;  // a flag of `vllm serve` with the same name, exported if it is set
  std::uint8_t started_place = 0;    // such a flag that is always exported, with the value that the
                                     // engine started with: its place among them, from 1
  std::uint8_t trace_place = 0;      // place in a trace header, from 1; 0: not in it
  bool required_in_trace = false;    // a header without it is an error
  std::string_view trace_name = {};  // its key there, if not the setting's name
};

struct Setting {
  std::string_view section;  // object of the scenario's settings that contains it; empty: top level
  std::string_view name;     // vLLM's spelling; the JSON key
  SettingKind kind = SettingKind::integer;
  std::int64_t min = 0;  // integers
  std::int64_t max = 0;
  bool takes_none = false;  // integers: None is a value too, stored as -1
  std::span<const std::string_view> choices;
  std::string_view default_text;  // shown to users
  std::string_view help;          // half a sentence
  SettingUse use = {};
  std::size_t policy = 0;  // section "policies": its place in PolicyOverrides
  // Raw access for set_setting and get_setting: the value is already checked, a choice is its
  // index.
  void (*store)(EngineSettings&, const Setting&, const SettingValue&) = nullptr;
  std::optional<SettingValue> (*load)(const EngineSettings&, const Setting&) = nullptr;
  // Access to the member of EngineConfig that holds the setting; null: there is none.
  // Does nothing if the setting is not set.
  void (*to_config)(const EngineSettings&, EngineConfig&) = nullptr;
  void (*from_config)(const EngineConfig&, EngineSettings&) = nullptr;
};

// Choices that traces use as well, in the order of their enums.
inline constexpr std::array<std::string_view, 3> kCacheModeWords = {"none", "all", "align"};
inline constexpr std::array<std::string_view, 4> kSpeculativeMethodWords = {"none", "mtp", "ngram",
                                                                            "draft_model"};
inline constexpr std::array<std::string_view, 5> kCudagraphModeWords = {
    "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"};

// In the order in which documents list them.
std::span<const Setting> settings_table();

// The settings that are always exported as flags of `vllm serve`, in their order.
std::vector<const Setting*> started_settings();

// The settings in a trace header, in its order, and the key that one has there.
std::vector<const Setting*> traced_settings();
std::string_view trace_key(const Setting& setting);

// The row, or null. `section` is empty for top-level settings.
const Setting* find_setting(std::string_view section, std::string_view name);

// "max_num_seqs", "speculative_config/method".
std::string setting_path(const Setting& setting);

// "an integer from 1 to 65536", "one of none, all, align".
std::string allowed_values(const Setting& setting);

// Checks kind and range, then stores the value. Error: "max_num_seqs is 0 (allowed: an integer from
// 1 to 65536)". A fraction may be given as an integer, a byte size as text.
Status set_setting(EngineSettings& settings, const Setting& setting, const SettingValue& value);

// Sets a setting to what a command line's text says: "60GiB", "align", "1,2,4", "true".
Status set_setting_text(EngineSettings& settings, const Setting& setting, std::string_view text);

// Empty when the setting is not set.
std::optional<SettingValue> get_setting(const EngineSettings& settings, const Setting& setting);

// Copies the settings that are set to the members of EngineConfig that hold them unchanged.
void store_in_config(const EngineSettings& settings, EngineConfig& config);

// The settings that lead to `config`, as far as it shows them; every policy is set one by one.
EngineSettings settings_of(const EngineConfig& config);

}  // namespace hybridscope
