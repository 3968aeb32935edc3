#include "sessions/plan/pasted_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "sessions/plan/container_spec.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::string_view kServer = "vllm.entrypoints.openai.api_server";
constexpr std::string_view kServerFile = "vllm/entrypoints/openai/api_server.py";
constexpr std::string_view kMain = "vllm.entrypoints.cli.main";
constexpr std::array<std::string_view, 4> kEngines = {"docker", "podman", "nerdctl",
                                                      "nvidia-docker"};
constexpr std::array<std::string_view, 3> kRunCommands = {"run", "create", "exec"};
constexpr std::array<std::string_view, 3> kPrograms = {"vllm", "python", "python3"};
constexpr std::array<std::string_view, 3> kServerFlags = {"--model", "--served-model-name",
                                                          "--max-model-len"};
constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "zsh", "ash"};
// Options of `docker run` and `podman run` without a value.
constexpr std::array<std::string_view, 16> kSwitches = {
    "rm",        "detach",         "interactive",      "tty",
    "init",      "privileged",     "publish-all",      "quiet",
    "read-only", "no-healthcheck", "replace",          "rmi",
    "env-host",  "no-hosts",       "oom-kill-disable", "sig-proxy"};
constexpr std::string_view kShortSwitches = "ditPq";

using Words = std::span<const std::string>;

template <class Names>
bool is_in(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view name_of_path(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// The word behind `vllm serve` or the server's module.
std::optional<std::size_t> first_argument(Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kServer || words[i].ends_with(kServerFile)) return i + 1;
    const bool is_program = name_of_path(words[i]) == "vllm" || words[i] == kMain;
    if (is_program && i + 1 < words.size() && words[i + 1] == "serve") return i + 2;
  }
  return std::nullopt;
}

// The word that is the script of `sh -c`.
std::optional<std::size_t> script_of_shell(Words words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (!is_in(kShells, name_of_path(words[i]))) continue;
    for (std::size_t k = i + 1; k + 1 < words.size() && words[k].starts_with('-'); ++k)
      if (!words[k].starts_with("--") && words[k].ends_with('c')) return k + 1;
  }
  return std::nullopt;
}

// "$@" of a script as the words that it gets behind its name.
std::string with_arguments(std::string script, Words arguments) {
  std::string text;
  for (const std::string& word : arguments.subspan(std::min<std::size_t>(arguments.size(), 1)))
    text += (text.empty() ? "" : " ") + shell_word(word);
  for (const std::string_view all : {"\"$@\"", "$@", "$*"})
    if (const std::size_t at = script.find(all); at != script.npos)
      return script.replace(at, all.size(), text);
  return script;
}

// `docker run [options] IMAGE words`, as places in the words; `exec` has a container's name there.
struct DockerRun {
  std::size_t run = 0;
  std::size_t image = 0;
  std::size_t entrypoint = 0;  // 0: none
  std::vector<std::size_t> variables;
};

// How many words an option takes.
std::size_t option_size(std::string_view option) {
  if (option.find('=') != option.npos && option.starts_with("--")) return 1;
  if (option.starts_with("--")) return is_in(kSwitches, option.substr(2)) ? 1 : 2;
  for (std::size_t i = 1; i < option.size(); ++i)
    if (kShortSwitches.find(option[i]) == kShortSwitches.npos) return i + 1 < option.size() ? 1 : 2;
  return 1;
}

std::optional<DockerRun> docker_run(Words words) {
  DockerRun found;
  while (found.run < words.size() && !is_in(kEngines, name_of_path(words[found.run]))) ++found.run;
  do ++found.run;
  while (found.run < words.size() && words[found.run] == "container");
  if (found.run >= words.size() || !is_in(kRunCommands, words[found.run])) return std::nullopt;
  std::size_t i = found.run + 1;
  while (i < words.size() && words[i].starts_with('-')) {
    const std::size_t value = i + option_size(words[i]) - 1;
    if (words[i].starts_with("-e") || words[i] == "--env" || words[i].starts_with("--env="))
      found.variables.push_back(value);
    if (words[i].starts_with("--entrypoint")) found.entrypoint = value;
    i = value + 1;
  }
  if (i >= words.size()) return std::nullopt;
  found.image = i;
  return found;
}

// "vllm" of "--entrypoint=vllm"; a value in a word of its own as it is.
std::string value_of_option(const std::string& word) {
  return word.starts_with("--") ? word.substr(word.find('=') + 1) : word;
}

bool is_flag_of_server(std::string_view word) {
  return std::ranges::any_of(kServerFlags,
                             [&](std::string_view flag) { return word.starts_with(flag); });
}

// Are these the arguments of the image's own entrypoint, `vllm serve`? An image that is not named
// is one of vLLM if they look like that.
bool starts_server(std::string_view image, Words command) {
  const bool is_vllm = image.find("vllm") != image.npos || image.find("VLLM") != image.npos ||
                       (image.empty() && std::ranges::any_of(command, is_flag_of_server));
  const std::string_view first = command.empty() ? "" : name_of_path(command.front());
  return is_vllm && !command.empty() && !is_in(kShells, first) && !is_in(kPrograms, first);
}

}  // namespace

std::string line_of_container(const ContainerCommand& container) {
  std::string variables;
  for (const auto& [name, value] : container.variables)
    variables += fmt::format("{}={} ", name, shell_word(value));
  std::vector<std::string> words = container.words;
  if (const auto script = script_of_shell(words)) {
    const std::string text = with_arguments(words[*script], Words(words).subspan(*script + 1));
    return variables.empty() ? text : fmt::format("export {}\n{}", variables, text);
  }
  // A list of one word often holds the whole command.
  if (words.size() == 1) {
    const auto split = split_shell_words(words.front());
    if (!split.ok()) return {};
    words.clear();
    for (const ShellWord& word : split.value().words) words.push_back(word.value);
  }
  std::string line = std::move(variables);
  if (!first_argument(words)) {
    if (!starts_server(container.image, words)) return {};
    line += words.front() == "serve" ? "vllm " : "vllm serve ";
  }
  for (const std::string& word : words) line += shell_word(word) + " ";
  line.pop_back();
  return line;
}

namespace {

class Finder {
 public:
  explicit Finder(int depth) : depth_(depth) {}

  Result<PastedCommand> find(std::string_view text) {
    if (is_container_spec(text)) {
      auto spec = line_of_container_spec(text);
      if (!spec.ok()) return spec.error();
      found_.notes = std::move(spec.value().notes);
      return inner(spec.value().line, spec.value().image);
    }
    auto split = split_shell_words(text);
    if (!split.ok()) return split.error();
    found_.line = std::move(split).value();
    const std::vector<ShellWord>& words = found_.line.words;
    for (std::size_t i = 0; i < words.size(); i = end_) {
      begin_ = end_ = i;
      values_.clear();
      for (; end_ < words.size() && words[end_].command == words[i].command; ++end_)
        values_.push_back(words[end_].value);
      auto command = find_in_command();
      if (!command.ok()) return command.error();
      if (command.value()) return *std::move(command).value();
    }
    // A root's prompt looks like a comment.
    if (text.starts_with("# ")) return Finder(depth_).find(text.substr(2));
    return invalid_input(fmt::format(
        "the line has neither \"vllm serve\" nor \"-m {}\", and runs no image of vLLM", kServer));
  }

 private:
  using Found = Result<std::optional<PastedCommand>>;

  Result<PastedCommand> inner(const std::string& line, const std::string& image) {
    if (depth_ > 3) return invalid_input("shells inside shells, too many of them");
    auto command = Finder(depth_ + 1).find(line);
    if (!command.ok()) return command.error();
    PastedCommand result = std::move(command).value();
    if (result.image.empty()) result.image = image;
    result.notes.insert(result.notes.begin(), found_.notes.begin(), found_.notes.end());
    return result;
  }

  Found found_in(const std::string& line, const std::string& image) {
    auto command = inner(line, image);
    if (!command.ok()) return command.error();
    return std::optional(std::move(command).value());
  }

  Found find_in_command() {
    const Words words = values_;
    const auto first = first_argument(words);
    const auto docker = docker_run(words);
    if (docker && !(first && *first < docker->run)) return find_in_docker(words, *docker);
    const auto script = script_of_shell(words);
    if (script && words[*script].find("vllm") != std::string::npos)
      return found_in(with_arguments(words[*script], words.subspan(*script + 1)), {});
    if (!first) return std::optional<PastedCommand>();
    found_.first_argument = begin_ + *first;
    // `sudo` drops the variables before it.
    found_.variable_place = begin_ + (words.front() == "sudo" ? 1 : 0);
    add_variables();
    return finished();
  }

  Found find_in_docker(Words words, const DockerRun& docker) {
    const std::string& image = words[docker.image];
    const Words command = words.subspan(docker.image + 1);
    std::vector<std::string> whole;
    if (docker.entrypoint > 0) whole = split_words(value_of_option(words[docker.entrypoint]));
    const std::size_t before = whole.size();
    whole.insert(whole.end(), command.begin(), command.end());
    if (const auto script = script_of_shell(whole)) {
      if (whole[*script].find("vllm") == std::string::npos) return std::optional<PastedCommand>();
      ContainerCommand container{.image = image, .variables = {}, .words = whole};
      for (const std::size_t word : docker.variables) add_variable(words[word], container);
      return found_in(line_of_container(container), image);
    }
    auto first = first_argument(whole);
    const bool has_entrypoint = words[docker.run] != "exec";
    if (!first && before == 0 && has_entrypoint && starts_server(image, command))
      first = command.front() == "serve" ? 1 : 0;
    if (!first) return std::optional<PastedCommand>();
    found_.first_argument = begin_ + docker.image + 1 + std::max(*first, before) - before;
    found_.variable_place = begin_ + docker.run + 1;
    found_.in_container = true;
    found_.image = image;
    for (const std::size_t word : docker.variables) found_.variables.push_back(begin_ + word);
    return finished();
  }

  // VLLM_X=1 of "VLLM_X=1", "--env=VLLM_X=1" and "-eVLLM_X=1".
  static void add_variable(std::string_view word, ContainerCommand& container) {
    if (word.starts_with("--")) word.remove_prefix(word.find('=') + 1);
    if (word.starts_with("-e")) word.remove_prefix(2);
    if (!word.starts_with("VLLM_") || !is_assignment(word)) return;
    const std::size_t equals = word.find('=');
    container.variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }

  // Variables of the command itself, of `export`, and of commands that are nothing else.
  void add_variables() {
    const std::vector<ShellWord>& words = found_.line.words;
    for (std::size_t i = 0; i < found_.first_argument;) {
      std::size_t end = i;
      bool only_assignments = true;
      for (; end < words.size() && words[end].command == words[i].command; ++end)
        only_assignments = only_assignments && is_assignment(words[end].value);
      const bool reaches = i == begin_ || only_assignments || words[i].value == "export";
      for (; i < end && i < found_.first_argument; ++i)
        if (reaches && is_assignment(words[i].value)) found_.variables.push_back(i);
    }
  }

  // Moves what stands behind the command's last word out of the words.
  Found finished() {
    ShellWords& line = found_.line;
    std::string after;
    for (std::size_t i = end_; i < line.words.size(); ++i)
      after += line.words[i].before + line.words[i].raw;
    line.words.resize(end_);
    line.after = after + line.after;
    const std::size_t first = line.after.find_first_not_of(" \t\r\n\\");
    if (first != line.after.npos)
      found_.notes.push_back(
          fmt::format("not read, behind the command: {}", one_line(line.after.substr(first), 60)));
    return std::optional(std::move(found_));
  }

  int depth_ = 0;
  PastedCommand found_;
  std::size_t begin_ = 0;  // the words of the command that is looked at
  std::size_t end_ = 0;
  std::vector<std::string> values_;
};

}  // namespace

Result<PastedCommand> find_pasted_command(std::string_view text) { return Finder(0).find(text); }

}  // namespace hybridscope
