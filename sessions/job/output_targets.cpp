#include "sessions/job/output_targets.h"

#include <algorithm>
#include <utility>

#include "storage/session_file.h"

namespace hybridscope {

OutputTarget document(std::string_view option, bool is_asked_for) {
  return {.option = option, .path = is_asked_for ? "-" : ""};
}

OutputTarget recording(const std::string& place) {
  return {.option = "--record",
          .path = place.empty() ? "" : parse_session_place(place).file,
          .use = FileUse::session};
}

InputFile session_input(const std::string& place) {
  return {.what = "the session file",
          .path = place.empty() ? "" : parse_session_place(place).file,
          .use = FileUse::session};
}

Result<std::optional<OutputFile>> open_output(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::optional<OutputFile>(std::move(file).value());
}

std::FILE* text_stream(const std::vector<OutputTarget>& outputs) {
  return std::ranges::any_of(outputs, is_on_standard_output) ? stderr : stdout;
}

}  // namespace hybridscope
