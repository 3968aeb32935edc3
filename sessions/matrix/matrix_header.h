// What a matrix was asked: the first line of its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hybridscope {

struct MatrixHeader {
  std::string engine = {};    // profile
  std::string policies = {};  // "name=value ...", against the profile (policies_text)
  std::uint64_t seed = 1;
  std::int64_t scenarios_per_cell = 0;
  bool in_bytes = false;       // some scenarios keep state in bytes too
  std::string filter = {};     // CellFilter::text()
  std::string program = {};    // version
  std::string generator = {};  // of the scenarios (random_scenarios_digest)
  std::string shard = {};      // "1/1"
  friend bool operator==(const MatrixHeader&, const MatrixHeader&) = default;
};

struct HeaderDifference {
  std::string_view what;
  std::string a;  // "none" for what is empty
  std::string b;
};

// What results have to have in common to be one matrix, and these two have not: all but the cells
// that were asked for (filter and shard).
std::optional<HeaderDifference> header_difference(const MatrixHeader& a, const MatrixHeader& b);
// The same with the cells.
std::optional<HeaderDifference> whole_header_difference(const MatrixHeader& a,
                                                        const MatrixHeader& b);

}  // namespace hybridscope
