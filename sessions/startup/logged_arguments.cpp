#include "sessions/startup/logged_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sessions/startup/python_literal.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

using ArgumentsJson = nlohmann::ordered_json;
using NamePair = std::pair<const char*, const char*>;

// Names of the engine's configuration (vLLM config/vllm.py, VllmConfig.__str__) and of the
// argument.
constexpr NamePair kEngineNames[] = {
    {"model", "model"},
    {"max_seq_len", "max_model_len"},
    {"tensor_parallel_size", "tensor_parallel_size"},
    {"pipeline_parallel_size", "pipeline_parallel_size"},
    {"data_parallel_size", "data_parallel_size"},
    {"decode_context_parallel_size", "decode_context_parallel_size"},
    {"kv_cache_dtype", "kv_cache_dtype"},
    {"enforce_eager", "enforce_eager"},
    {"enable_prefix_caching", "enable_prefix_caching"}};

// What a start without the argument has.
bool is_default(const ArgumentsJson& value) {
  return value.is_null() || value == 1 || value == "auto" || value == ArgumentsJson(false);
}

ArgumentsJson without_nulls(const ArgumentsJson& value) {
  if (!value.is_object()) return value;
  ArgumentsJson kept = ArgumentsJson::object();
  for (const auto& [key, member] : value.items())
    if (!member.is_null()) kept[key] = without_nulls(member);
  return kept;
}

// What of a whole configuration somebody may have set; one that was given in part is kept as it is.
void keep_given_of_compilation(ArgumentsJson& values) {
  const auto compilation = values.find("compilation_config");
  if (compilation == values.end() || !compilation->is_object() ||
      !compilation->contains("debug_dump_path"))
    return;
  ArgumentsJson given = ArgumentsJson::object();
  for (const char* name :
       {"mode", "cudagraph_mode", "cudagraph_capture_sizes", "max_cudagraph_capture_size"})
    if (const auto found = compilation->find(name);
        found != compilation->end() && !found->is_null() && !found->empty())
      given[name] = *found;
  if (given.empty())
    values.erase(compilation);
  else
    *compilation = given;
}

void add_of_engine(const ArgumentsJson& engine, ArgumentsJson& values) {
  for (const auto& [name, argument] : kEngineNames)
    if (engine.contains(name) &&
        (!is_default(engine[name]) || name == std::string_view("enable_prefix_caching")))
      values[argument] = engine[name];
  if (const auto drafts = engine.find("speculative_config");
      drafts != engine.end() && drafts->is_object() && drafts->contains("num_spec_tokens")) {
    ArgumentsJson& given = values["speculative_config"];
    given = {{"method", drafts->value("method", ArgumentsJson())},
             {"num_speculative_tokens", (*drafts)["num_spec_tokens"]}};
    const ArgumentsJson draft = drafts->value("model", ArgumentsJson());
    if (draft.is_string() && draft != values.value("model", ArgumentsJson()))
      given["model"] = draft;
  }
  const ArgumentsJson compilation = engine.value("compilation_config", ArgumentsJson());
  if (compilation.is_object() && compilation.contains("cudagraph_mode") &&
      !values.contains("enforce_eager") && compilation["cudagraph_mode"] != "FULL_AND_PIECEWISE")
    values["compilation_config"] = {{"cudagraph_mode", compilation["cudagraph_mode"]}};
}

// The dtype of the cache may come from the checkpoint, where nobody gave it.
void add_cache_dtype(const LogText& log, LoggedArguments& read) {
  if (read.values.contains("kv_cache_dtype") || !read.is_complete) return;
  ArgumentsJson dtype = read.resolved.value("kv_cache_dtype", ArgumentsJson());
  if (!dtype.is_string())
    if (const auto found = log.find("Using * data type to store kv cache"); !found.empty())
      dtype = found.back().values[0];
  if (!dtype.is_string() || is_default(dtype)) return;
  read.values["kv_cache_dtype"] = dtype;
  read.notes.push_back(
      fmt::format("kv_cache_dtype {} is that of the checkpoint: no argument sets it",
                  dtype.get<std::string>()));
}

// vLLM finds out the method by the name of a draft model, where nobody gave it.
void add_method(const ArgumentsJson& engine, ArgumentsJson& values) {
  const auto given = values.find("speculative_config");
  const ArgumentsJson resolved = engine.value("speculative_config", ArgumentsJson());
  if (given != values.end() && given->is_object() && !given->contains("method") &&
      resolved.is_object() && resolved.contains("method"))
    (*given)["method"] = resolved["method"];
}

void add_words(const std::string& flag, const ArgumentsJson& value, std::string& line) {
  if (value.is_boolean()) {
    line += value.get<bool>() ? " --" + flag : " --no-" + flag;
    return;
  }
  line += " --" + flag;
  if (value.is_string()) {
    line += " " + shell_word(value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    for (const ArgumentsJson& element : value)
      line += " " + shell_word(element.is_string() ? element.get<std::string>() : element.dump());
  } else {
    line += " " + shell_word(without_nulls(value).dump());
  }
}

}  // namespace

LoggedArguments read_logged_arguments(const LogText& log) {
  LoggedArguments read;
  if (const auto engines = log.find("LLM engine (v*) with config: "); !engines.empty()) {
    PythonValue engine = read_python_arguments(log.rest_of_record(engines.back()));
    read.resolved = std::move(engine.value);
  }
  const auto given = log.find("non-default args: ");
  if (given.empty()) {
    add_of_engine(read.resolved, read.values);
    if (!read.values.empty())
      read.notes.emplace_back(
          "the log has no \"non-default args\": arguments are those of the engine's configuration, "
          "which does not tell max_num_seqs");
    return read;
  }
  PythonValue arguments = read_python_value(log.rest_of_record(given.back()));
  read.is_complete = true;
  if (arguments.value.is_object()) read.values = std::move(arguments.value);
  keep_given_of_compilation(read.values);
  add_method(read.resolved, read.values);
  if (arguments.is_cut)
    read.notes.emplace_back("the line of the arguments is cut: later ones are not known");
  if (!arguments.not_read.empty())
    read.notes.push_back(fmt::format("arguments without a value that can be read: {}",
                                     fmt::join(arguments.not_read, ", ")));
  add_cache_dtype(log, read);
  return read;
}

std::string serve_line_of(const ArgumentsJson& values) {
  const ArgumentsJson model =
      values.contains("model") ? values["model"] : values.value("model_tag", ArgumentsJson());
  if (!model.is_string()) return {};
  std::string line = "vllm serve " + shell_word(model.get_ref<const std::string&>());
  for (const auto& [name, value] : values.items()) {
    if (name == "model" || name == "model_tag" || value.is_null()) continue;
    std::string flag = name;
    std::ranges::replace(flag, '_', '-');
    add_words(flag, value, line);
  }
  return line;
}

}  // namespace hybridscope
