#include "sessions/text/command_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

namespace hybridscope {
namespace {

namespace fs = std::filesystem;

// What SQLite and a recorder keep beside a session file, and the file itself.
constexpr const char* kSessionEndings[] = {"", "-wal", "-shm", "-journal", "-lock"};

// "--html FILE", or the file alone.
std::string words_for(const OutputTarget& output) {
  return output.option.empty() ? output.path : fmt::format("{} {}", output.option, output.path);
}

bool is_character_device(const std::string& path) {
  std::error_code ignored;
  return fs::is_character_file(path, ignored);
}

std::span<const char* const> endings_of(FileUse use) {
  return std::span(kSessionEndings).first(use == FileUse::session ? std::size(kSessionEndings) : 1);
}

// Do the files of `a`, used so, and of `b` have one in common? Neither is "-".
bool share_a_file(const std::string& a, FileUse use_a, const std::string& b, FileUse use_b) {
  if (is_character_device(a) || is_character_device(b)) return false;
  for (const char* ending_a : endings_of(use_a))
    for (const char* ending_b : endings_of(use_b))
      if (same_file(a + ending_a, b + ending_b)) return true;
  return false;
}

// Is the output a file that is read in the folder?
bool is_read_in_folder(const OutputTarget& output, const InputFile& input) {
  std::error_code ignored;
  const fs::path target = link_target(output.path);
  if (!fs::exists(target, ignored) || !fs::is_directory(input.path, ignored)) return false;
  for (fs::directory_iterator entry(input.path, ignored); entry != fs::directory_iterator();
       entry.increment(ignored))
    if (entry->path().filename().native().find(input.of_folder) != std::string::npos &&
        same_file(entry->path().string(), output.path))
      return true;
  return false;
}

bool is_read(const OutputTarget& output, const InputFile& input) {
  if (input.path == "-") return is_standard_input(output.path) && !is_character_device(output.path);
  if (output.use == input.use && output.use != FileUse::whole && same_file(output.path, input.path))
    return false;
  return share_a_file(output.path, output.use, input.path, input.use) ||
         is_read_in_folder(output, input);
}

Status check_one_document(std::span<const OutputTarget> outputs) {
  const auto first = std::find_if(outputs.begin(), outputs.end(), is_on_standard_output);
  if (first == outputs.end()) return Ok{};
  const auto second = std::find_if(first + 1, outputs.end(), is_on_standard_output);
  if (second == outputs.end()) return Ok{};
  return invalid_input(fmt::format("{} and {} would both be on standard output: give one a FILE",
                                   first->option, second->option));
}

// A later run goes on with a file of results.
Status check_continuable(const OutputTarget& output) {
  std::error_code ignored;
  const auto kind = fs::status(output.path, ignored).type();
  if (!is_on_standard_output(output) &&
      (kind == fs::file_type::not_found || kind == fs::file_type::regular))
    return Ok{};
  const std::string_view what = is_on_standard_output(output)      ? "standard output"
                                : kind == fs::file_type::directory ? "a directory"
                                                                   : "a device or a pipe";
  return invalid_input(fmt::format("{}: this is {} (expected a file, which keeps the results)",
                                   words_for(output), what));
}

}  // namespace

bool is_on_standard_output(const OutputTarget& output) {
  return output.path == "-" || (!output.path.empty() && is_standard_output(output.path));
}

Status check_files(const CommandFiles& files) {
  if (Status one = check_one_document(files.outputs); !one.ok()) return one;
  for (std::size_t i = 0; i < files.outputs.size(); ++i) {
    const OutputTarget& output = files.outputs[i];
    if (output.path.empty()) continue;
    if (output.use == FileUse::results)
      if (Status file = check_continuable(output); !file.ok()) return file;
    if (is_on_standard_output(output)) continue;
    for (const InputFile& input : files.inputs)
      if (!input.path.empty() && is_read(output, input))
        return invalid_input(fmt::format("{}: this is {} {}, expected another file",
                                         words_for(output), input.what, input.path));
    for (std::size_t j = 0; j < i; ++j) {
      const OutputTarget& other = files.outputs[j];
      if (!other.path.empty() && !is_on_standard_output(other) &&
          share_a_file(output.path, output.use, other.path, other.use))
        return invalid_input(fmt::format("{} and {} are the same, expected two places",
                                         words_for(other), words_for(output)));
    }
  }
  return Ok{};
}

namespace fs = std::filesystem;

namespace {

bool same_inode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The whole path of a file; what exists of it is without links and dots.
fs::path whole_path(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::absolute(link_target(path), error);
  if (error) return path;
  const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
  return error ? target : folder / target.filename();
}

bool is_device(const struct stat& file) { return S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode); }

}  // namespace

std::string link_target(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as in Linux
  std::error_code error;
  fs::path target = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!fs::is_symlink(target, error)) return target.string();
    const fs::path next = fs::read_symlink(target, error);
    if (error) return path;
    target = target.parent_path() / next;  // an absolute `next` replaces all
  }
  return path;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat at_a {};
  struct stat at_b {};
  const bool has_a = ::stat(a.c_str(), &at_a) == 0;
  const bool has_b = ::stat(b.c_str(), &at_b) == 0;
  if (has_a || has_b) return has_a && has_b && same_inode(at_a, at_b);
  return whole_path(a) == whole_path(b);
}

bool is_standard_input(const std::string& path) { return names_open_file(path, STDIN_FILENO); }

bool is_standard_output(const std::string& path) {
  struct stat out {};
  return ::fstat(STDOUT_FILENO, &out) == 0 && !is_device(out) &&
         names_open_file(path, STDOUT_FILENO);
}

bool names_open_file(const std::string& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
         same_inode(named, opened);
}

}  // namespace hybridscope
