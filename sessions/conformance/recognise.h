// Which kind of vector a file holds (by its name, else by the fields of its cases), and whether an
// answer equals the output of a case.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "sessions/conformance/vector_kinds.h"

namespace hybridscope {

// The number of cases that recognise_by_fields needs at most.
inline constexpr std::size_t kCasesToRecognise = 32;

// The kind whose name occurs in the file name (without folder, .zst and .jsonl) as a whole word
// between separators "_-."; the longest of several, null for none.
const VectorKind* recognise_by_name(const std::string& path);

// The release in a file name: "scheduler_0.33.0.jsonl" is of 0.33.0.
std::optional<Release> release_of_file(const std::string& path);

// The one kind that fits: every case's `config` has all of its fields and no unknown one, `input`
// has its fields, and some call has the fields of a call. If all fields of one kind are also fields
// of another, the other kind is chosen. Error: no kind or several kinds fit; the message says what
// was found.
Result<const VectorKind*> recognise_by_fields(std::span<const nlohmann::json> cases);

// If `named` does not fit and exactly one other kind does, that kind; else null.
const VectorKind* other_kind_by_fields(const VectorKind& named,
                                       std::span<const nlohmann::json> cases);

// The questions of a case; `release` is that of its file. Throws JsonFault when a field of the
// kind is missing or `config` has a member that the kind does not know.
VectorCase open_vector(const VectorKind& kind, const nlohmann::json& vector,
                       std::optional<Release> release = {});

// Decides when an answer equals a vector's `output` (tests/golden/README.md, "Every case").

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
