// Real traffic: JSON Lines in the format of the Mooncake traces, one request a line
// (docs/scenario-format.md, "Traffic files").
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/arriving_request.h"

namespace hybridscope {

inline constexpr std::int32_t kTrafficBlockTokens = 512;  // prompt tokens of one hash id

struct Traffic {
  std::vector<ArrivingRequest> requests;  // by arrival, equal times as in the file
  std::int64_t num_prompt_tokens = 0;     // over all requests
  std::int64_t num_output_tokens = 0;     // sum of max_tokens
  std::int32_t num_out_of_order = 0;      // lines with an earlier time than the line before
  std::int32_t num_without_output = 0;    // output_length 0, taken as 1
};

// Token j of block h is text h's token j. The request of line n (from 1) is called "rN". Error
// corrupt with "FILE:LINE: ..." (LINE:COLUMN where the text is no JSON).
Result<Traffic> read_traffic(std::istream& lines, const std::string& file);

// A zstd file is unpacked while it is read. Error io when the file cannot be read; corrupt with
// "FILE:LINE: ..." for a damaged zstd stream.
Result<Traffic> read_traffic_file(const std::string& path);

}  // namespace hybridscope
