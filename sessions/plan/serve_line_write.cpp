#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sessions/plan/serve_flags.h"
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
  line.words.push_back({.before = " ", .raw = std::string(words)});
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
  if (part->is_variable) {
    ShellWord& word = line.words[part->first + part->count - 1];
    word.raw =
        word.value.substr(0, word.value.find('=', word.value.find(part->name))) + "=" + value;
    return;
  }
  if (part->joined) {
    const std::size_t equals = first.value.find('=');
    const std::string start =
        equals == std::string::npos ? flag + "=" : first.value.substr(0, equals + 1);
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

void ServeLine::add_variable(const std::string& assignment, ShellWords& line) const {
  const auto place = line.words.begin() + static_cast<std::ptrdiff_t>(command_.variable_place);
  ShellWord word{
      .before = place->before, .raw = assignment, .value = {}, .command = place->command};
  if (command_.in_container) word.raw.insert(0, "-e ");
  place->before = " ";
  line.words.insert(place, std::move(word));
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
    add_variable(flag + "=" + after, line);
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
    const ShellWord& word = command_.line.words[last->joined ? last->first : last->first + 1];
    const std::string& text = word.value;
    json = Json::parse(last->joined ? text.substr(text.find('=') + 1) : text, nullptr, false);
  }
  bool differs = false;
  for (const Setting& setting : settings_table()) {
    const bool is_here = setting_in_json_flag(name, setting.name) == &setting &&
                         (sets_in_object(setting) || json_flag_of(setting) == name);
    if (!is_here || sets_dotted(setting)) continue;
    if (setting.name == "method" && !draft_method_.empty()) continue;
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
  ShellWords line = command_.line;
  if (!eager_.empty() && wanted.cudagraph_mode != CUDAGraphMode::none) {
    for (const std::size_t word : eager_) remove_words(line, word, 1);
    written.changes.emplace_back("--enforce-eager removed");
  }
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
  // A first word that was removed leaves the space behind it.
  if (!text().starts_with(' '))
    written.text.erase(0, std::min(written.text.find_first_not_of(' '), written.text.size()));
  return written;
}

}  // namespace hybridscope
