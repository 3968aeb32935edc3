// Real traffic: JSON Lines in the format of the Mooncake traces, one request per line
// (docs/scenario-format.md, "Traffic files").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// The default model for traffic files.
inline constexpr const char* kDefaultTrafficModel = "qwen3-next-80b-a3b";

inline constexpr std::int32_t kTrafficBlockTokens = 512;  // prompt tokens per hash id

struct Traffic {
  std::vector<ArrivingRequest> requests;  // by arrival; on ties in file order
  std::int64_t num_prompt_tokens = 0;     // over all requests
  std::int64_t num_output_tokens = 0;     // sum of max_tokens
  std::int32_t num_out_of_order = 0;      // lines whose time is before that of the previous line
  std::int32_t num_without_output = 0;    // lines with output_length 0, treated as 1
};

// `read` gives the text; `file` is its name in errors. Token j of block h is token j of text h. The
// request of line n (counted from 1) is called "rN". Error corrupt with "FILE:LINE: ...", or
// LINE:COLUMN when the text is not JSON.
Result<Traffic> read_traffic(ReadBytes read, const std::string& file);

// A zstd file is unpacked on the way. Error io: the file cannot be read. Error corrupt with
// "FILE:LINE: ...": a damaged zstd stream.
Result<Traffic> read_traffic_file(const std::string& path);

}  // namespace hybridscope
