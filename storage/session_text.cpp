#include "storage/session_text.h"

#include <fmt/core.h>

#include <cstdint>

#include "storage/session_file.h"

namespace hybridscope {
namespace {

// Length in bytes of the UTF-8 sequence that begins with `byte`; 0: no sequence does.
std::size_t character_length(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte <= 0xDF) return 2;
  if ((byte & 0xF0) == 0xE0) return 3;
  if (byte >= 0xF0 && byte <= 0xF4) return 4;
  return 0;
}

// Refuses overlong sequences, surrogates, and code points beyond the last one (Unicode, table 3-7).
bool second_byte_fits(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second < 0xA0;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

// The first byte that is not UTF-8; npos: none.
std::size_t first_invalid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_length(first);
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xC0) != 0x80 || (k == 1 && !second_byte_fits(first, byte))) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

// The first control character (C0, DEL, C1) of valid UTF-8, npos: none.
std::size_t first_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return i;
    if (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

Status check_session_name(std::string_view name) {
  if (name.empty()) return invalid_input("a session's name must not be empty");
  if (name.find_first_not_of(' ') == std::string_view::npos)
    return invalid_input("a session's name must not be blank");
  if (name.size() > kMaxNameBytes)
    return invalid_input(fmt::format("a session's name has at most {} bytes, this one has {}",
                                     kMaxNameBytes, name.size()));
  if (const std::size_t at = first_invalid(name); at != std::string_view::npos)
    return invalid_input(fmt::format("a session's name must be UTF-8; byte {} is not", at));
  if (const std::size_t at = first_control(name); at != std::string_view::npos)
    return invalid_input(
        fmt::format("a session's name must have no control characters; byte {} is one", at));
  return Ok{};
}

Status check_note(std::string_view note) {
  if (note.size() > kMaxNoteBytes)
    return invalid_input(
        fmt::format("a note has at most {} bytes, this one has {}", kMaxNoteBytes, note.size()));
  if (const std::size_t at = note.find('\0'); at != std::string_view::npos)
    return invalid_input(fmt::format("a note must have no zero byte; byte {} is one", at));
  if (const std::size_t at = first_invalid(note); at != std::string_view::npos)
    return invalid_input(fmt::format("a note must be UTF-8; byte {} is not", at));
  return Ok{};
}

std::string name_of_source(std::string_view source) {
  constexpr std::size_t kRoomForNumber = 24;
  if (const auto slash = source.rfind('/'); slash != std::string_view::npos)
    source.remove_prefix(slash + 1);
  if (const auto dot = source.rfind('.'); dot != std::string_view::npos && dot > 0)
    source = source.substr(0, dot);
  std::string name;
  for (const char byte : source.substr(0, kMaxNameBytes - kRoomForNumber)) {
    const auto code = static_cast<unsigned char>(byte);
    name += code < 0x20 || code >= 0x7F ? '_' : byte;
  }
  return name.empty() ? "session" : name;
}

}  // namespace hybridscope
