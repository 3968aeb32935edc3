// How a row of the settings table is made from a member of EngineSettings. For settings_table.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

// The member of EngineSettings that a row fills, directly or in its policy overrides.
template <auto Member>
constexpr auto& member_of(auto& settings) {
  if constexpr (requires { settings.*Member; })
    return settings.*Member;
  else
    return settings.policies.*Member;
}

template <auto Member>
using ValueOf = typename std::remove_cvref_t<decltype(member_of<Member>(
    std::declval<EngineSettings&>()))>::value_type;

// Stored as the member's own type, loaded as `Wire`.
template <auto Member, class Wire>
void store_as(EngineSettings& settings, const SettingValue& value) {
  member_of<Member>(settings) = static_cast<ValueOf<Member>>(std::get<Wire>(value));
}

template <auto Member, class Wire>
std::optional<SettingValue> load_as(const EngineSettings& settings) {
  const auto& member = member_of<Member>(settings);
  if (!member) return std::nullopt;
  return setting_value(static_cast<Wire>(*member));
}

constexpr Setting described(SettingKind kind, const IntegerRow& row) {
  return {.section = row.section,
          .name = row.name,
          .kind = kind,
          .min = row.min,
          .max = row.max,
          .choices = {},
          .default_text = row.default_text,
          .help = row.help};
}

template <auto Member>
constexpr Setting integer_like(SettingKind kind, const IntegerRow& row) {
  Setting setting = described(kind, row);
  setting.store = &store_as<Member, std::int64_t>;
  setting.load = &load_as<Member, std::int64_t>;
  return setting;
}

template <auto Member>
constexpr Setting integer(const IntegerRow& row) {
  return integer_like<Member>(SettingKind::integer, row);
}

template <auto Member>
constexpr Setting byte_size(const IntegerRow& row) {
  return integer_like<Member>(SettingKind::byte_size, row);
}

template <auto Member, class Wire>
constexpr Setting plain(SettingKind kind, const PlainRow& row) {
  return {.section = row.section,
          .name = row.name,
          .kind = kind,
          .choices = {},
          .default_text = row.default_text,
          .help = row.help,
          .store = &store_as<Member, Wire>,
          .load = &load_as<Member, Wire>};
}

template <auto Member>
constexpr Setting boolean(const PlainRow& row) {
  return plain<Member, bool>(SettingKind::boolean, row);
}

template <auto Member>
constexpr Setting fraction(const PlainRow& row) {
  return plain<Member, double>(SettingKind::fraction, row);
}

// A choice travels as its index among the row's choices, which is the enum's value.
template <auto Member>
constexpr Setting choice(const ChoiceRow& row) {
  return {.section = row.section,
          .name = row.name,
          .kind = SettingKind::choice,
          .choices = row.choices,
          .default_text = row.default_text,
          .help = row.help,
          .store = &store_as<Member, std::int64_t>,
          .load = &load_as<Member, std::int64_t>};
}

// A profile travels as its name.
inline void store_engine_profile(EngineSettings& settings, const SettingValue& value) {
  settings.engine = parse_engine_profile(std::get<std::string>(value));
}

inline std::optional<SettingValue> load_engine_profile(const EngineSettings& settings) {
  if (!settings.engine) return std::nullopt;
  return setting_value(engine_profile_name(*settings.engine));
}

constexpr Setting engine_profile(const PlainRow& row) {
  return {.section = row.section,
          .name = row.name,
          .kind = SettingKind::engine_profile,
          .choices = {},
          .default_text = row.default_text,
          .help = row.help,
          .store = &store_engine_profile,
          .load = &load_engine_profile};
}

template <auto Member>
constexpr Setting policy(const ChoiceRow& row) {
  return choice<Member>(row);
}

template <auto Member>
void store_list(EngineSettings& settings, const SettingValue& value) {
  const auto& list = std::get<std::vector<std::int64_t>>(value);
  member_of<Member>(settings).emplace(list.begin(), list.end());
}

template <auto Member>
std::optional<SettingValue> load_list(const EngineSettings& settings) {
  const auto& member = member_of<Member>(settings);
  if (!member) return std::nullopt;
  return setting_value(std::vector<std::int64_t>(member->begin(), member->end()));
}

template <auto Member>
constexpr Setting integer_list(const IntegerRow& row) {
  Setting setting = described(SettingKind::integer_list, row);
  setting.store = &store_list<Member>;
  setting.load = &load_list<Member>;
  return setting;
}

}  // namespace hybridscope::setting_rows
