// A pasted line that starts vLLM: what it sets, the flags that are settings here, and the same line
// with other settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

// A command line as a POSIX shell splits it, with the text between the words kept.

struct ShellWord {
  std::string before;  // white space before it, with backslash-newlines
  std::string raw;     // as written, with quotes
  std::string value;   // without quotes and backslashes; variables are not replaced
};

struct ShellWords {
  std::vector<ShellWord> words;
  std::string after;  // white space after the last word
};

std::string join_shell_words(const ShellWords& line);

class ServeLine {
 public:
  // `[NAME=value ..] vllm serve MODEL [flags]` with MODEL also as --model, or
  // `python -m vllm.entrypoints.openai.api_server --model MODEL [flags]`; words in front stay.
  // Errors: not such a line, no model, a flag without its value, a value that a setting does not
  // take or that is not modelled, a setting in an object and as a flag of its own.
  static Result<ServeLine> parse(std::string_view text);

  const std::string& model() const { return model_; }  // as written
  const EngineSettings& settings() const { return settings_; }
  // Flags and keys that are no settings here, as written: "--port 8000".
  const std::vector<std::string>& not_read() const { return not_read_; }

  // Does vLLM choose max_model_len by the memory it has ("--max-model-len auto")?
  bool vllm_chooses_length() const;

  std::string text() const { return join_shell_words(line_); }

  struct Written {
    std::string text;
    std::vector<std::string> changes;   // "--max-num-seqs 256 in place of 1024"
    std::vector<std::string> left_out;  // settings that `vllm serve` has no flag for
  };
  // The line with the flags of `wanted`: changed in place, added at the end, removed if the setting
  // is not set. Everything else stays as it is, byte for byte.
  Written with(const EngineSettings& wanted) const;

 private:
  // A flag or an environment variable with the words that belong to it.
  struct Part {
    std::size_t first = 0;  // word
    std::size_t count = 1;
    std::string name;     // of flag_name; of the variable
    bool joined = false;  // --name=value
    bool is_variable = false;
    const Setting* setting = nullptr;  // null: none, or a JSON flag
  };

  Status read_words();
  Status read_variable(std::size_t word);
  Status read_flag(std::size_t& word);
  bool read_optimization_level(std::size_t& word);
  void take_boolean(bool negated, std::size_t& word, std::string& value) const;
  void skip_flag(const std::string& name, std::size_t& word);
  void add_not_read(std::size_t first, std::size_t end);
  Status read_json(const Part& part, std::string_view value);
  Status take_value(Part& part, std::size_t& word, std::string& value);
  void rewrite_setting(const Setting& setting, const EngineSettings& wanted, ShellWords& line,
                       Written& written) const;
  void rewrite_json(std::string_view name, const EngineSettings& wanted, ShellWords& line,
                    Written& written) const;
  void write_part(const Part* part, const std::string& flag, const std::string& value,
                  ShellWords& line) const;
  const Part* last_part(const Setting& setting) const;
  const Part* last_json(std::string_view name) const;
  bool sets_dotted(const Setting& setting) const;
  bool sets_in_object(const Setting& setting) const;
  Status check_set_once() const;

  ShellWords line_;
  std::string model_;
  EngineSettings settings_;
  std::vector<std::string> not_read_;
  std::vector<Part> parts_;
  std::vector<const Setting*> in_objects_;  // settings that the last JSON flags of their name hold
};

// The preset of a model on Hugging Face ("Qwen/Qwen3-Next-80B-A3B-Instruct"); the name itself where
// it is a preset or a path that exists. Error: neither; the message says to give a config.json.
Result<std::string> model_of_serve_line(const std::string& model);

// The flags of `vllm serve` that are settings here, and how their values are spelled.

// "--Max_Num-Seqs" is no flag; "--max_num_seqs", "--no-x" and "-tp" are. The name without dashes in
// front, with dashes for underscores, long for short: "max-num-seqs", "tensor-parallel-size".
std::string flag_name(std::string_view word);

// The setting of a flag by its name; null: the flag is no setting here. `negated`: the name begins
// with "no-" and the setting is a boolean.
const Setting* setting_of_flag(std::string_view name, bool& negated);

// The JSON flags whose objects hold settings: "speculative-config", "compilation-config".
bool is_json_flag(std::string_view name);
// The setting under `key` of such a flag; null: there is none.
const Setting* setting_in_json_flag(std::string_view name, std::string_view key);
// The JSON flag that holds the setting; empty: it has a flag of its own, or none.
std::string_view json_flag_of(const Setting& setting);

// "--max-num-seqs"; empty: `vllm serve` has no flag of the setting.
std::string flag_of_setting(const Setting& setting);

// Does a flag that is no setting take a value?
bool takes_value(std::string_view name);

// Stores the value of a flag: numbers also as "8k" (1,000) and "8K" (1,024), lists also as JSON,
// methods of a draft model by its own name ("qwen3_next_mtp") as mtp. Error: that of
// set_setting_text; a method that is not modelled.
Status set_flag(EngineSettings& settings, const Setting& setting, std::string_view value);

// The value as a flag has it; empty for an unset one. Booleans: "true", "false".
std::string flag_value(const EngineSettings& settings, const Setting& setting);

// The environment variables that are settings: "VLLM_USE_V2_MODEL_RUNNER". Null: there is none.
const Setting* setting_of_variable(std::string_view name);
std::string_view variable_of_setting(const Setting& setting);
std::string setting_text_of_variable(const Setting& setting, std::string_view value);
std::string variable_value(const EngineSettings& settings, const Setting& setting);

}  // namespace hybridscope
