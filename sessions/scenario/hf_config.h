// Reads a Hugging Face config.json into a ModelSpec (`--model PATH`). Supports the architectures of
// the presets; for any other the error says what is missing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The supported architectures, as spelled in config.json ("architectures"[0]).
std::vector<std::string> known_hf_architectures();

struct HfConfigText {
  std::string_view text;  // the file's content
  std::string_view file;  // its name, for messages and ModelSpec.source
};

// Error corrupt: not UTF-8, not JSON, not an object. Error invalid_input: an unknown architecture;
// a key that is missing, has the wrong type or is out of range. The message names file, key and
// what was found.
Result<ModelSpec> parse_hf_config(const HfConfigText& config);

// Reads and parses the file at `path`. Error io: the file cannot be read or is larger than 16 MiB.
Result<ModelSpec> load_hf_config(const std::string& path);

// A preset's name, or the path of a config.json (contains '/' or ends in ".json"). Error not_found:
// neither; the message lists the presets.
Result<ModelSpec> resolve_model(const std::string& name_or_path);

// Reads keys of one JSON object of a config.json. A JsonFault says what is missing or wrong, in
// words of its own: "key "x": found ..., expected ...".

class HfConfigReader {
 public:
  // `path`: of the object inside the file, "" or "text_config: ".
  explicit HfConfigReader(const JsonValue& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  bool has(std::string_view key) const;  // present and not null

  bool is_text(std::string_view key, std::string_view text) const;  // present and equal to it
  bool is_number(std::string_view key, std::int64_t number) const;

  // A whole number 1 .. 2^31-1.
  std::int64_t count(std::string_view key) const;
  std::int64_t count_or(std::string_view key, std::int64_t absent) const;
  bool flag_or(std::string_view key, bool absent) const;
  double real_or(std::string_view key, double absent) const;  // any finite number
  std::string text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // Whole numbers 0 .. 2^31-1.
  std::vector<std::int64_t> numbers(std::string_view key) const;
  std::vector<std::int64_t> numbers_or(std::string_view key,
                                       std::vector<std::int64_t> absent) const;
  // Finite numbers.
  std::vector<double> reals_or(std::string_view key, std::vector<double> absent) const;
  // A nested object.
  HfConfigReader object(std::string_view key) const;

  // The first of `keys` that is present.
  std::int64_t count_of_any(std::initializer_list<std::string_view> keys) const;

  [[noreturn]] void fail(const std::string& message) const;
  // "key "x": found ..., expected ..." or "key "x" is missing, ..."; the value is cut to the length
  // of a line.
  [[noreturn]] void fail_key(std::string_view key, std::string_view expected) const;

 private:
  JsonValue object_;
  std::string path_;
};

// How each supported architecture spells its dimensions in config.json. Only for hf_config.cpp.

struct HfFamily {
  const char* architecture;  // config.json "architectures"[0]
  const char* model_type;    // "model_type", where there are no architectures
  // Sets everything but name, source and dtype.
  void (*read)(const HfConfigReader& reader, ModelSpec& model);
};

// One row per architecture; add new ones here.
std::span<const HfFamily> hf_families();

}  // namespace hybridscope
