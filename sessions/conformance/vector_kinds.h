// The table of vector files: the name of each, how it is recognised, and what recomputes it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "core/engine/releases.h"
#include "sessions/conformance/numeric_ops.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// A case's questions: `config`, and `input` or `calls`. Never its `output`.
struct VectorCase {
  JsonValue config;
  JsonValue input;                      // the member "input", or "calls" when the file has calls
  std::optional<Release> release = {};  // of the file, for a kind that is recorded by release
  PolicyOverrides policies = {};        // laid over those of the release

  // Requires: release.
  PolicySet policies_of(ModelRunner runner) const;
};

// Returns what the vector's `output` should be, computed under profile `reference`, or that of the
// file's release, by the same public functions that the engine uses. An error of a function is
// {"error": "<message>"} where the vector has {"error": "<class>"}. An element that the reference
// leaves uninitialised may be null. Throws JsonFault when the vector is inconsistent.
using Recompute = nlohmann::json(const VectorCase& vector, const VectorKernels& kernels);

// Lists of fields are names separated by spaces.
struct VectorKind {
  std::string_view name;           // "gdn_builder": file gdn_builder.jsonl
  std::string_view covers;         // what it checks, as half a sentence
  std::string_view config_fields;  // members that every case's `config` has
  std::string_view input_field;    // "input" or "calls"
  std::string_view input_fields;   // members of every case's `input`, or of some call
  Recompute* recompute;            // null: of real recurrences
  // The kernels that compute some of it on a device; empty: none does, so that nothing is checked
  // there.
  std::string_view on_device{};
  std::string_view optional_config_fields{};  // further members that `config` may have
  // Recorded from a release, which the file's name has behind this word: "split_0.33.0.jsonl".
  std::string_view word_before_release{};
  // Members of a call that ask, where the answer is in the same object; else answers are in the
  // vector's `output`.
  std::string_view asking_call_fields{};
  // Other members of the vector that answer, where there are such fields of calls.
  std::string_view answering_fields{};
  // A real recurrence has an operation: its answers are floats, in `bits` and `expect`
  // (numeric_check.h).
  NumericOp* numeric_op = nullptr;  // form recurrent
  NumericOp* chunked_op = nullptr;  // form chunked; null: there is none
  bool of_model = false;  // of a whole model, whose weights lie beside the file (model_layout.h)
  // Members of the vector that ask, where it has no `input` and `output`: its `config` is a
  // config.json, and the whole vector is the input.
  std::string_view vector_fields{};
  nlohmann::json (*answers)(const nlohmann::json& vector) = nullptr;  // of such a vector

  bool is_of_a_release() const { return !word_before_release.empty(); }
};

// One row per file, in the order of tests/golden/README.md.
std::span<const VectorKind> vector_kinds();

}  // namespace hybridscope
