// A pasted command that starts vLLM: what it sets, the flags that are settings here, and the same
// command with other settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/pasted_command.h"
#include "sessions/plan/shell_words.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

class ServeLine {
 public:
  // `[NAME=value ..] vllm serve MODEL [flags]` with MODEL also as --model, in all forms of
  // find_pasted_command; words in front stay.
  // Errors: no such command, no model, a flag without its value, a value that a setting does not
  // take or that is not modelled, a setting in an object and as a flag of its own, several pipeline
  // stages or ranks of context parallelism.
  static Result<ServeLine> parse(std::string_view text);

  const std::string& model() const { return model_; }  // as written
  // With the profile of the release that the image's tag names, if there is one.
  const EngineSettings& settings() const { return settings_; }
  // Flags, keys and variables that are no settings here, as written: "--port 8000".
  const std::vector<std::string>& not_read() const { return not_read_; }
  // What else there is to say of the command, in sentences.
  const std::vector<std::string>& notes() const { return notes_; }

  // --speculative-config: its model as written, and its method if no setting has it ("eagle3");
  // empty: none.
  const std::string& draft_model() const { return draft_model_; }
  const std::string& draft_method() const { return draft_method_; }

  // Does vLLM choose max_model_len by the memory it has ("--max-model-len auto")?
  bool vllm_chooses_length() const;

  std::string text() const { return join_shell_words(command_.line); }

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

  static Result<ServeLine> parse_text(std::string_view text);
  Status read_words();
  void read_image(const std::string& image);
  Status read_variable(std::size_t word);
  Status read_flag(std::size_t& word);
  bool read_optimization_level(std::size_t& word);
  void take_boolean(bool negated, std::size_t& word, std::string& value) const;
  void skip_flag(const std::string& name, std::size_t& word);
  void add_not_read(std::size_t first, std::size_t end);
  void read_eager(bool negated, std::size_t& word);
  bool read_draft(std::string_view flag, std::string_view key, const std::string& value);
  void forget(std::string_view flag);
  Status read_json(const Part& part, std::string_view value);
  Status take_value(Part& part, std::size_t& word, std::string& value);
  void rewrite_setting(const Setting& setting, const EngineSettings& wanted, ShellWords& line,
                       Written& written) const;
  void rewrite_json(std::string_view name, const EngineSettings& wanted, ShellWords& line,
                    Written& written) const;
  void write_part(const Part* part, const std::string& flag, const std::string& value,
                  ShellWords& line) const;
  void add_variable(const std::string& assignment, ShellWords& line) const;
  const Part* last_part(const Setting& setting) const;
  const Part* last_json(std::string_view name) const;
  bool sets_dotted(const Setting& setting) const;
  bool sets_in_object(const Setting& setting) const;
  Status check_set_once() const;

  PastedCommand command_;
  std::string model_;
  EngineSettings settings_;
  std::string draft_model_;
  std::string draft_method_;
  std::vector<std::string> not_read_;
  std::vector<std::string> notes_;
  std::vector<std::size_t> eager_;  // words --enforce-eager; no graphs, whatever else is said
  std::vector<Part> parts_;
  std::vector<const Setting*> in_objects_;  // settings that the last JSON flags of their name hold
};

// The name itself where it is known, a preset or a path that exists; else the known model whose
// name it contains (find_model_named_in). Error: none of them; the message says to give a
// config.json.
Result<std::string> model_of_serve_line(const std::string& model);

}  // namespace hybridscope
