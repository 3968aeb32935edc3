#include "sessions/plan/container_spec.h"

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sessions/plan/pasted_command.h"
#include "sessions/plan/shell_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::array<std::string_view, 7> kKeys = {
    "image:", "command:", "args:", "entrypoint:", "services:", "containers:", "apiVersion:"};

constexpr int kRoot = 1;  // the id of a document's first node

using Variables = std::map<std::string, std::string>;

// One document of a text. Nodes of an anchor are shared, not copied.
class Document {
 public:
  explicit Document(yaml_parser_t& parser) { ok_ = yaml_parser_load(&parser, &document_) == 1; }
  ~Document() {
    if (ok_) yaml_document_delete(&document_);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  bool ok() const { return ok_; }
  // Null: the text has no more documents.
  const yaml_node_t* root() { return yaml_document_get_root_node(&document_); }
  const yaml_node_t* node(int id) { return yaml_document_get_node(&document_, id); }

 private:
  bool ok_ = false;
  yaml_document_t document_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    yaml_parser_initialize(&parser_);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    yaml_parser_set_input_string(&parser_, bytes, text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  yaml_parser_t& get() { return parser_; }

 private:
  yaml_parser_t parser_;
};

std::string scalar(const yaml_node_t* node) {
  if (node == nullptr || node->type != YAML_SCALAR_NODE) return {};
  return std::string(reinterpret_cast<const char*>(node->data.scalar.value),
                     node->data.scalar.length);
}

// The length of "${...}" or "$(...)" with the brackets inside; 0: none is here.
std::size_t variable_length(std::string_view text) {
  if (!text.starts_with("${") && !text.starts_with("$(")) return 0;
  const char close = text[1] == '{' ? '}' : ')';
  int depth = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == text[1]) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
  }
  return 0;
}

// Compose reads "${NAME:-value}" from its caller's environment, Kubernetes "$(NAME)" from the
// container's; "$$" is "$" in compose.
std::string with_variables(std::string_view text, const Variables& variables) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = variable_length(text);
    const std::string_view inside = length > 0 ? text.substr(2, length - 3) : "";
    const std::size_t name = std::min(inside.find_first_of(":-"), inside.size());
    const auto found = variables.find(std::string(inside.substr(0, name)));
    if (text.starts_with("$$")) {
      result += '$';
      length = 2;
    } else if (const std::string_view other = inside.substr(name);
               other.starts_with("-") || other.starts_with(":-")) {
      result += with_variables(other.substr(other.find('-') + 1), variables);
    } else if (length > 0 && found != variables.end()) {
      result += found->second;
    } else {
      length = std::max<std::size_t>(length, 1);
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

class ContainerFinder {
 public:
  explicit ContainerFinder(Document& document) : document_(document) {}

  // Depth first, in the order of the text; nodes of an anchor once.
  void look_into(int id) {
    const yaml_node_t* node = document_.node(id);
    if (node == nullptr || !seen_.insert(id).second) return;
    if (node->type == YAML_MAPPING_NODE) add_container(node);
    for (const auto& [key, value] : members(node)) look_into(value);
    for (const int item : items(node)) look_into(item);
  }

  const std::vector<ContainerLine>& found() const { return found_; }
  // Why a container could not be read.
  const std::optional<Error>& error() const { return error_; }

 private:
  static std::vector<std::pair<int, int>> members(const yaml_node_t* node) {
    std::vector<std::pair<int, int>> ids;
    if (node == nullptr || node->type != YAML_MAPPING_NODE) return ids;
    const auto& pairs = node->data.mapping.pairs;
    for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair)
      ids.emplace_back(pair->key, pair->value);
    return ids;
  }

  static std::vector<int> items(const yaml_node_t* node) {
    if (node == nullptr || node->type != YAML_SEQUENCE_NODE) return {};
    return {node->data.sequence.items.start, node->data.sequence.items.top};
  }

  const yaml_node_t* member(const yaml_node_t* mapping, std::string_view name) {
    for (const auto& [key, value] : members(mapping))
      if (scalar(document_.node(key)) == name) return document_.node(value);
    return nullptr;
  }

  // "a: b", "- a=b" or "- name: a" with "value: b".
  Variables variables_of(const yaml_node_t* node) {
    Variables variables;
    for (const auto& [key, value] : members(node))
      variables[scalar(document_.node(key))] = scalar(document_.node(value));
    for (const int item : items(node)) {
      const yaml_node_t* one = document_.node(item);
      const std::string text = scalar(one);
      if (const std::size_t equals = text.find('='); equals != text.npos)
        variables[text.substr(0, equals)] = text.substr(equals + 1);
      else if (const std::string value = scalar(member(one, "value")); !value.empty())
        variables[scalar(member(one, "name"))] = value;
    }
    return variables;
  }

  // A list as it is; a text split as a shell does, but where it is a script.
  Status add_words(const yaml_node_t* node, const Variables& variables,
                   std::vector<std::string>& words) {
    for (const int item : items(node))
      words.push_back(with_variables(scalar(document_.node(item)), variables));
    std::string text = with_variables(scalar(node), variables);
    if (!words.empty() && words.back().starts_with('-') && words.back().ends_with('c')) {
      if (!text.empty()) words.push_back(std::move(text));
      return Ok{};
    }
    std::ranges::replace(text, '\n', ' ');
    auto split = split_shell_words(text);
    if (!split.ok()) return split.error();
    for (ShellWord& word : split.value().words) words.push_back(std::move(word.value));
    return Ok{};
  }

  // "name:tag"; also repository and tag, as in the values of Helm charts.
  std::string image_of(const yaml_node_t* node) {
    const std::string repository = scalar(member(node, "repository"));
    return repository.empty() ? scalar(node) : repository + ":" + scalar(member(node, "tag"));
  }

  void add_container(const yaml_node_t* node) {
    const yaml_node_t* variables_node = member(node, "environment");
    if (variables_node == nullptr) variables_node = member(node, "env");
    const Variables variables = variables_of(variables_node);
    ContainerCommand container{.image = with_variables(image_of(member(node, "image")), variables),
                               .variables = {},
                               .words = {}};
    for (const char* part : {"entrypoint", "command", "args"})
      if (Status added = add_words(member(node, part), variables, container.words); !added.ok()) {
        error_ = added.error();
        return;
      }
    if (container.words.empty()) return;
    for (const auto& [name, value] : variables)
      if (name.starts_with("VLLM_"))
        container.variables.emplace_back(name, with_variables(value, variables));
    ContainerLine line{.line = line_of_container(container), .image = container.image, .notes = {}};
    if (line.line.find("vllm") != std::string::npos) found_.push_back(std::move(line));
  }

  Document& document_;
  std::set<int> seen_;
  std::vector<ContainerLine> found_;
  std::optional<Error> error_;
};

}  // namespace

bool is_container_spec(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(" -"), line.size()));
    if (std::ranges::any_of(kKeys, [&](std::string_view key) { return line.starts_with(key); }))
      return true;
    at = end + 1;
  }
  return false;
}

Result<ContainerLine> line_of_container_spec(std::string_view text) {
  Parser parser(text);
  std::vector<ContainerLine> found;
  std::optional<Error> error;
  while (true) {
    Document document(parser.get());
    if (!document.ok()) {
      const char* problem = parser.get().problem;
      return invalid_input(fmt::format("line {} of the YAML: {}",
                                       parser.get().problem_mark.line + 1,
                                       problem == nullptr ? "it cannot be read" : problem));
    }
    if (document.root() == nullptr) break;
    ContainerFinder finder(document);
    finder.look_into(kRoot);
    found.insert(found.end(), finder.found().begin(), finder.found().end());
    if (finder.error()) error = finder.error();
  }
  if (found.empty() && error) return *error;
  if (found.empty())
    return invalid_input(
        "no container of the YAML starts vLLM: it needs an image of vLLM and its arguments, or "
        "\"vllm serve\" in command or args");
  found.front().notes.emplace_back(
      "the container's command and args are one line of vllm serve here");
  if (found.size() > 1)
    found.front().notes.push_back(
        fmt::format("{} containers start vLLM; the first is read", found.size()));
  return found.front();
}

}  // namespace hybridscope
