// Checks values against their row of the settings table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

std::string value_text(const SettingValue& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
  };
  return std::visit(Text{}, value);
}

// Without the quotes that texts are shown in.
std::string_view why_not_modelled(const Setting& setting, std::string_view shown) {
  if (shown.size() >= 2 && shown.front() == '"') shown = shown.substr(1, shown.size() - 2);
  return why_value_not_modelled(setting_path(setting), shown);
}

Error refused(const Setting& setting, std::string_view shown) {
  if (const std::string_view why = why_not_modelled(setting, shown); !why.empty())
    return invalid_input(fmt::format("{} is {}, which is not modelled: {} (allowed: {})",
                                     setting.name, shown, why, allowed_values(setting)));
  return invalid_input(
      fmt::format("{} is {} (allowed: {})", setting.name, shown, allowed_values(setting)));
}

// None, as vLLM's flags take it.
constexpr std::string_view kNone = "None";
bool is_none(const Setting& setting, std::string_view text) {
  return setting.takes_none && (text == kNone || text == "none");
}

bool in_range(const Setting& setting, std::int64_t value) {
  return value >= setting.min && value <= setting.max;
}

// The value in the form that Setting::store takes; empty when it is not allowed.
std::optional<SettingValue> checked_value(const Setting& setting, const SettingValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* text = std::get_if<std::string>(&value);
  switch (setting.kind) {
    case SettingKind::boolean:
      if (std::holds_alternative<bool>(value)) return value;
      break;
    case SettingKind::byte_size:
      if (text) {
        const Result<std::int64_t> bytes = parse_byte_size(*text);
        if (bytes.ok() && in_range(setting, bytes.value())) return setting_value(bytes.value());
        break;
      }
      [[fallthrough]];
    case SettingKind::integer:
      if (text && is_none(setting, *text)) return setting_value(std::int64_t{-1});
      if (integer && in_range(setting, *integer)) return value;
      break;
    case SettingKind::fraction: {
      if (integer && (*integer == 0 || *integer == 1))
        return setting_value(static_cast<double>(*integer));
      const auto* number = std::get_if<double>(&value);
      if (number && *number >= 0.0 && *number <= 1.0) return value;
      break;
    }
    case SettingKind::choice:
      for (std::size_t i = 0; text && i < setting.choices.size(); ++i)
        if (setting.choices[i] == *text) return setting_value(static_cast<std::int64_t>(i));
      break;
    case SettingKind::engine_profile:
      if (text && parse_engine_profile(*text)) return value;
      break;
    case SettingKind::integer_list: {
      const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      if (!list) break;
      for (const std::int64_t item : *list)
        if (!in_range(setting, item)) return std::nullopt;
      return value;
    }
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::optional<SettingValue> as_setting(const std::optional<T>& value) {
  return value ? setting_value(*value) : std::nullopt;
}

std::optional<SettingValue> parse_integer_list(std::string_view text) {
  std::vector<std::int64_t> list;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto item = parse_number<std::int64_t>(text.substr(0, comma));
    if (!item) return std::nullopt;
    list.push_back(*item);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return setting_value(std::move(list));
}

std::optional<SettingValue> parse_text(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case SettingKind::boolean:
      if (text == "true" || text == "1") return setting_value(true);
      if (text == "false" || text == "0") return setting_value(false);
      return std::nullopt;
    case SettingKind::integer:
      if (is_none(setting, text)) return setting_value(std::string(text));
      return as_setting(parse_number<std::int64_t>(text));
    case SettingKind::fraction: return as_setting(parse_number<double>(text));
    case SettingKind::byte_size:
    case SettingKind::choice:
    case SettingKind::engine_profile: return setting_value(std::string(text));
    case SettingKind::integer_list: return parse_integer_list(text);
  }
  return std::nullopt;
}

}  // namespace

std::string setting_path(const Setting& setting) {
  if (setting.section.empty()) return std::string(setting.name);
  return fmt::format("{}/{}", setting.section, setting.name);
}

std::string allowed_values(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::boolean: return "true or false";
    case SettingKind::integer:
      if (setting.min == setting.max) return fmt::format("only {}", setting.min);
      return fmt::format("an integer from {} to {}{}", setting.min, setting.max,
                         setting.takes_none ? ", or None" : "");
    case SettingKind::byte_size:
      return fmt::format("bytes from {} to {}, such as 60GiB or 512MiB", setting.min, setting.max);
    case SettingKind::fraction: return "a number from 0 to 1";
    case SettingKind::choice: return fmt::format("one of {}", fmt::join(setting.choices, ", "));
    case SettingKind::engine_profile: return fmt::format("one of {}", engine_profile_names());
    case SettingKind::integer_list:
      return fmt::format("a list of integers from {} to {}", setting.min, setting.max);
  }
  return {};
}

Status set_setting(EngineSettings& settings, const Setting& setting, const SettingValue& value) {
  const std::optional<SettingValue> checked = checked_value(setting, value);
  if (!checked) {
    const auto* profile = std::get_if<std::string>(&value);
    const bool mistyped = setting.kind == SettingKind::engine_profile && profile != nullptr;
    return refused(setting, value_text(value) + (mistyped ? nearest_profile_hint(*profile) : ""));
  }
  setting.store(settings, setting, *checked);
  return Ok{};
}

Status set_setting_text(EngineSettings& settings, const Setting& setting, std::string_view text) {
  const std::optional<SettingValue> value = parse_text(setting, text);
  if (!value) return refused(setting, fmt::format("\"{}\"", text));
  return set_setting(settings, setting, *value);
}

std::optional<SettingValue> get_setting(const EngineSettings& settings, const Setting& setting) {
  std::optional<SettingValue> value = setting.load(settings, setting);
  if (value && setting.kind == SettingKind::choice) {
    const auto index = static_cast<std::size_t>(std::get<std::int64_t>(*value));
    return setting_value(std::string(setting.choices[index]));
  }
  if (value && setting.takes_none && std::get<std::int64_t>(*value) < 0)
    return setting_value(std::string(kNone));
  return value;
}

}  // namespace hybridscope
