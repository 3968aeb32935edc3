#include "sessions/plan/serve_line.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/model/model_presets.h"
#include "sessions/plan/serve_flags.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/startup/known_models.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
Result<std::string> model_of_serve_line(const std::string& model) {
  if (model_preset(model).ok()) return model;
  std::error_code error;
  if (std::filesystem::exists(model, error)) return model;
  if (find_known_model(model) != nullptr) return model;
  if (const KnownModel* known = find_model_named_in(model)) return known->names.front();
  return Error{
      ErrorKind::not_found,
      fmt::format("the sizes of {} are not known{}: give its file with --model config.json "
                  "(`hybridscope model --list` prints what is known by name)",
                  model, nearest_model_hint(model))};
}

namespace {

// A value such as "-1" is no flag.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !(word[1] >= '0' && word[1] <= '9') &&
         word[1] != '.';
}

// max_model_len as memory allows, which is not modelled.
bool is_chosen_by_vllm(const Setting& setting, std::string_view value) {
  return setting_path(setting) == "max_model_len" && (value == "auto" || value == "-1");
}

constexpr std::array<std::string_view, 3> kRefusedAboveOne = {
    "pipeline-parallel-size", "decode-context-parallel-size", "prefill-context-parallel-size"};

bool is_refused_above_one(std::string_view name) {
  return std::ranges::find(kRefusedAboveOne, name) != kRefusedAboveOne.end();
}

Status refuse_ranks(std::string_view name, std::string_view value) {
  if (value == "1") return Ok{};
  std::string_view why =
      "the blocks of a request are spread over its ranks; leave it out to see "
      "those without it";
  if (name == "pipeline-parallel-size")
    why = why_value_not_modelled("pipeline_parallel_size", value);
  return invalid_input(
      fmt::format("--{} {}: sizes with it are not computed: {}", name, value, why));
}

}  // namespace

// Words of the command may have line ends.
Result<ServeLine> ServeLine::parse(std::string_view text) {
  constexpr std::size_t kLongestError = 500;
  auto line = parse_text(text);
  if (!line.ok()) return Error{line.error().kind, one_line(line.error().message, kLongestError)};
  for (std::string& words : line.value().not_read_) words = one_line(words);
  return line;
}

Result<ServeLine> ServeLine::parse_text(std::string_view text) {
  auto command = find_pasted_command(text);
  if (!command.ok()) return command.error();
  ServeLine line;
  line.command_ = std::move(command).value();
  line.notes_ = line.command_.notes;
  if (Status read = line.read_words(); !read.ok()) return read.error();
  if (line.model_.empty()) return invalid_input("the line names no model");
  if (Status once = line.check_set_once(); !once.ok()) return once.error();
  return line;
}

// Releases are tags of images, with what they were built for: "v0.28.0", "v0.24.0-cu129". "latest"
// and "nightly" name none, nor do images that count in another way ("25.12").
void ServeLine::read_image(const std::string& image) {
  const std::string_view name = std::string_view(image).substr(0, image.find('@'));
  std::string_view tag = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  tag.remove_prefix(std::min(tag.find(':'), tag.size()));
  if (tag.starts_with(":v")) tag.remove_prefix(1);
  tag.remove_prefix(std::min<std::size_t>(tag.size(), 1));
  if (!tag.starts_with("0.")) return;
  const std::string_view release = tag.substr(0, tag.find_first_not_of("0123456789."));
  const bool is_whole = release.size() == tag.size() || tag[release.size()] == '-';
  if (const auto found = parse_release(release); found && is_whole)
    settings_.engine = EngineProfile::vllm(*found);
  else
    notes_.push_back(fmt::format(
        "the image is vLLM {}, which is not modelled: --engine chooses a release", tag));
}

Status ServeLine::read_words() {
  read_image(command_.image);
  for (const std::size_t word : command_.variables)
    if (Status read = read_variable(word); !read.ok()) return read;
  const std::vector<ShellWord>& words = command_.line.words;
  for (std::size_t i = command_.first_argument; i < words.size();) {
    if (words[i].value == "--")
      return invalid_input("vllm serve reads no flag behind \"--\"; leave it out");
    if (is_flag(command_.line.words[i].value)) {
      if (Status read = read_flag(i); !read.ok()) return read;
      continue;
    }
    if (model_.empty())
      model_ = command_.line.words[i].value;
    else
      not_read_.push_back(command_.line.words[i].raw);
    ++i;
  }
  if (!eager_.empty()) settings_.cudagraph_mode = CUDAGraphMode::none;
  if (settings_.data_parallel_size.value_or(1) > 1)
    notes_.push_back(fmt::format("data_parallel_size {}: the sizes are those of one of the engines",
                                 *settings_.data_parallel_size));
  return Ok{};
}

// "NAME=value"; of a container also behind "-e", "-e" or "--env=".
Status ServeLine::read_variable(std::size_t word) {
  std::string text = command_.line.words[word].value;
  if (text.starts_with("--env=")) text.erase(0, 6);
  if (text.starts_with("-e")) text.erase(0, 2);
  if (!is_assignment(text)) return Ok{};
  const std::size_t equals = text.find('=');
  const bool has_option =
      command_.in_container && !command_.line.words[word].value.starts_with('-');
  Part part{.first = has_option ? word - 1 : word,
            .count = has_option ? 2UL : 1UL,
            .name = text.substr(0, equals),
            .joined = true,
            .is_variable = true,
            .setting = nullptr};
  part.setting = setting_of_variable(part.name);
  if (part.setting == nullptr) {
    // Other variables of a container are many, and some are secret.
    if (!command_.in_container || part.name.starts_with("VLLM_"))
      not_read_.push_back(command_.line.words[word].raw);
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
  const std::string& text = command_.line.words[word].value;
  const std::size_t equals = text.find('=');
  ++word;
  if (equals != text.npos) {
    part.joined = true;
    value = text.substr(equals + 1);
    return Ok{};
  }
  const bool is_list = part.setting != nullptr && part.setting->kind == SettingKind::integer_list &&
                       part.name.find('.') == std::string::npos;
  while (word < command_.line.words.size() && !is_flag(command_.line.words[word].value)) {
    value += (value.empty() ? "" : ",") + command_.line.words[word].value;
    ++word;
    ++part.count;
    if (!is_list) break;
  }
  if (part.count == 1) return invalid_input(fmt::format("{} has no value", text));
  return Ok{};
}

// -O2, which is also --optimization-level 2.
bool ServeLine::read_optimization_level(std::size_t& word) {
  const std::string& text = command_.line.words[word].value;
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
  const std::string& text = command_.line.words[word].value;
  const std::size_t equals = text.find('=');
  value = equals != text.npos ? text.substr(equals + 1) : negated ? "false" : "true";
  ++word;
}

// One that is no setting, with its values.
void ServeLine::skip_flag(const std::string& name, std::size_t& word) {
  const std::size_t first = word;
  const bool joined = command_.line.words[word].value.find('=') != std::string::npos;
  ++word;
  // Several values, or one and the model.
  const std::size_t most = model_.empty() ? 1 : command_.line.words.size();
  if (!joined && takes_value(name))
    while (word < command_.line.words.size() && word - first <= most &&
           !is_flag(command_.line.words[word].value))
      ++word;
  add_not_read(first, word);
}

void ServeLine::add_not_read(std::size_t first, std::size_t end) {
  std::string raw;
  for (std::size_t i = first; i < end; ++i)
    raw += (i == first ? "" : " ") + command_.line.words[i].raw;
  not_read_.push_back(std::move(raw));
}

// --enforce-eager: neither graphs nor torch.compile (vllm/config/vllm.py __post_init__).
void ServeLine::read_eager(bool negated, std::size_t& word) {
  if (negated || command_.line.words[word].value.ends_with("=false"))
    eager_.clear();
  else
    eager_.push_back(word);
  ++word;
}

Status ServeLine::read_flag(std::size_t& word) {
  if (read_optimization_level(word)) return Ok{};
  const std::string_view text = command_.line.words[word].value;
  Part part{.first = word, .count = 1, .name = flag_name(text.substr(0, text.find('=')))};
  if (part.name == "enforce-eager" || part.name == "no-enforce-eager") {
    read_eager(part.name.starts_with("no-"), word);
    return Ok{};
  }
  bool negated = false;
  const std::size_t dot = part.name.find('.');
  part.setting = dot == std::string::npos
                     ? setting_of_flag(part.name, negated)
                     : setting_in_json_flag(part.name.substr(0, dot), part.name.substr(dot + 1));
  const bool json = dot == std::string::npos && is_json_flag(part.name);
  const bool draft = part.name == "speculative-config.model";
  const bool ranks = is_refused_above_one(part.name);
  if (part.setting == nullptr && !json && !draft && !ranks && part.name != "model") {
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
  if (ranks)
    if (Status one = refuse_ranks(part.name, value); !one.ok() || part.setting == nullptr)
      return one;
  if (dot != std::string::npos &&
      read_draft(part.name.substr(0, dot), part.name.substr(dot + 1), value))
    return Ok{};
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

// The draft's model, and a method that no setting has: what they need in the cache is in no group.
// False: the key is something else.
bool ServeLine::read_draft(std::string_view flag, std::string_view key, const std::string& value) {
  if (flag != "speculative-config") return false;
  if (key == "model") {
    draft_model_ = value;
    not_read_.push_back(fmt::format("--{} {}", flag, key));
    return true;
  }
  const bool is_other = key == "method" && !value.ends_with("mtp") &&
                        !why_value_not_modelled("speculative_config/method", value).empty();
  if (key == "method") draft_method_ = is_other ? value : std::string();
  if (is_other) settings_.speculative_method.reset();
  return is_other;
}

// vLLM takes the last of two objects of one flag.
void ServeLine::forget(std::string_view flag) {
  if (flag == "speculative-config") {
    settings_.speculative_method.reset();
    settings_.num_speculative_tokens.reset();
    draft_model_.clear();
    draft_method_.clear();
  } else {
    settings_.cudagraph_mode.reset();
    settings_.cudagraph_capture_sizes.reset();
    settings_.max_cudagraph_capture_size.reset();
  }
  std::erase_if(in_objects_, [&](const Setting* setting) {
    return setting_in_json_flag(flag, setting->name) == setting;
  });
}

Status ServeLine::read_json(const Part& part, std::string_view value) {
  const auto json = nlohmann::ordered_json::parse(value, nullptr, false);
  if (!json.is_object())
    return invalid_input(fmt::format("--{} is not a JSON object: {}", part.name, value));
  if (std::ranges::count(parts_, part.name, &Part::name) > 1) forget(part.name);
  for (const auto& [key, member] : json.items()) {
    const Setting* setting = setting_in_json_flag(part.name, key);
    const std::string text = member.is_string() ? member.get<std::string>() : member.dump();
    if (read_draft(part.name, key, text)) continue;
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
