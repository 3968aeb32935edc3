#include "cli/output_targets.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace hybridscope {

namespace {

bool is_there(const OutputTarget& output) { return output.path == "-"; }

// The path with links and dots resolved as far as it exists; as given if that fails.
std::filesystem::path whole_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const auto whole = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute : whole;
}

// Works even if neither file exists yet; `equivalent` recognises hard links.
bool same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error) && !error) return true;
  return whole_path(a) == whole_path(b);
}

}  // namespace

Status check_one_document(std::initializer_list<OutputTarget> outputs) {
  const OutputTarget* const first = std::ranges::find_if(outputs, is_there);
  if (first == outputs.end()) return Ok{};
  const OutputTarget* const second = std::find_if(first + 1, outputs.end(), is_there);
  if (second == outputs.end()) return Ok{};
  return invalid_input(fmt::format("{} and {} would both be on standard output: give one a FILE",
                                   first->option, second->option));
}

Status check_continuable(const OutputTarget& output) {
  std::error_code ignored;
  const bool is_file =
      !is_there(output) && (!std::filesystem::exists(output.path, ignored) ||
                            std::filesystem::is_regular_file(output.path, ignored));
  if (output.path.empty() || is_file) return Ok{};
  const std::string_view what = is_there(output) ? "standard output"
                                : std::filesystem::is_directory(output.path, ignored)
                                    ? "a directory"
                                    : "a device or a pipe";
  return invalid_input(fmt::format("{} {}: this is {} (expected a file, which keeps the results)",
                                   output.option, output.path, what));
}

Result<std::optional<OutputFile>> open_output(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::optional<OutputFile>(std::move(file).value());
}

std::FILE* text_stream(std::initializer_list<OutputTarget> outputs) {
  return std::ranges::any_of(outputs, is_there) ? stderr : stdout;
}

Status check_not_read(const OutputTarget& output, std::string_view what, const std::string& input) {
  if (output.path.empty() || !same_file(output.path, input)) return Ok{};
  return invalid_input(fmt::format("{} {}: this is {} {}, expected another file", output.option,
                                   output.path, what, input));
}

Status check_outputs(std::span<const OutputTarget> outputs, const std::string& session_file) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputTarget& output = outputs[i];
    if (output.path.empty()) continue;
    for (const char* ending : {"", "-wal", "-shm", "-journal", "-lock"})
      if (Status apart = check_not_read(output, "the session file", session_file + ending);
          !apart.ok())
        return apart;
    for (std::size_t j = 0; j < i; ++j)
      if (!outputs[j].path.empty() && same_file(output.path, outputs[j].path))
        return invalid_input(fmt::format("{} {} and {} {} are the same, expected two places",
                                         outputs[j].option, outputs[j].path, output.option,
                                         output.path));
  }
  return Ok{};
}

}  // namespace hybridscope
