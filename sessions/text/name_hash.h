// Stable hashes: of the names of requests and texts, which must never change because traces and
// digests depend on them, and of the program itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/result.h"

namespace hybridscope {

// The longest name of a request that an engine's trace or a session may have. Ids of vLLM come from
// its clients, so nothing is said against long ones.
inline constexpr std::size_t kMaxRequestNameBytes = 4096;

enum class NameKind : std::uint8_t { request, text };

// Hashes the bytes of `name` one by one, then their number. Never 0.
constexpr std::uint64_t hash_name(NameKind kind, std::string_view name) {
  std::uint64_t hash = mix(0x6E616D65ULL, static_cast<std::uint64_t>(kind));
  for (const char byte : name) hash = mix(hash, static_cast<unsigned char>(byte));
  return mix(hash, name.size());
}

// AddRequest::key of the request called `name`.
constexpr std::uint64_t request_key(std::string_view name) {
  return hash_name(NameKind::request, name);
}

// PromptSegment::content of the text called `name`.
constexpr std::uint64_t text_content(std::string_view name) {
  return hash_name(NameKind::text, name);
}

// Which build of hybridscope is running.

// 16 hex digits of the file that has this code, the program's or a shared library's: other code,
// another compiler or other flags give others. Error not_available: the file cannot be read.
Result<std::string> program_digest();

}  // namespace hybridscope
