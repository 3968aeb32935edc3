// The rules by which an answer equals a vector's `output` (tests/golden/README.md, "Every case").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hybridscope {

// Where two answers part.
struct VectorDifference {
  std::string pointer;   // into `output`, RFC 6901
  std::string expected;  // JSON text; "absent"; of arrays of unequal length, the length and the
                         // first element that differs
  std::string got;
};

// The first difference in the order of the expected document, empty when there is none. Equal are:
// any two objects whose member "error" is a text; a null element in an array "data" and any number,
// boolean or null (memory the reference never wrote), but not a row of them. Everything else is
// compared to the letter: a missing member, one too many, a length, null, 1 and 1.0.
std::optional<VectorDifference> first_difference(const nlohmann::json& expected,
                                                 const nlohmann::json& got);

}  // namespace hybridscope
