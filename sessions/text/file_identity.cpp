#include "sessions/text/file_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace hybridscope {

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
