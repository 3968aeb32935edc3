// Decides when an answer equals a vector's `output` (tests/golden/README.md, "Every case").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hybridscope {

// The first place where two answers differ.
struct VectorDifference {
  std::string pointer;  // into `output`, RFC 6901
  // JSON text, or "absent"; for arrays of different length, the length and the first differing
  // element.
  std::string expected;
  std::string got;
};

// The first difference in the order of the expected document; empty when there is none. Two objects
// that both have a string member "error" are equal. A null element of an array "data" equals any
// number, boolean or null (memory the reference never wrote), but not a row. Everything else must
// match exactly: missing or extra members, lengths, null, and 1 versus 1.0.
std::optional<VectorDifference> first_difference(const nlohmann::json& expected,
                                                 const nlohmann::json& got);

}  // namespace hybridscope
