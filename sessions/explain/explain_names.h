// The names of requests and KV cache groups in explanations. The caller supplies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

class Engine;
struct EngineConfig;

struct Names {
  std::function<std::string(RequestId)> request;   // "A"
  std::function<std::string(std::int32_t)> group;  // "group 1 (mamba2)"
  // Decides which rule a post-copy is attributed to.
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
};

// Requests by `request`, groups by number and kind. `config` is copied.
Names make_names(const EngineConfig& config, std::function<std::string(RequestId)> request);
// Names with the engine's names of requests. `engine` must neither move nor go away while the names
// are used.
Names make_names(const Engine& engine);

// "r5" and "group 1", for callers without names.
Names numbered_names();

// The name of an enum's value in the list of all of them, in the order of the enum; `unknown` of a
// code that no enumerator has.
template <class Enum, std::size_t N>
constexpr std::string_view name_at(const std::string_view (&names)[N], Enum value,
                                   std::string_view unknown = {}) {
  const auto code = static_cast<std::size_t>(value);
  return code < N ? names[code] : unknown;
}

// Names of a trace's enums, the same in all tables, texts and files.

std::string_view row_class_name(RowClass row_class);   // "decode", "verify", ...
std::string_view admission_name(Admission admission);  // "running", "new", "resumed"

std::string_view row_origin_name(RowOrigin origin);           // "kept", "moved", ...
std::string_view commit_outcome_name(CommitOutcome outcome);  // "taken", "chunk", ...
std::string_view command_name(CommandKind command);           // "add_request", "preempt", ...

}  // namespace hybridscope
