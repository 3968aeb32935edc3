// How a row of the settings table is made from a member of EngineSettings, and of the member of
// EngineConfig that holds it as it is, if there is one: integer<&S::seed, &C::seed>({...}). For
// settings_table.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/engine/policy_table.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::setting_rows {

struct IntegerRow {
  std::string_view section, name;
  std::int64_t min, max;
  std::string_view default_text, help;
};

struct ChoiceRow {
  std::string_view section, name;
  std::span<const std::string_view> choices;
  std::string_view default_text, help;
};

struct PlainRow {
  std::string_view section, name, default_text, help;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <auto Member>
using ValueOf =
    typename std::remove_cvref_t<decltype(std::declval<EngineSettings&>().*Member)>::value_type;

// Stored as the member's own type, loaded as `Wire`.
template <auto Member, class Wire>
void store_as(EngineSettings& settings, const Setting&, const SettingValue& value) {
  settings.*Member = static_cast<ValueOf<Member>>(std::get<Wire>(value));
}

template <auto Member, class Wire>
std::optional<SettingValue> load_as(const EngineSettings& settings, const Setting&) {
  const auto& member = settings.*Member;
  if (!member) return std::nullopt;
  return setting_value(static_cast<Wire>(*member));
}

template <auto Member>
void store_list(EngineSettings& settings, const Setting&, const SettingValue& value) {
  const auto& list = std::get<std::vector<std::int64_t>>(value);
  (settings.*Member).emplace(list.begin(), list.end());
}

template <auto Member>
std::optional<SettingValue> load_list(const EngineSettings& settings, const Setting&) {
  const auto& member = settings.*Member;
  if (!member) return std::nullopt;
  return setting_value(std::vector<std::int64_t>(member->begin(), member->end()));
}

template <auto Member, auto Held>
void to_config(const EngineSettings& settings, EngineConfig& config) {
  using HeldValue = std::remove_cvref_t<decltype(config.*Held)>;
  if constexpr (IsOptional<HeldValue>::value)
    config.*Held = settings.*Member;
  else if (settings.*Member)
    config.*Held = static_cast<HeldValue>(*(settings.*Member));
}

template <auto Member, auto Held>
void from_config(const EngineConfig& config, EngineSettings& settings) {
  if constexpr (IsOptional<std::remove_cvref_t<decltype(config.*Held)>>::value)
    settings.*Member = config.*Held;
  else
    settings.*Member = static_cast<ValueOf<Member>>(config.*Held);
}

template <auto Member, auto Held>
constexpr Setting held(Setting setting) {
  if constexpr (!std::is_null_pointer_v<decltype(Held)>) {
    setting.to_config = &to_config<Member, Held>;
    setting.from_config = &from_config<Member, Held>;
  }
  return setting;
}

constexpr Setting described(SettingKind kind, const auto& row) {
  Setting setting{.section = row.section,
                  .name = row.name,
                  .kind = kind,
                  .choices = {},
                  .default_text = row.default_text,
                  .help = row.help};
  if constexpr (requires { row.min; }) {
    setting.min = row.min;
    setting.max = row.max;
  }
  if constexpr (requires { row.choices; }) setting.choices = row.choices;
  return setting;
}

template <class Wire, auto Member, auto Held>
constexpr Setting as(Setting setting, const SettingUse& use) {
  setting.use = use;
  setting.store = &store_as<Member, Wire>;
  setting.load = &load_as<Member, Wire>;
  return held<Member, Held>(setting);
}

template <auto Member, auto Held = nullptr>
constexpr Setting integer(const IntegerRow& row, const SettingUse& use = {}) {
  return as<std::int64_t, Member, Held>(described(SettingKind::integer, row), use);
}

constexpr Setting or_none(Setting setting) {
  setting.takes_none = true;
  return setting;
}

template <auto Member, auto Held = nullptr>
constexpr Setting byte_size(const IntegerRow& row, const SettingUse& use = {}) {
  return as<std::int64_t, Member, Held>(described(SettingKind::byte_size, row), use);
}

template <auto Member, auto Held = nullptr>
constexpr Setting boolean(const PlainRow& row, const SettingUse& use = {}) {
  return as<bool, Member, Held>(described(SettingKind::boolean, row), use);
}

template <auto Member, auto Held = nullptr>
constexpr Setting fraction(const PlainRow& row, const SettingUse& use = {}) {
  return as<double, Member, Held>(described(SettingKind::fraction, row), use);
}

// A choice travels as its index among the row's choices, which is the enum's value.
template <auto Member, auto Held = nullptr>
constexpr Setting choice(const ChoiceRow& row, const SettingUse& use = {}) {
  return as<std::int64_t, Member, Held>(described(SettingKind::choice, row), use);
}

template <auto Member, auto Held = nullptr>
constexpr Setting integer_list(const IntegerRow& row, const SettingUse& use = {}) {
  Setting setting = described(SettingKind::integer_list, row);
  setting.use = use;
  setting.store = &store_list<Member>;
  setting.load = &load_list<Member>;
  return held<Member, Held>(setting);
}

// A profile travels as its name.
inline void store_engine_profile(EngineSettings& settings, const Setting&,
                                 const SettingValue& value) {
  settings.engine = parse_engine_profile(std::get<std::string>(value));
}

inline std::optional<SettingValue> load_engine_profile(const EngineSettings& settings,
                                                       const Setting&) {
  if (!settings.engine) return std::nullopt;
  return setting_value(engine_profile_name(*settings.engine));
}

constexpr Setting engine_profile(const PlainRow& row) {
  Setting setting = described(SettingKind::engine_profile, row);
  setting.store = &store_engine_profile;
  setting.load = &load_engine_profile;
  return setting;
}

// A policy is a choice among the values of its enum.
inline void store_policy(EngineSettings& settings, const Setting& setting,
                         const SettingValue& value) {
  settings.policies.values[setting.policy] =
      static_cast<std::uint8_t>(std::get<std::int64_t>(value));
}

inline std::optional<SettingValue> load_policy(const EngineSettings& settings,
                                               const Setting& setting) {
  const auto& value = settings.policies.values[setting.policy];
  if (!value) return std::nullopt;
  return setting_value(std::int64_t{*value});
}

inline Setting policy(const Policy& policy) {
  const PolicyText& text = policy.text;
  Setting setting =
      described(SettingKind::choice,
                ChoiceRow{"policies", text.name, text.value_names(), "the profile's", text.help});
  setting.policy = policy.place;
  setting.store = &store_policy;
  setting.load = &load_policy;
  return setting;
}

}  // namespace hybridscope::setting_rows
