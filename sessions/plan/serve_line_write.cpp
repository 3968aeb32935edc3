#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/plan/serve_line.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

void remove_words(ShellWords& line, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) line.words[i] = ShellWord();
}

void add_words(ShellWords& line, std::string_view words) {
  line.words.push_back({.before = " ", .raw = std::string(words), .value = {}});
}

// `value` as flag_value gives it.
Json json_value(const Setting& setting, const std::string& value) {
  if (setting.kind == SettingKind::integer) return std::stoll(value);
  if (setting.kind != SettingKind::integer_list) return value;
  Json list = Json::array();
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find(' ', begin), value.size());
    list.push_back(std::stoll(value.substr(begin, end - begin)));
    begin = end + 1;
  }
  return list;
}

// `value` of a flag in words: quoted, lists as several, or as JSON behind a dotted flag.
std::string words_of(const Setting& setting, const std::string& value, bool dotted) {
  if (setting.kind != SettingKind::integer_list) return shell_word(value);
  return dotted ? shell_word(json_value(setting, value).dump()) : value;
}

// The object with the setting in its place, at the end if it is new, or without it.
Json with_setting(const Json& json, std::string_view flag, const Setting& setting,
                  const std::string& value) {
  Json changed = Json::object();
  bool placed = value.empty();
  for (const auto& [key, member] : json.items()) {
    const bool is_it = setting_in_json_flag(flag, key) == &setting;
    if (!is_it) {
      changed[key] = member;
    } else if (!placed) {
      changed[key] = json_value(setting, value);
      placed = true;
    }
  }
  if (!placed) changed[std::string(setting.name)] = json_value(setting, value);
  return changed;
}

}  // namespace

const ServeLine::Part* ServeLine::last_part(const Setting& setting) const {
  const Part* last = nullptr;
  for (const Part& part : parts_)
    if (part.setting == &setting) last = &part;
  return last;
}

const ServeLine::Part* ServeLine::last_json(std::string_view name) const {
  const Part* last = nullptr;
  for (const Part& part : parts_)
    if (part.setting == nullptr && part.name == name) last = &part;
  return last;
}

bool ServeLine::vllm_chooses_length() const {
  return !settings_.max_model_len && last_part(*find_setting("", "max_model_len")) != nullptr;
}

bool ServeLine::sets_dotted(const Setting& setting) const {
  const Part* part = last_part(setting);
  return part != nullptr && part->name.find('.') != std::string::npos;
}

bool ServeLine::sets_in_object(const Setting& setting) const {
  return std::ranges::find(in_objects_, &setting) != in_objects_.end();
}

// Replaces the words of `part`, or adds some at the end.
void ServeLine::write_part(const Part* part, const std::string& flag, const std::string& value,
                           ShellWords& line) const {
  if (part == nullptr) {
    add_words(line, value.empty() ? flag : flag + " " + value);
    return;
  }
  ShellWord& first = line.words[part->first];
  if (part->is_variable || part->joined) {
    const std::size_t equals = first.raw.find('=');
    const std::string start =
        equals == std::string::npos ? flag + "=" : first.raw.substr(0, equals + 1);
    first.raw = value.empty() ? flag : start + value;
    return;
  }
  if (value.empty()) {
    first.raw = flag;
    return;
  }
  line.words[part->first + 1].raw = value;
  remove_words(line, part->first + 2, part->count - 2);
}

void ServeLine::rewrite_setting(const Setting& setting, const EngineSettings& wanted,
                                ShellWords& line, Written& written) const {
  const bool variable = !variable_of_setting(setting).empty();
  const std::string before =
      variable ? variable_value(settings_, setting) : flag_value(settings_, setting);
  const std::string after =
      variable ? variable_value(wanted, setting) : flag_value(wanted, setting);
  if (before == after) return;
  const Part* last = last_part(setting);
  std::string flag =
      variable ? std::string(variable_of_setting(setting)) : flag_of_setting(setting);
  const bool dotted = sets_dotted(setting);
  if (last != nullptr && (flag.empty() || dotted)) flag = "--" + last->name;
  if (flag.empty()) {
    written.left_out.push_back(fmt::format("{} {}", setting_path(setting), after));
    return;
  }
  for (const Part& part : parts_)
    if (part.setting == &setting && (&part != last || after.empty()))
      remove_words(line, part.first, part.count);
  if (after.empty()) {
    written.changes.push_back(fmt::format("{} removed, it was {}", flag, before));
    return;
  }
  const std::string was = last == nullptr  ? "added"
                          : before.empty() ? "in place of auto"
                                           : "in place of " + before;
  if (setting.kind == SettingKind::boolean) {
    const std::string word = after == "true" ? flag : "--no-" + flag.substr(2);
    write_part(last, word, "", line);
    written.changes.push_back(fmt::format("{} {}", word, was));
    return;
  }
  if (variable && last == nullptr) {
    line.words.insert(line.words.begin(),
                      ShellWord{.before = {}, .raw = flag + "=" + after, .value = {}});
    if (line.words.size() > 1 && line.words[1].before.empty()) line.words[1].before = " ";
  } else {
    write_part(last, flag, words_of(setting, after, dotted), line);
  }
  written.changes.push_back(fmt::format("{}{}{} {}", flag, variable ? "=" : " ", after, was));
}

void ServeLine::rewrite_json(std::string_view name, const EngineSettings& wanted, ShellWords& line,
                             Written& written) const {
  const Part* last = last_json(name);
  Json json = Json::object();
  if (last != nullptr) {
    const ShellWord& word = line_.words[last->joined ? last->first : last->first + 1];
    const std::string& text = word.value;
    json = Json::parse(last->joined ? text.substr(text.find('=') + 1) : text, nullptr, false);
  }
  bool differs = false;
  for (const Setting& setting : settings_table()) {
    const bool is_here = setting_in_json_flag(name, setting.name) == &setting &&
                         (sets_in_object(setting) || json_flag_of(setting) == name);
    if (!is_here || sets_dotted(setting)) continue;
    const std::string after = flag_value(wanted, setting);
    if (flag_value(settings_, setting) == after) continue;
    differs = true;
    json = with_setting(json, name, setting, after);
  }
  if (!differs) return;
  const std::string flag = "--" + std::string(name);
  for (const Part& part : parts_)
    if (part.setting == nullptr && part.name == name && (&part != last || json.empty()))
      remove_words(line, part.first, part.count);
  if (json.empty()) {
    written.changes.push_back(flag + " removed");
    return;
  }
  write_part(last, flag, shell_word(json.dump()), line);
  written.changes.push_back(
      fmt::format("{} {} {}", flag, json.dump(), last == nullptr ? "added" : "changed"));
}

ServeLine::Written ServeLine::with(const EngineSettings& wanted) const {
  Written written;
  ShellWords line = line_;
  // New variables come first in the line, and would move the words that parts point to.
  std::vector<const Setting*> new_variables;
  for (const Setting& setting : settings_table()) {
    if (!sets_dotted(setting) && (sets_in_object(setting) || !json_flag_of(setting).empty()))
      continue;
    if (!variable_of_setting(setting).empty() && last_part(setting) == nullptr)
      new_variables.push_back(&setting);
    else
      rewrite_setting(setting, wanted, line, written);
  }
  for (const std::string_view name : {"speculative-config", "compilation-config"})
    rewrite_json(name, wanted, line, written);
  for (const Setting* setting : new_variables) rewrite_setting(*setting, wanted, line, written);
  written.text = join_shell_words(line);
  while (!written.text.empty() && written.text.front() == ' ') written.text.erase(0, 1);
  return written;
}

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair kShortFlags[] = {
    {"tp", "tensor-parallel-size"}, {"pp", "pipeline-parallel-size"},
    {"dp", "data-parallel-size"},   {"sc", "speculative-config"},
    {"cc", "compilation-config"},   {"kv-cache-memory", "kv-cache-memory-bytes"},
    {"O", "optimization-level"},
};

// Settings that are flags, besides those that the table marks as exported.
constexpr std::array<std::string_view, 1> kMoreFlags = {"kv_cache_memory_bytes"};

constexpr Pair kJsonKeys[] = {
    {"speculative-config", "method"},
    {"speculative-config", "num_speculative_tokens"},
    {"compilation-config", "cudagraph_mode"},
    {"compilation-config", "cudagraph_capture_sizes"},
    {"compilation-config", "max_cudagraph_capture_size"},
};

constexpr Pair kVariables[] = {
    {"VLLM_USE_V2_MODEL_RUNNER", "runner"},
    {"VLLM_SSM_CONV_STATE_LAYOUT", "ssm_conv_state_layout"},
};

// Flags of vLLM without a value whose names do not show it.
constexpr std::array<std::string_view, 14> kWithoutValue = {
    "trust-remote-code",   "enforce-eager",     "headless",
    "language-model-only", "async-scheduling",  "data-parallel-hybrid-lb",
    "skip-mm-profiling",   "use-tqdm-on-load",  "return-tokens-as-token-ids",
    "allow-credentials",   "async-engine",      "calculate-kv-scales",
    "skip-tokenizer-init", "h11-allow-insecure"};

bool has_own_flag(const Setting& setting) {
  return setting.section.empty() &&
         (setting.use.vllm_flag || setting.use.started_place > 0 ||
          std::ranges::find(kMoreFlags, setting.name) != kMoreFlags.end());
}

// "8k" -> "8000", "8K" -> "8192", "1.5M" -> "1572864"; other text unchanged.
std::string plain_number(std::string_view text) {
  constexpr std::string_view kNumberUnits = "kmgtKMGT";
  const std::size_t unit = text.empty() ? kNumberUnits.npos : kNumberUnits.find(text.back());
  if (unit == kNumberUnits.npos) return std::string(text);
  const std::string number(text.substr(0, text.size() - 1));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || end != number.c_str() + number.size()) return std::string(text);
  const double base = unit < 4 ? 1000.0 : 1024.0;
  const double whole = value * std::pow(base, static_cast<double>(unit % 4 + 1));
  if (!(whole >= 0 && whole < 9e15)) return std::string(text);
  return std::to_string(static_cast<std::int64_t>(whole));
}

}  // namespace

std::string flag_name(std::string_view word) {
  const bool is_long = word.starts_with("--");
  if (!word.starts_with('-') || word.size() < 2) return {};
  std::string name(word.substr(is_long ? 2 : 1));
  std::ranges::replace(name, '_', '-');
  const std::string head = name.substr(0, name.find('.'));  // "sc" of "sc.method"
  for (const auto& [shorter, longer] : kShortFlags)
    if (head == shorter) return std::string(longer) + name.substr(head.size());
  return name;
}

const Setting* setting_of_flag(std::string_view name, bool& negated) {
  negated = false;
  const auto find = [](std::string_view flag) -> const Setting* {
    std::string key(flag);
    std::ranges::replace(key, '-', '_');
    const Setting* setting = find_setting("", key);
    return setting != nullptr && has_own_flag(*setting) ? setting : nullptr;
  };
  if (const Setting* setting = find(name)) return setting;
  if (!name.starts_with("no-")) return nullptr;
  const Setting* setting = find(name.substr(3));
  if (setting == nullptr || setting->kind != SettingKind::boolean) return nullptr;
  negated = true;
  return setting;
}

bool is_json_flag(std::string_view name) {
  return std::ranges::find(kJsonKeys, name, &Pair::first) != std::end(kJsonKeys);
}

const Setting* setting_in_json_flag(std::string_view name, std::string_view key) {
  std::string spelled(key);
  std::ranges::replace(spelled, '-', '_');
  for (const auto& [flag, own] : kJsonKeys)
    if (flag == name && own == spelled)
      return find_setting(name == "speculative-config" ? "speculative_config" : "", own);
  return nullptr;
}

std::string_view json_flag_of(const Setting& setting) {
  if (has_own_flag(setting)) return {};
  for (const auto& [flag, key] : kJsonKeys)
    if (setting_in_json_flag(flag, setting.name) == &setting && key == setting.name) return flag;
  return {};
}

std::string flag_of_setting(const Setting& setting) {
  if (!has_own_flag(setting)) return {};
  std::string name(setting.name);
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

bool takes_value(std::string_view name) {
  for (const std::string_view start : {"no-", "enable-", "disable-"})
    if (name.starts_with(start)) return false;
  return std::ranges::find(kWithoutValue, name) == kWithoutValue.end();
}

Status set_flag(EngineSettings& settings, const Setting& setting, std::string_view value) {
  std::string text(value);
  if (setting.kind == SettingKind::integer || setting.kind == SettingKind::byte_size)
    text = plain_number(value);
  if (setting.kind == SettingKind::integer_list)
    std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  if (setting_path(setting) == "speculative_config/method") {
    if (text.ends_with("_mtp")) text = "mtp";
    if (const auto why = why_value_not_modelled("speculative_config/method", text); !why.empty())
      return invalid_input(fmt::format("method {} is not modelled: {}", text, why));
  }
  return set_setting_text(settings, setting, text);
}

std::string flag_value(const EngineSettings& settings, const Setting& setting) {
  const auto value = get_setting(settings, setting);
  if (!value) return {};
  if (const auto* flag = std::get_if<bool>(&*value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&*value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&*value)) return *text;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(*value), " "));
}

const Setting* setting_of_variable(std::string_view name) {
  for (const auto& [variable, setting] : kVariables)
    if (variable == name) return find_setting("", setting);
  return nullptr;
}

std::string_view variable_of_setting(const Setting& setting) {
  for (const auto& [variable, name] : kVariables)
    if (setting.section.empty() && setting.name == name) return variable;
  return {};
}

std::string setting_text_of_variable(const Setting& setting, std::string_view value) {
  if (setting.name != "runner") return std::string(value);
  return value == "1" || value == "true" ? "v2" : "v1";
}

std::string variable_value(const EngineSettings& settings, const Setting& setting) {
  const std::string value = flag_value(settings, setting);
  if (setting.name != "runner" || value.empty()) return value;
  return value == "v2" ? "1" : "0";
}

}  // namespace hybridscope
