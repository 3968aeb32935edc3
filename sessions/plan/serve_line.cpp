#include "sessions/plan/serve_line.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/model/model_presets.h"
#include "sessions/startup/known_models.h"

namespace hybridscope {
Result<std::string> model_of_serve_line(const std::string& model) {
  if (model_preset(model).ok()) return model;
  std::error_code error;
  if (std::filesystem::exists(model, error)) return model;
  if (find_known_model(model) != nullptr) return model;
  return Error{
      ErrorKind::not_found,
      fmt::format("the sizes of {} are not known{}: give its file with --model config.json "
                  "(`hybridscope model --list` prints what is known by name)",
                  model, nearest_model_hint(model))};
}

namespace {

constexpr std::string_view kSpaces = " \t\n\r";
constexpr std::string_view kEndsCommand = ";&|<>()";
constexpr std::string_view kEscapedInDoubleQuotes = "$`\"\\\n";

class ShellLine {
 public:
  explicit ShellLine(std::string_view text) : text_(text) {}

  // Errors: a quote that is not closed; ; & | < > ( ) outside quotes, which end a simple command.
  Result<ShellWords> split() {
    ShellWords result;
    while (true) {
      std::string before = take_space();
      if (at_end()) {
        result.after = std::move(before);
        return result;
      }
      if (text_[at_] == '#')
        return invalid_input("'#' outside quotes begins a comment; leave it out");
      ShellWord word{.before = std::move(before), .raw = {}, .value = {}};
      if (Status taken = take_word(word); !taken.ok()) return taken.error();
      result.words.push_back(std::move(word));
    }
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at_joined_line() const { return text_.substr(at_).starts_with("\\\n"); }

  std::string take_space() {
    const std::size_t from = at_;
    while (!at_end()) {
      if (at_joined_line())
        at_ += 2;
      else if (kSpaces.find(text_[at_]) != kSpaces.npos || text_.substr(at_) == "\\")
        ++at_;
      else
        break;
    }
    return std::string(text_.substr(from, at_ - from));
  }

  Status take_word(ShellWord& word) {
    const std::size_t from = at_;
    while (!at_end() && kSpaces.find(text_[at_]) == kSpaces.npos) {
      const char c = text_[at_];
      if (kEndsCommand.find(c) != kEndsCommand.npos)
        return invalid_input(fmt::format("'{}' outside quotes ends the command", c));
      if (c == '\'' || c == '"') {
        if (Status taken = take_quoted(c, word.value); !taken.ok()) return taken;
      } else if (at_joined_line()) {
        at_ += 2;
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        word.value += text_[at_ + 1];
        at_ += 2;
      } else {
        word.value += c;
        ++at_;
      }
    }
    word.raw = std::string(text_.substr(from, at_ - from));
    return Ok{};
  }

  Status take_quoted(char quote, std::string& value) {
    ++at_;
    while (!at_end() && text_[at_] != quote) {
      const bool escapes =
          quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
          kEscapedInDoubleQuotes.find(text_[at_ + 1]) != kEscapedInDoubleQuotes.npos;
      if (escapes) ++at_;
      if (!(escapes && text_[at_] == '\n')) value += text_[at_];
      ++at_;
    }
    if (at_end()) return invalid_input(fmt::format("a quote ({}) is not closed", quote));
    ++at_;
    return Ok{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string join_shell_words(const ShellWords& line) {
  std::string text;
  for (const ShellWord& word : line.words) text += word.before + word.raw;
  return text + line.after;
}

namespace {

constexpr std::string_view kServer = "vllm.entrypoints.openai.api_server";

std::string name_of_path(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The word after `vllm serve`, or after the module; npos: no such line.
std::size_t first_argument(const ShellWords& line) {
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    if (line.words[i].value == kServer) return i + 1;
    if (name_of_path(line.words[i].value) == "vllm" && i + 1 < line.words.size() &&
        line.words[i + 1].value == "serve")
      return i + 2;
  }
  return std::string::npos;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != word.npos && equals > 0 && word.front() != '-' &&
         word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_abcdefghijklmnopqrstuvwxyz") == word.npos;
}

// A value such as "-1" is no flag.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !(word[1] >= '0' && word[1] <= '9') &&
         word[1] != '.';
}

// max_model_len as memory allows, which is not modelled.
bool is_chosen_by_vllm(const Setting& setting, std::string_view value) {
  return setting_path(setting) == "max_model_len" && (value == "auto" || value == "-1");
}

}  // namespace

Result<ServeLine> ServeLine::parse(std::string_view text) {
  auto words = ShellLine(text).split();
  if (!words.ok()) return words.error();
  ServeLine line;
  line.line_ = std::move(words).value();
  if (Status read = line.read_words(); !read.ok()) return read.error();
  if (line.model_.empty()) return invalid_input("the line names no model");
  if (Status once = line.check_set_once(); !once.ok()) return once.error();
  return line;
}

Status ServeLine::read_words() {
  const std::size_t first = first_argument(line_);
  if (first == std::string::npos)
    return invalid_input(fmt::format("the line has neither \"vllm serve\" nor \"-m {}\"", kServer));
  for (std::size_t i = 0; i < first; ++i)
    if (Status read = read_variable(i); !read.ok()) return read;
  for (std::size_t i = first; i < line_.words.size();) {
    if (line_.words[i].value == "--")
      return invalid_input("vllm serve reads no flag behind \"--\"; leave it out");
    if (is_flag(line_.words[i].value)) {
      if (Status read = read_flag(i); !read.ok()) return read;
      continue;
    }
    if (model_.empty())
      model_ = line_.words[i].value;
    else
      not_read_.push_back(line_.words[i].raw);
    ++i;
  }
  return Ok{};
}

Status ServeLine::read_variable(std::size_t word) {
  const std::string& text = line_.words[word].value;
  if (!is_assignment(text)) return Ok{};
  const std::size_t equals = text.find('=');
  Part part{.first = word,
            .count = 1,
            .name = text.substr(0, equals),
            .joined = true,
            .is_variable = true,
            .setting = nullptr};
  part.setting = setting_of_variable(part.name);
  if (part.setting == nullptr) {
    not_read_.push_back(line_.words[word].raw);
    return Ok{};
  }
  const Status set = set_setting_text(
      settings_, *part.setting, setting_text_of_variable(*part.setting, text.substr(equals + 1)));
  if (!set.ok()) return invalid_input(fmt::format("{}: {}", part.name, set.error().message));
  parts_.push_back(std::move(part));
  return Ok{};
}

// The value of a flag: after "=", else the next words; lists take all that follow.
Status ServeLine::take_value(Part& part, std::size_t& word, std::string& value) {
  const std::string& text = line_.words[word].value;
  const std::size_t equals = text.find('=');
  ++word;
  if (equals != text.npos) {
    part.joined = true;
    value = text.substr(equals + 1);
    return Ok{};
  }
  const bool is_list = part.setting != nullptr && part.setting->kind == SettingKind::integer_list &&
                       part.name.find('.') == std::string::npos;
  while (word < line_.words.size() && !is_flag(line_.words[word].value)) {
    value += (value.empty() ? "" : ",") + line_.words[word].value;
    ++word;
    ++part.count;
    if (!is_list) break;
  }
  if (part.count == 1) return invalid_input(fmt::format("{} has no value", text));
  return Ok{};
}

// -O2, which is also --optimization-level 2.
bool ServeLine::read_optimization_level(std::size_t& word) {
  const std::string& text = line_.words[word].value;
  if (text.size() != 3 || !text.starts_with("-O") || text[2] < '0' || text[2] > '3') return false;
  Part part{.first = word, .count = 1, .name = "optimization-level", .joined = true};
  part.setting = find_setting("", "optimization_level");
  (void)set_flag(settings_, *part.setting, text.substr(2));
  parts_.push_back(std::move(part));
  ++word;
  return true;
}

// --name, --no-name or --name=false.
void ServeLine::take_boolean(bool negated, std::size_t& word, std::string& value) const {
  const std::string& text = line_.words[word].value;
  const std::size_t equals = text.find('=');
  value = equals != text.npos ? text.substr(equals + 1) : negated ? "false" : "true";
  ++word;
}

// One that is no setting, with its values.
void ServeLine::skip_flag(const std::string& name, std::size_t& word) {
  const std::size_t first = word;
  const bool joined = line_.words[word].value.find('=') != std::string::npos;
  ++word;
  // Several values, or one and the model.
  const std::size_t most = model_.empty() ? 1 : line_.words.size();
  if (!joined && takes_value(name))
    while (word < line_.words.size() && word - first <= most && !is_flag(line_.words[word].value))
      ++word;
  add_not_read(first, word);
}

void ServeLine::add_not_read(std::size_t first, std::size_t end) {
  std::string raw;
  for (std::size_t i = first; i < end; ++i) raw += (i == first ? "" : " ") + line_.words[i].raw;
  not_read_.push_back(std::move(raw));
}

Status ServeLine::read_flag(std::size_t& word) {
  if (read_optimization_level(word)) return Ok{};
  const std::string_view text = line_.words[word].value;
  Part part{.first = word, .count = 1, .name = flag_name(text.substr(0, text.find('=')))};
  bool negated = false;
  const std::size_t dot = part.name.find('.');
  part.setting = dot == std::string::npos
                     ? setting_of_flag(part.name, negated)
                     : setting_in_json_flag(part.name.substr(0, dot), part.name.substr(dot + 1));
  const bool json = dot == std::string::npos && is_json_flag(part.name);
  if (part.setting == nullptr && !json && part.name != "model") {
    skip_flag(part.name, word);
    return Ok{};
  }
  std::string value;
  if (part.setting != nullptr && part.setting->kind == SettingKind::boolean)
    take_boolean(negated, word, value);
  else if (Status taken = take_value(part, word, value); !taken.ok())
    return taken;
  if (part.name == "model") {
    model_ = value;
    return Ok{};
  }
  parts_.push_back(part);
  if (part.setting != nullptr && is_chosen_by_vllm(*part.setting, value)) {
    settings_.max_model_len.reset();
    return Ok{};
  }
  if (json) return read_json(part, value);
  if (Status set = set_flag(settings_, *part.setting, value); !set.ok())
    return invalid_input(fmt::format("--{}: {}", part.name, set.error().message));
  return Ok{};
}

Status ServeLine::read_json(const Part& part, std::string_view value) {
  const auto json = nlohmann::ordered_json::parse(value, nullptr, false);
  if (!json.is_object())
    return invalid_input(fmt::format("--{} is not a JSON object: {}", part.name, value));
  std::erase_if(in_objects_, [&](const Setting* setting) {
    return setting_in_json_flag(part.name, setting->name) == setting;
  });
  for (const auto& [key, member] : json.items()) {
    const Setting* setting = setting_in_json_flag(part.name, key);
    const std::string text = member.is_string() ? member.get<std::string>() : member.dump();
    if (setting == nullptr) {
      not_read_.push_back(fmt::format("--{} {}", part.name, key));
    } else if (Status set = set_flag(settings_, *setting, text); !set.ok()) {
      return invalid_input(fmt::format("--{}: {}", part.name, set.error().message));
    } else {
      in_objects_.push_back(setting);
    }
  }
  return Ok{};
}

// vLLM refuses a setting of an object beside the flag of the same name.
Status ServeLine::check_set_once() const {
  for (const Part& part : parts_) {
    const Setting* setting = part.setting;
    if (setting == nullptr || part.name.find('.') != std::string::npos) continue;
    if (sets_in_object(*setting) || sets_dotted(*setting))
      return invalid_input(
          fmt::format("--{} and {} of --compilation-config are both given; vLLM takes one of them",
                      part.name, setting->name));
  }
  return Ok{};
}

}  // namespace hybridscope
