// The bytes of a traffic file, and a look at its beginning that takes nothing away.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/text/input_file.h"

namespace hybridscope {

struct TrafficInput {
  ReadBytes read;    // unpacked
  std::string file;  // its name in errors
};

// Formats are recognised in as many bytes.
inline constexpr std::size_t kTrafficHeadBytes = std::size_t{64} << 10;

struct TrafficHead {
  std::string text;  // the first kTrafficHeadBytes, or the whole file
  ReadBytes read;    // the whole file once more, with any error where it occurred
};

TrafficHead look_at_head(ReadBytes read);

// The keys of the JSON object that `head` begins with, as far as it goes, in their order, with
// those of objects inside ("request.messages") but not of what arrays hold. Empty: it begins
// otherwise.
std::vector<std::string> keys_of_first_object(std::string_view head);

// Does the object that `head` begins with have all, or any, of these keys itself?
bool first_object_has_all(std::string_view head, std::initializer_list<std::string_view> keys);
bool first_object_has_any(std::string_view head, std::initializer_list<std::string_view> keys);

}  // namespace hybridscope
