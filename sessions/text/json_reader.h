// JSON text into a value, with the checks that a general parser leaves out: size, UTF-8, duplicate
// keys, nesting. No exception leaves it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;
inline constexpr int kMaxJsonDepth = 64;

struct JsonText {
  std::string_view text;
  std::string_view file;  // for messages
  // Set when `text` is one line of the file: its number, which every message then has.
  std::optional<int> line = std::nullopt;
};

// Error corrupt, "FILE:LINE:COLUMN: what was found and expected" (columns in bytes, from 1), for
// text that is no JSON, no UTF-8, nested deeper than kMaxJsonDepth or longer than kMaxJsonBytes;
// "FILE: POINTER: ..." (with `line`, "FILE:LINE: POINTER: ...") for a key that occurs twice in one
// object.
Result<nlohmann::json> parse_json(const JsonText& json);

// Error io when `path` is a directory, which opens like a file and then cannot be read.
Status check_no_directory(const std::string& path);

// The file's bytes, up to one more than kMaxJsonBytes. Error io: the file cannot be read.
Result<std::string> read_text_file(const std::string& path);

}  // namespace hybridscope
