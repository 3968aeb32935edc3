// The table of vector files: what each is called, how it is recognised, and who recomputes it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/state/state_copy.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Runs copies on bytes of state tensors by flat state index. From kernels/, handed in by app: the
// two folders do not know each other.
using ExecuteCopies = void (*)(std::span<const StateCopy> copies,
                               std::span<const std::span<std::byte>> states);

// What a vector asks: `config`, and `input` or `calls`. Never its `output`.
struct VectorCase {
  VectorValue config;
  VectorValue input;  // "input", or "calls" where the file has calls
};

// Answers what the vector's `output` should be, from the same public functions that the engine
// uses, profile `pages`. An error of the functions is {"error": "<message>"} where the vector has
// {"error": "<class>"}. An element the reference leaves uninitialised may be null. Throws
// VectorError when the vector asks something that makes no sense.
using Recompute = nlohmann::json (*)(const VectorCase& vector, ExecuteCopies execute_copies);

// Lists of fields are names with spaces between them.
struct VectorKind {
  std::string_view name;           // "gdn_builder": file gdn_builder.jsonl
  std::string_view covers;         // what it checks, half a sentence
  std::string_view config_fields;  // members that `config` of every case has
  std::string_view input_field;    // "input" or "calls"
  std::string_view input_fields;   // members that `input` of every case has; of some call
  Recompute recompute;
  std::string_view optional_config_fields{};  // members that `config` may have beside them
};

// One row a file, in the order of tests/golden/README.md.
std::span<const VectorKind> vector_kinds();

}  // namespace hybridscope
