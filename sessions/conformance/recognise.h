// Which kind of vector file is this: by its name, else by the fields of its cases.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/base/result.h"
#include "sessions/conformance/vector_kinds.h"

namespace hybridscope {

// Cases that recognise_by_fields wants to see at most.
inline constexpr std::size_t kCasesToRecognise = 32;

// The kind whose name stands in the file's name (without folder, .zst and .jsonl) between its ends
// or any of "_-.", the longest if there are several; null if there is none.
const VectorKind* recognise_by_name(const std::string& path);

// The one kind that fits: `config` of every case has its fields and no unknown one, `input` has its
// fields, and some call has the fields of a call. Where the fields of one kind are all among
// another's, the other is taken. Error: no kind, or several; says what was found.
Result<const VectorKind*> recognise_by_fields(std::span<const nlohmann::json> cases);

// The one kind that fits where `named` does not; null when `named` fits, or no one kind.
const VectorKind* other_kind_by_fields(const VectorKind& named,
                                       std::span<const nlohmann::json> cases);

// What the case asks. Throws VectorError when a field of the kind is missing or `config` has a
// member that the kind does not know.
VectorCase open_vector(const VectorKind& kind, const nlohmann::json& vector);

}  // namespace hybridscope
